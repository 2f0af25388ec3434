"""A dated Markdown report."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import TypeVar

from benchmarks import machine
from sysid_nodes.solvers.threads import use_one_blas_thread

T = TypeVar("T")

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

    def figure(self, suffix: str, caption: str) -> Path:
        """Where to save a figure of this report."""
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


def parser(description: str | None) -> argparse.ArgumentParser:
    """Options that all benchmarks share; also keeps linear algebra on one thread."""
    use_one_blas_thread()
    found = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter, allow_abbrev=False
    )
    found.add_argument("--out", type=Path, default=REPORTS, help="folder of the report")
    found.add_argument("--seed", type=int, default=1, help="of all random draws")
    return found


def progress(items: Sequence[T], title: str) -> Iterator[T]:
    """Yields the items and says on stderr, now and then, how far it is."""
    due = time.monotonic() + _PERIOD
    for done, item in enumerate(items):
        if time.monotonic() >= due:
            print(f"{title}: {done} of {len(items)}", file=sys.stderr, flush=True)
            due = time.monotonic() + _PERIOD
        yield item
