# SPDX-License-Identifier: Apache-2.0
"""The actuators' demo on the terminal."""

from __future__ import annotations

from rich.console import Group
from rich.table import Table
from rich.text import Text

from sysid_nodes.cli.actuators.demo_watch import ActuatorWatch, Row
from sysid_nodes.cli.demo.live_screen import LiveScreen, decimals, parameter_table

_STYLE = {"IDENTIFIED": "green", "PARTIAL": "yellow", "CONTRADICTION": "bold red"}
_SCALE = {"s": (1e3, "ms"), "rad": (1e3, "mrad")}


class ActuatorScreen(LiveScreen[ActuatorWatch]):
    """Estimates of every joint against the hidden truth."""

    def has_begun(self, watch: ActuatorWatch) -> bool:
        return watch.models is not None

    def final(self, watch: ActuatorWatch) -> Table:
        return _table(watch)

    def line(self, watch: ActuatorWatch) -> str:
        told = [row for row in watch.rows if row.identifiable]
        held = sum(row.holds for row in told)
        alarms = "".join(f"; ALARM: {alarm['message']}" for alarm in watch.alarms)
        return (
            f"{watch.elapsed:5.1f} s  window {watch.window}  {watch.status:<10} {len(told)} of {len(watch.rows)} "
            f"parameters identified, the intervals of {held} hold the truth{alarms}"
        )

    def drawing(self, watch: ActuatorWatch, note: str) -> Group:
        head = Text(f"{watch.elapsed:6.1f} s  ")
        head.append(watch.status, style=_STYLE.get(watch.status, ""))
        head.append(f"  {watch.message}")
        lines = [Text(f"ALARM: {alarm['message']}", style="bold red") for alarm in watch.alarms]
        lines.append(Text(f"          window {watch.window}; its models took {watch.solve_time:.2f} s"))
        return Group(_table(watch), Text(), head, *lines, *([Text(note)] if note else []))


def _table(watch: ActuatorWatch) -> Table:
    table = parameter_table("joint", "parameter", "unit", numbers=("estimate", "2.5 %", "97.5 %", "truth"))
    before = ""
    for row in watch.rows:
        table.add_row(row.joint if row.joint != before else "", row.name.replace("_", " "), *_cells(row))
        before = row.joint
    return table


def _cells(row: Row) -> tuple[str | Text, ...]:
    factor, unit = _SCALE.get(row.unit, (1.0, row.unit))
    digits = decimals(0.25 * factor * (row.upper - row.lower))
    values = (row.estimate, row.lower, row.upper, row.truth)
    estimate, low, high, truth = (f"{factor * value:.{digits}f}" for value in values)
    estimate = estimate if row.identifiable else "unknown"
    style = "dim" if not row.identifiable else "green" if row.holds else "yellow"
    return unit, Text(estimate, style=style), low, high, truth
