# SPDX-License-Identifier: Apache-2.0
"""Progress of long work on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sized
from types import TracebackType
from typing import Protocol, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

T = TypeVar("T", covariant=True)

_PERIOD = 10.0  # between two lines [s]
_BATCH = 100  # items between two updates of the bar, so that drawing costs nothing


class SizedIterable(Sized, Protocol[T]):
    """Anything that has a length and can be iterated."""

    def __iter__(self) -> Iterator[T]: ...


def track(items: SizedIterable[T], title: str, *, clock: Callable[[], float] = time.monotonic) -> Iterator[T]:
    """Yields the items and shows how far it is."""
    if sys.stderr.isatty():
        yield from _bar(items, title)
        return
    started = clock()
    total = len(items)
    due = started + _PERIOD
    for done, item in enumerate(items):
        if done % _BATCH == 0 and clock() >= due:
            sys.stderr.write(f"{title}: {done} of {total} ({100.0 * done / max(total, 1):.0f} %)\n")
            due = clock() + _PERIOD
        yield item


def _columns() -> tuple[ProgressColumn, ...]:
    return TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()


def _bar(items: SizedIterable[T], title: str) -> Iterator[T]:
    with Progress(*_columns(), console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=len(items))
        for done, item in enumerate(items, start=1):
            yield item
            if done % _BATCH == 0:
                progress.update(task, completed=done)


class Stages:
    """Context manager for work that tells its progress itself: a bar on a terminal, a line a stage elsewhere."""

    def __enter__(self) -> Stages:
        self._stage = ""
        self._progress: Progress | None = None
        if sys.stderr.isatty():
            self._progress = Progress(*_columns(), console=Console(stderr=True), transient=True)
            self._progress.start()
            self._task = self._progress.add_task("", total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def show(self, stage: str, done: int, total: int) -> None:
        """Tells that `done` of `total` steps of a stage are done."""
        if self._progress is not None:
            self._progress.update(self._task, description=stage, completed=done, total=total)
        elif stage != self._stage:
            sys.stderr.write(f"{stage} ...\n")
        self._stage = stage
