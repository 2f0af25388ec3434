# SPDX-License-Identifier: Apache-2.0
"""A legged robot's run on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from sysid_nodes.cli.demo.live_screen import LiveScreen
from sysid_nodes.cli.prime.demo_watch import PrimeWatch
from sysid_nodes.results.prime_status import PrimeStatus

_BAR = 30  # columns
_FULL = 1.0  # a foot's bar is full at this share of the robot's weight
_STYLE = {
    PrimeStatus.GOOD: "green",
    PrimeStatus.DEGRADED: "yellow",
    PrimeStatus.DOUBTFUL: "bold red",
    PrimeStatus.LOST: "bold red",
}


class PrimeScreen(LiveScreen[PrimeWatch]):
    """Mass, centre of mass and forces against the hidden truth.

    Args:
        title: what is going on, until there is data.
        feet: their names.
        weight: of the robot, its load included [N].
    """

    def __init__(self, title: str, feet: Sequence[str], weight: float) -> None:
        super().__init__(title)
        self._feet, self._weight = feet, weight

    def has_begun(self, watch: PrimeWatch) -> bool:
        return watch.found is not None

    def final(self, watch: PrimeWatch) -> Table:
        return self._parameters(watch)

    def line(self, watch: PrimeWatch) -> str:
        return plain_line(watch)

    def drawing(self, watch: PrimeWatch, note: str) -> Group:
        head = Text(f"{watch.time:6.1f} s  ")
        head.append(watch.status.name, style=_STYLE.get(watch.status, ""))
        head.append(f"  {watch.finding or watch.status.message}")
        lines = [Text(f"          {line}") for line in _machine(watch)]
        return Group(
            self._parameters(watch), Text(), self._forces(watch), Text(), head, *lines, *([Text(note)] if note else [])
        )

    def _parameters(self, watch: PrimeWatch) -> Table:
        """Mass and centre of mass against the hidden truth."""
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column(watch.link)
        for heading in ("unit", "estimate", "sigma", "truth", "off"):
            table.add_column(heading, justify="right")
        for name, unit, found, sigma, truth, places in _rows(watch):
            off = found - truth
            style = "green" if abs(off) <= 3.0 * sigma else "yellow"
            table.add_row(
                name, unit, f"{found:.{places}f}", f"{sigma:.{places}f}", f"{truth:.{places}f}",
                Text(f"{off:+.{places}f}", style=style),
            )  # fmt: skip
        return table

    def _forces(self, watch: PrimeWatch) -> Table:
        """Normal force of each foot against the truth."""
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("normal force")
        for heading in ("estimate", "truth"):
            table.add_column(f"{heading} [N]", justify="right")
        table.add_column("")
        utf = self.console.encoding.lower().startswith("utf")
        for name, found, truth in zip(self._feet, watch.normal, watch.true_normal, strict=True):
            table.add_row(name, _newtons(found), _newtons(truth), _bar(found, truth, _FULL * self._weight, utf))
        return table


def plain_line(watch: PrimeWatch) -> str:
    """State of the demo in a line."""
    assert watch.found is not None
    forces = " ".join(f"{found:.0f}/{truth:.0f}" for found, truth in zip(watch.normal, watch.true_normal, strict=True))
    distance = 1e3 * float(np.linalg.norm(watch.com - watch.true_com))
    off = f"{distance:.1f} mm off" if np.isfinite(distance) else "unknown"
    return (
        f"{watch.time:5.1f} s  {watch.status.name:<9} mass {watch.found[0]:.3f} kg, sigma {watch.sigma[0]:.3f}"
        f" (truth {watch.theta[0]:.3f})  CoM {off}  forces/truth {forces} N"
        f"  F1 {_share(watch.f1)}  lag {1e3 * watch.lag:.0f} ms"
    )


def _rows(watch: PrimeWatch) -> list[tuple[str, str, float, float, float, int]]:
    assert watch.found is not None
    rows = [("mass", "kg", float(watch.found[0]), float(watch.sigma[0]), float(watch.theta[0]), 3)]
    for k, axis in enumerate("xyz"):
        found, sigma, truth = (1e3 * float(x[k]) for x in (watch.com, watch.com_sigma, watch.true_com))
        rows.append((f"CoM {axis}", "mm", found, sigma, truth, 2))
    return rows


def _machine(watch: PrimeWatch) -> list[str]:
    error = watch.force_error
    lines = [
        f"contact F1 {_share(watch.f1)} so far"
        + (f", normal forces {100.0 * error:.1f} % off" if error is not None else "")
    ]
    lines.append(
        f"lag {1e3 * watch.lag:.0f} ms, a solve takes {1e3 * watch.solve_time:.0f} ms, "
        f"{100.0 * watch.load:.0f} % of the time there is"
    )
    if watch.behind > 0.0:
        lines.append(f"the simulation is {watch.behind:.1f} s behind real time")
    return lines


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _newtons(value: float) -> str:
    return f"{value:.0f}" if np.isfinite(value) else "-"


def _bar(found: float, truth: float, full: float, utf: bool) -> Text:
    """The estimate as a bar, the truth as a mark on it."""
    blank, filled, mark = ("·", "━", "┃") if utf else (".", "=", "|")
    if not (np.isfinite(found) and np.isfinite(truth)):
        return Text(blank * _BAR, style="dim")
    last, at = (min(max(int(value / full * _BAR), 0), _BAR - 1) for value in (found, truth))
    text = Text()
    for i in range(_BAR):
        if i == at and truth > 0.0:
            text.append(mark, style="bold yellow")
        else:
            text.append(filled if i < last else blank, style="cyan" if i < last else "dim")
    return text
