# SPDX-License-Identifier: Apache-2.0
"""Trials whose outcomes are kept in a file of JSON lines, so that a long benchmark goes on where it was ended."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import progress

Record = dict[str, Any]


def collect(path: Path | None, keys: Sequence[Record], run: Callable[..., Record], title: str) -> list[Record]:
    """A record for each key, those in the file first; others are run, and written as they end.

    Args:
        path: of the file; None keeps nothing.
        keys: all that decides the outcome of a trial, as JSON has it, and the arguments of `run`.
        run: of a trial.
        title: for the progress.

    Raises:
        SystemExit: with a line, where the file holds something else.
    """
    rows = [] if path is None or not path.exists() else _read(path)
    known: dict[str, Record] = {json.dumps(row["key"], sort_keys=True): row["found"] for row in rows}
    names = [json.dumps(key, sort_keys=True) for key in keys]
    todo = [k for k, name in enumerate(names) if name not in known]
    for k in progress(todo, title):
        known[names[k]] = run(**keys[k])
        if path is not None:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": keys[k], "found": known[names[k]]}) + "\n")
    return [known[name] for name in names]


def _read(path: Path) -> list[Record]:
    """Rows of a file; of a last one that was cut off as it was written, none is left in the file either.

    Raises:
        SystemExit: with a line, where it holds something else.
    """
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        sys.stderr.write(f"{path}: the last line was cut off; its trial is run again\n")
        lines.pop()
        path.write_text("".join(lines), encoding="utf-8")
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            rows.append({"key": row["key"], "found": row["found"]})
        except (ValueError, TypeError, KeyError):
            raise SystemExit(f"{path}: line {number} is no record of a trial") from None
    return rows
