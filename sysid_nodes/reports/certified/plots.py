# SPDX-License-Identifier: Apache-2.0
"""Figures of a run of the certified loop; see plots for their common look. Times count from the start of the figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sysid_nodes.reports.drawing.plots import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    SKY,
    STYLE,
    VERMILION,
    panel,
    scale_logarithmically,
    thin_extremes,
    to_svg,
)  # fmt: skip

Array = npt.NDArray[np.float64]

IDENTIFY, CARRY, UNUSED = BLUE, ORANGE, GREY
"""Colours of plans: that identify, that go to a goal, that were not executed."""

_LEAST = 0.1  # smallest share that is distinguished from zero [%]
_POINTS = 350  # of a curve, each drawn as its extremes


@dataclass(frozen=True)
class Bar:
    """A plan in the timeline.

    Attributes:
        told: when it was published [s].
        begun, ended: stretch over which it was executed [s]; NaN where it never was.
        start, rest: when it was to begin, and when its braking end would have come to rest [s].
        colour: of the bar.
    """

    told: float
    begun: float
    ended: float
    start: float
    rest: float
    colour: str


def timeline_plot(bars: Sequence[Bar], marks: Sequence[tuple[float, str]], *, label: str) -> str:
    """Plans one below the other: what was executed of each is solid, the certified end that was not needed is pale."""
    with rc_context(STYLE):
        height = 0.7 + 0.155 * max(len(bars), 4)
        figure = Figure(figsize=(9.2, height))
        axes = figure.add_axes((0.05, 0.42 / height, 0.935, 1.0 - 0.56 / height))
        for row, bar in enumerate(bars):
            axes.barh(row, bar.rest - bar.start, left=bar.start, height=0.62, color=bar.colour, alpha=0.22, linewidth=0)
            if np.isfinite(bar.begun):
                axes.barh(row, bar.ended - bar.begun, left=bar.begun, height=0.62, color=bar.colour, linewidth=0)
            axes.plot([bar.told, bar.start], [row, row], color=INK, linewidth=0.8)
            axes.plot([bar.told], [row], marker="|", markersize=6.0, color=INK)
        for t, words in marks:
            axes.axvline(t, color=VERMILION, linewidth=0.9, linestyle=(0, (4, 3)))
            axes.text(t, -0.75, f" {words}", color=VERMILION, fontsize=8.0, va="bottom", clip_on=False)
        axes.set_ylim(len(bars) - 0.4, -0.7)
        axes.set_yticks(range(len(bars)), [str(row + 1) for row in range(len(bars))])
        axes.tick_params(axis="y", length=0, labelsize=7.5)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("time [s]")
        return to_svg(figure, label)


def limit_plot(
    t: Array, torque: Array, edges: Array, certified: Array, limit: float, change: float | None, *, label: str
) -> str:
    """Commanded torque of a joint inside the range certified by each plan, inside the motor's limit.

    Args:
        t, torque: (N,) [s, N m].
        edges: (P + 1,) times between plans [s].
        certified: (P,) largest magnitude that each plan's certificate allows [N m].
        limit: of the motor [N m].
        change: when the identification ended [s]; None for never.
    """
    with rc_context(STYLE):
        figure, axes = panel(4.6, 2.0)
        if len(certified):
            most = np.append(certified, certified[-1])
            axes.fill_between(edges, -most, most, step="post", color=BLUE, alpha=0.16, linewidth=0.0)
        for side in (-limit, limit):
            name = "lower limit" if side < 0.0 else "upper limit"
            axes.axhline(side, color=VERMILION, linewidth=1.3, label=name)
        axes.plot(*thin_extremes(t, torque, _POINTS), color=INK, linewidth=0.9, label="commanded")
        _finish(axes, change)
        axes.set_ylim(-1.08 * limit, 1.08 * limit)
        return to_svg(figure, label)


def error_plot(t: Array, error: Array, bound: Array, change: float | None, *, label: str) -> str:
    """Tracking error of a joint inside its proven bound, both (N,) [mrad]."""
    with rc_context(STYLE):
        figure, axes = panel(4.6, 2.0)
        at, reach = thin_extremes(t, bound, _POINTS)
        axes.fill_between(at, -reach, reach, color=GREEN, alpha=0.2, linewidth=0.0)
        axes.plot(*thin_extremes(t, error, _POINTS), color=INK, linewidth=0.8)
        _finish(axes, change)
        return to_svg(figure, label)


def usage_plot(t: Array, usage: Array, change: float | None, *, label: str) -> str:
    """Share (N,) of the proven tracking error that is taken, over all joints [%], on a logarithmic scale."""
    with rc_context(STYLE):
        figure = Figure(figsize=(9.2, 1.9))
        axes = figure.add_axes((0.075, 0.24, 0.91, 0.7))
        axes.plot(*thin_extremes(t, np.maximum(usage, _LEAST), 2 * _POINTS), color=INK, linewidth=0.9, label="taken")
        axes.axhline(100.0, color=VERMILION, linewidth=1.3, label="proven")
        scale_logarithmically(axes)
        axes.set_ylim(_LEAST, max(150.0, 1.5 * float(usage.max(initial=0.0))))
        _finish(axes, change)
        return to_svg(figure, label)


def margin_plot(
    t: Array, seen: Array, edges: Array, certified: Array, change: float | None, *, label: str, ceiling: float
) -> str:
    """Distance to a limit (N,), and what each plan's certificate promised of it (P,).

    Args:
        t, seen, change, label: as above.
        edges, certified: (P + 1,) times between plans [s], and (P,) what each promised.
        ceiling: what is above is left out.
    """
    with rc_context(STYLE):
        figure = Figure(figsize=(9.2, 1.9))
        axes = figure.add_axes((0.075, 0.24, 0.91, 0.7))
        if len(certified):
            least = np.minimum(np.append(certified, certified[-1]), ceiling)
            axes.fill_between(edges, 0.0, least, step="post", color=BLUE, alpha=0.22, linewidth=0.0)
            axes.step(edges, least, where="post", color=BLUE, linewidth=1.0, label="certified")
        axes.plot(*thin_extremes(t, np.minimum(seen, ceiling), 2 * _POINTS), color=INK, linewidth=1.0, label="seen")
        axes.axhline(0.0, color=VERMILION, linewidth=1.3, label="limit")
        axes.set_ylim(-0.06 * ceiling, 1.04 * ceiling)
        _finish(axes, change)
        return to_svg(figure, label)


def width_plot(t: Array, share: Array, names: Mapping[int, str], change: float | None, *, label: str) -> str:
    """Remaining share (N, 10) of the prior's widths over time [%], on a logarithmic scale; names by column."""
    with rc_context(STYLE):
        figure = Figure(figsize=(9.2, 2.4))
        axes = figure.add_axes((0.075, 0.19, 0.78, 0.76))
        colours = (INK, BLUE, SKY, GREEN, VERMILION, ORANGE, GREY)
        for order, (column, name) in enumerate(names.items()):
            colour, style = colours[order % len(colours)], "-" if order < len(colours) else "--"
            axes.step(t, share[:, column], where="post", color=colour, linestyle=style, label=name)
        scale_logarithmically(axes)
        _finish(axes, change)
        figure.legend(loc="center right", fontsize=8.0, handlelength=1.4)
        return to_svg(figure, label)


def _finish(axes: Axes, change: float | None) -> None:
    if change is not None:
        axes.axvline(change, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)))
    axes.margins(x=0.0)
    axes.set_xlabel("time [s]")
