# SPDX-License-Identifier: Apache-2.0
"""The four-bar leg's demo on the terminal."""

from __future__ import annotations

from rich.console import Group
from rich.table import Table
from rich.text import Text

from sysid_nodes.cli.bayesian.demo_watch import BayesianWatch
from sysid_nodes.cli.demo.live_screen import LiveScreen


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
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("constant", no_wrap=True)
    for heading in ("unit", "prior", "mean", "95 % from", "to", "truth"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in watch.rows:
        mean = Text(f"{row.mean:.4g}", style="green" if row.holds else "yellow")
        others = (f"{value:.4g}" for value in (row.lower, row.upper, row.truth))
        table.add_row(row.name, row.unit, f"{row.prior:.4g}", mean, *others)
    return table
