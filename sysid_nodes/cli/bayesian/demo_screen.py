# SPDX-License-Identifier: Apache-2.0
"""The four-bar leg's demo on the terminal."""

from __future__ import annotations

from rich.console import Group
from rich.table import Table
from rich.text import Text

from sysid_nodes.cli.bayesian.demo_watch import BayesianWatch
from sysid_nodes.cli.demo.live_screen import LiveScreen, decimals, parameter_table


class BayesianScreen(LiveScreen[BayesianWatch]):
    """The posterior against the hidden truth."""

    def has_begun(self, watch: BayesianWatch) -> bool:
        return watch.count > 0

    def final(self, watch: BayesianWatch) -> Table:
        return _table(watch)

    def line(self, watch: BayesianWatch) -> str:
        rows, told = watch.rows, watch.posterior or {}
        return (
            f"{watch.elapsed:5.1f} s  window {told['window']}  {len(rows)} of {watch.count} constants observed, the "
            f"intervals of {sum(row.holds for row in rows)} hold the truth"
        )

    def drawing(self, watch: BayesianWatch, note: str) -> Group:
        told = watch.posterior or {}
        head = Text(f"{watch.elapsed:6.1f} s  {told['message']}")
        last = Text(f"          window {told['window']}, which took {watch.solve_time:.2f} s")
        return Group(_table(watch), Text(), head, last, *([Text(note)] if note else []))


def _table(watch: BayesianWatch) -> Table:
    table = parameter_table("constant", "unit", numbers=("mean", "2.5 %", "97.5 %", "truth"))
    for row in watch.rows:
        digits = decimals(0.25 * (row.upper - row.lower))
        mean, *others = (f"{value:.{digits}f}" for value in (row.mean, row.lower, row.upper, row.truth))
        table.add_row(row.name, row.unit, Text(mean, style="green" if row.holds else "yellow"), *others)
    return table
