# SPDX-License-Identifier: Apache-2.0
"""Trials whose outcomes are kept in a file of JSON lines, so that a long benchmark goes on where it was ended."""

from __future__ import annotations

import json
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
    """
    known: dict[str, Record] = {}
    if path is not None and path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            known[json.dumps(row["key"], sort_keys=True)] = row["found"]
    names = [json.dumps(key, sort_keys=True) for key in keys]
    todo = [k for k, name in enumerate(names) if name not in known]
    for k in progress(todo, title):
        known[names[k]] = run(**keys[k])
        if path is not None:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": keys[k], "found": known[names[k]]}) + "\n")
    return [known[name] for name in names]
