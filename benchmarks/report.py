# SPDX-License-Identifier: Apache-2.0
"""A dated Markdown report."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from benchmarks import machine, revision
from sysid_nodes.solvers.threads import use_one_blas_thread

T = TypeVar("T")
Asked = tuple[str, str, bool | None]
"""Something asked for, what was found, and whether that meets it; None where nothing was found."""

_PERIOD = 15.0
"""Between two lines of progress [s]."""

REPORTS = Path(__file__).resolve().parent / "reports"


class Report:
    """Collects the parts of a report and writes them to ``folder/DATE-name.md``.

    Args:
        name: part of the file name.
        title: first line.
        folder: where it goes.
        command: what to type to get it again.
    """

    def __init__(self, name: str, title: str, folder: Path, command: str) -> None:
        self.stem = f"{date.today().isoformat()}-{name}"
        self.folder = folder
        self._lines = [f"# {title}", "", f"`{command}` on {date.today().isoformat()}", ""]
        folder.mkdir(parents=True, exist_ok=True)

    def text(self, text: str) -> None:
        self._lines += [text, ""]

    def section(self, title: str) -> None:
        self._lines += [f"## {title}", ""]

    def table(self, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """The first column is words, the others are numbers."""
        self._lines.append("| " + " | ".join(header) + " |")
        self._lines.append("|---|" + "---:|" * (len(header) - 1))
        self._lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
        self._lines.append("")

    def asked(self, rows: Iterable[Asked]) -> None:
        """A section that says of each thing that was asked for whether it is met."""
        self.section("What was asked")
        words = {True: "met", False: "**not met**", None: "not shown"}
        self.table(("asked", "found", "met"), [(asked, found, words[met]) for asked, found, met in rows])

    def figure(self, suffix: str, caption: str) -> Path:
        """Path for a figure of this report."""
        path = self.folder / f"{self.stem}{suffix}.png"
        self._lines += [f"![{caption}]({path.name})", "", f"*{caption}*", ""]
        return path

    def write(self) -> Path:
        """Adds the machine's facts and writes the file."""
        self.section("Machine")
        self.table(("", ""), machine.facts())
        path = self.folder / f"{self.stem}.md"
        path.write_text("\n".join(self._lines).rstrip() + "\n", encoding="utf-8")
        return path


class Parser(argparse.ArgumentParser):
    """Says what to type to get a report again, and refuses, before anything is computed, one that nobody could get."""

    def parse_args(self, *arguments: Any, **options: Any) -> Any:
        """The options, and ``command``: this benchmark with all that decides its figures and is not the default."""
        chosen = super().parse_args(*arguments, **options)
        if revision.here().dirty and not chosen.dirty:
            self.exit(2, f"{self.prog}: error: {_DIRTY}\n")
        told = {name: value for name, value in vars(chosen).items() if name not in _NO_MATTER}
        words = [word for name, value in told.items() for word in self._words(name, value)]
        chosen.command = shlex.join([*self.prog.split(), *words])
        return chosen

    def _words(self, name: str, value: Any) -> list[str]:
        if value == self.get_default(name) and name != "seed":
            return []
        values = value if isinstance(value, (list, tuple)) else [] if isinstance(value, bool) else [value]
        return [f"--{name.replace('_', '-')}", *map(str, values)]


_NO_MATTER = ("out", "dirty", "jobs", "scheduler", "records", "data")
_DIRTY = "the code is not that of a commit, so that nobody could get this report again; commit it, or say --dirty"


def parser(name: str, description: str | None) -> Parser:
    """Options that all benchmarks share; also keeps linear algebra on one thread.

    Args:
        name: of the benchmark's module.
        description: its docstring.
    """
    use_one_blas_thread()
    found = Parser(
        prog=f"python -m benchmarks.{name}",
        description=description,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
    )
    found.add_argument("--out", type=Path, default=REPORTS, help="folder of the report")
    found.add_argument("--seed", type=int, default=1, help="of all random draws")
    found.add_argument("--dirty", action="store_true", help="also with uncommitted changes; the report says so")
    return found


def progress(items: Sequence[T], title: str) -> Iterator[T]:
    """Yields the items and says on stderr, now and then, how far it is."""
    due = time.monotonic() + _PERIOD
    for done, item in enumerate(items):
        if time.monotonic() >= due:
            print(f"{title}: {done} of {len(items)}", file=sys.stderr, flush=True)
            due = time.monotonic() + _PERIOD
        yield item
