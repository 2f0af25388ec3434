# SPDX-License-Identifier: Apache-2.0
"""Trials whose outcomes are kept in a file of JSON lines, so that a long benchmark goes on where it was ended."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import nan
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.report import Parser, progress

Record = dict[str, Any]


def add_options(options: Parser, jobs: int = 1) -> None:
    """Where trials run and are kept, for `collect`.

    Args:
        options: of a benchmark.
        jobs: default number of processes.
    """
    options.add_argument("--jobs", type=int, default=jobs, help="processes")
    options.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster to work on instead")
    options.add_argument("--records", type=Path, help="JSON lines, one a trial; continued where it ends")


def collect(
    chosen: Namespace, keys: Sequence[Record], run: Callable[..., Record], title: str, together: str = ""
) -> list[Record]:
    """A record for each key, those in the file first; others are run, and written as they end.

    Args:
        chosen: what `add_options` asked for.
        keys: all that decides the outcome of a trial, as JSON has it, and the arguments of `run`.
        run: of a trial.
        title: for the progress.
        together: part of the keys; those that have it in common run one after the other in one process.
    """
    path: Path | None = chosen.records
    lines = {} if path is None or not path.exists() else _read(path)
    names = [_name(key) for key in keys]
    machine.count_earlier(lines[name]["seconds"] for name in dict.fromkeys(names) if name in lines)
    known = {name: line["found"] for name, line in lines.items()}
    groups: dict[Any, list[Record]] = {}
    for name, key in zip(names, keys, strict=True):
        if name not in known:
            groups.setdefault(key[together] if together else name, []).append(key)
    for key, (found, seconds) in _outcomes(run, list(groups.values()), title, chosen.jobs, chosen.scheduler):
        known[_name(key)] = found
        if path is not None:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, "found": found, "seconds": seconds}) + "\n")
    return [known[name] for name in names]


def _outcomes(
    run: Callable[..., Record], groups: Sequence[list[Record]], title: str, jobs: int, scheduler: str | None
) -> Iterator[tuple[Record, tuple[Record, float]]]:
    """Keys, and of each what was found and how long that took [CPU s]."""
    if scheduler is None and min(jobs, len(groups)) <= 1:
        for key in progress([key for group in groups for key in group], title):
            yield key, _timed(run, key)
        return
    from sysid_nodes.cluster import Cluster

    with Cluster(scheduler, jobs) as cluster:
        ended = cluster.outcomes(partial(_run, run), groups)
        for _, (group, found) in zip(progress(range(len(groups)), title), ended, strict=True):
            if isinstance(found, BaseException):
                raise found
            yield from zip(group, found, strict=True)


def _run(run: Callable[..., Record], group: Sequence[Record]) -> list[tuple[Record, float]]:
    return [_timed(run, key) for key in group]


def _timed(run: Callable[..., Record], key: Record) -> tuple[Record, float]:
    before = machine.used()
    return run(**key), machine.used() - before


def _read(path: Path) -> dict[str, Record]:
    """Lines by the names of their keys. A last line that was being written when its run ended is taken away."""
    text = path.read_text(encoding="utf-8")
    if text and not text.endswith("\n"):
        text = text[: text.rfind("\n") + 1]
        path.write_text(text, encoding="utf-8")
        print(f"{path}: its last trial was not written to the end and runs again", file=sys.stderr)
    known: dict[str, Record] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            row = json.loads(line)
            known[_name(row["key"])] = {"found": row["found"], "seconds": float(row.get("seconds", nan))}
        except (ValueError, KeyError, TypeError):
            raise SystemExit(f"{path}: line {number} is not the record of a trial") from None
    return known


def _name(key: Record) -> str:
    return json.dumps(key, sort_keys=True)
