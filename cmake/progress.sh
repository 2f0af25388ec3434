#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command with its output in a log, and shows how far it is: its last line, in place on a terminal, every ten
# seconds elsewhere; in the end how long it took. If it fails, the log's end.
# usage: progress.sh WORDS LOG COMMAND...
set -o pipefail
words=$1 log=$2 next=5
shift 2
: >"$log"

"$@" 2>&1 | while IFS= read -r line; do
    printf '%s\n' "$line" >>"$log"
    if [ -t 1 ]; then
        printf '\r\033[K%s: %3d s  %.60s' "$words" "$SECONDS" "$line"
    elif [ "$SECONDS" -ge "$next" ]; then
        printf '%s: %3d s  %.100s\n' "$words" "$SECONDS" "$line"
        next=$((SECONDS + 10))
    fi
done
status=$?

[ ! -t 1 ] || printf '\r\033[K'
if [ "$status" -ne 0 ]; then
    tail -n 40 "$log" >&2
    echo "$words: failed after $SECONDS s; the whole log is in $log" >&2
    exit "$status"
fi
echo "$words: $SECONDS s"
