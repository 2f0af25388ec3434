# SPDX-License-Identifier: Apache-2.0
"""Figure of one number over many runs; see drawing.plots for the common look."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from matplotlib import dates, rc_context

from sysid_nodes.reports.drawing.plots import BLUE, GREEN, STYLE, VERMILION, panel, to_svg

DATED = 946_684_800.0
"""Stamps from here on, 1 January 2000 [s since the epoch], are a date; earlier ones are a simulation's time."""


def runs_plot(
    values: Sequence[Mapping[str, Any]],
    starts: Mapping[str, float],
    common: tuple[float, float] | None,
    outliers: Collection[str],
    *,
    label: str,
) -> str:
    """Estimates with their intervals at the time of their recording, and what all together say as a band.

    Args:
        values: of the document, see `build_batch`.
        starts: times of recording [s since the epoch] by run.
        common: interval of the common value.
        outliers: names of the runs that contradict the others.
    """
    dated = all(starts[value["run"]] > DATED for value in values)
    with rc_context(STYLE):
        figure, axes = panel(4.6, 2.0)
        if common is not None:
            axes.axhspan(*common, color=GREEN, alpha=0.2, linewidth=0.0)
        for value in values:
            when = _place(starts[value["run"]], dated)
            colour = VERMILION if value["run"] in outliers else BLUE
            axes.vlines(when, value["lower"], value["upper"], color=colour, linewidth=1.6, alpha=0.6)
            axes.plot([when], [value["estimate"]], color=colour, marker="o", markersize=3.5)
        if dated:
            locator: Any = dates.AutoDateLocator(minticks=3)  # type: ignore[no-untyped-call]
            axes.xaxis.set_major_locator(locator)
            axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
        else:
            axes.set_xlabel("first stamp [s]")
        low = min(float(value["lower"]) for value in values)
        high = max(float(value["upper"]) for value in values)
        margin = 0.06 * max(high - low, 1e-9 * float(np.abs([low, high]).max()), 1e-300)
        axes.set_ylim(low - margin, high + margin)
        return to_svg(figure, label)


def _place(start: float, dated: bool) -> float:
    if not dated:
        return start
    return float(dates.date2num(datetime.fromtimestamp(start, UTC)))  # type: ignore[no-untyped-call]
