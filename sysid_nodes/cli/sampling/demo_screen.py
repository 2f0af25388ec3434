# SPDX-License-Identifier: Apache-2.0
"""The exploration's demo on the terminal."""

from __future__ import annotations

import math

from rich.console import Group
from rich.table import Table
from rich.text import Text

from sysid_nodes.cli.demo.live_screen import LiveScreen, decimals
from sysid_nodes.cli.sampling.demo_watch import SamplingWatch
from sysid_nodes.reports.sampling.stages import Known, promised_sigma


class SamplingScreen(LiveScreen[SamplingWatch]):
    """Estimates after each stage, against the hidden truth."""

    def has_begun(self, watch: SamplingWatch) -> bool:
        return watch.recorded > 0

    def final(self, watch: SamplingWatch) -> Table:
        return _table(watch)

    def line(self, watch: SamplingWatch) -> str:
        return "; ".join([f"{watch.elapsed:5.1f} s  {watch.activity}", *_masses(watch)])

    def news(self, watch: SamplingWatch) -> str:
        """Stages, segments and masses, without the steps of a search."""
        return "; ".join([watch.activity.partition(":")[0], *_masses(watch)])

    def drawing(self, watch: SamplingWatch, note: str) -> Group:
        lines = [Text(), Text(f"{watch.elapsed:6.1f} s  {watch.activity}")]
        return Group(_table(watch), *lines, *([Text(note)] if note else []))


def _masses(watch: SamplingWatch) -> list[str]:
    return [f"mass {row.value:.2f} kg, sigma {row.sigma:.2g}" for known in watch.known for row in known[:1]]


def _table(watch: SamplingWatch) -> Table:
    table = Table(
        box=None, pad_edge=False, header_style="bold", caption="± is one standard deviation", caption_justify="left"
    )
    table.add_column("parameter", no_wrap=True)
    for heading in ("unit", "first motion", "promised", "after the plan", "truth"):
        table.add_column(heading, justify="right", no_wrap=True)
    for k, row in enumerate(watch.known[0] if watch.known else []):
        scale, unit = (1e3, "mm") if row.unit == "m" else (1.0, row.unit)  # all of it fits 80 columns
        truth = watch.truth.get(row.name, math.nan)
        after = _cell(watch.known[1][k], truth, scale) if len(watch.known) > 1 else Text("")
        expected = Text("") if watch.plan is None else _promise(scale * promised_sigma(watch.plan, row))
        digits = decimals(scale * watch.known[-1][k].sigma)
        true = f"{round(scale * truth, digits) + 0.0:.{digits}f}"  # no minus before a zero
        table.add_row(row.name, unit, _cell(row, truth, scale), expected, after, true)
    return table


def _promise(sigma: float) -> Text:
    return Text(f"±{sigma:.{decimals(sigma)}f}") if math.isfinite(sigma) else Text("unknown", style="dim")


def _cell(row: Known, truth: float, scale: float) -> Text:
    if not math.isfinite(row.sigma):
        return Text("unknown", style="dim")
    digits = decimals(scale * row.sigma)
    text = f"{scale * row.value:.{digits}f} ±{scale * row.sigma:.{digits}f}"
    return Text(text, style="green" if row.holds(truth) else "yellow")
