# SPDX-License-Identifier: Apache-2.0
"""A run on the terminal: redrawn in place on a real one, a line now and then elsewhere."""

from __future__ import annotations

import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Generic, TypeVar

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

AnyWatch = TypeVar("AnyWatch")
Self = TypeVar("Self", bound="LiveScreen")  # type: ignore[type-arg]

_PERIOD = 2.0  # between two lines where nothing can be redrawn [s]
_FRAME = 0.3  # between two drawings [s]
_REMINDER = 30.0  # between two lines that say the same [s]


class LiveScreen(ABC, Generic[AnyWatch]):
    """Context manager; shows a watch until it is left, and what it ends with stays.

    Args:
        title: what is going on, until there is data.
    """

    def __init__(self, title: str) -> None:
        self.console = Console(highlight=False)
        self._title = title
        self._live: Live | None = None
        self._due, self._said, self._reminder = 0.0, "", 0.0

    # -- what each demo gives

    @abstractmethod
    def has_begun(self, watch: AnyWatch) -> bool:
        """Whether there is anything to show."""

    @abstractmethod
    def drawing(self, watch: AnyWatch, note: str) -> Group:
        """All that a real terminal shows."""

    @abstractmethod
    def final(self, watch: AnyWatch) -> RenderableType:
        """The screen's last state, which stays."""

    @abstractmethod
    def line(self, watch: AnyWatch) -> str:
        """State of the demo in a line."""

    def news(self, watch: AnyWatch) -> str:
        """Part of the line that is worth a new one when it changes; by default all of it."""
        return self.line(watch)

    # --

    def __enter__(self: Self) -> Self:
        if self.console.is_terminal:
            self._live = Live(Text(self._title), console=self.console, auto_refresh=False)
            self._live.start()
        else:
            _say(self._title)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def close(self, watch: AnyWatch) -> None:
        """Leaves nothing but what stays."""
        if not self.has_begun(watch):
            return
        if self._live is not None:
            self._live.update(self.final(watch), refresh=True)
        else:
            self.console.print(self.final(watch))

    def say(self, line: str) -> None:
        """Writes a line that stays."""
        if self._live is not None:
            self._live.console.print(Text(line))
        else:
            _say(line)

    def show(self, watch: AnyWatch, note: str = "") -> None:
        """Redraws, or writes a line if one is due."""
        now = time.monotonic()
        if now < self._due:
            return
        begun = self.has_begun(watch)
        self._due = now + (_FRAME if self._live is not None else _PERIOD if begun else 0.0)
        if self._live is not None:
            self._live.update(self.drawing(watch, note) if begun else Text(self._title), refresh=True)
        elif begun and (self.news(watch) + note != self._said or now >= self._reminder):
            self._said, self._reminder = self.news(watch) + note, now + _REMINDER
            _say(self.line(watch) + (f"; {note}" if note else ""))


def decimals(sigma: float) -> int:
    """Decimal places that show two digits of a standard deviation."""
    return 2 if not 0.0 < sigma < math.inf else max(1 - math.floor(math.log10(sigma)), 0)


def parameter_table(*names: str, numbers: Sequence[str]) -> Table:
    """An empty table that fits eighty columns: where it is too wide, names are broken and numbers stay whole.

    Args:
        names: headings of the columns that name something.
        numbers: of those with numbers.
    """
    table = Table(box=None, pad_edge=False, collapse_padding=True, header_style="bold")
    for heading in names:
        table.add_column(heading, overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
