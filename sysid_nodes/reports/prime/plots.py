# SPDX-License-Identifier: Apache-2.0
"""Figures of an estimated motion; see plots for their common look. Times count from the start of the figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    PURPLE,
    SKY,
    STYLE,
    VERMILION,
    panel,
    thin_extremes,
    to_svg,
)  # fmt: skip
from sysid_nodes.results.prime_status import PrimeStatus

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

FEET = (BLUE, ORANGE, GREEN, PURPLE, SKY, "#6b4e00", "#4b0092", GREY)
"""Colours of feet."""

STATUS = {
    PrimeStatus.STARTING: GREY,
    PrimeStatus.GOOD: GREEN,
    PrimeStatus.DEGRADED: "#e6c229",
    PrimeStatus.DOUBTFUL: ORANGE,
    PrimeStatus.LOST: VERMILION,
}
"""Colours of what an estimate is worth."""

_POINTS = 330  # of a curve, each drawn as its extremes


def force_plot(t: Array, force: Array, sigma: Array | None, truth: Array | None, *, colour: str, label: str) -> str:
    """A foot's normal force above its tangential ones; a band that is wide in the beginning runs off the plot.

    Args:
        t: (N,) [s].
        force: (N, 3) [N].
        sigma: (N, 3) standard deviations; None: not drawn.
        truth: (N, 3), or None.
    """
    with rc_context(STYLE):
        figure = Figure(figsize=(9.2, 2.9))
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(1.7, 1.0))
        figure.subplots_adjust(left=0.085, right=0.99, bottom=0.155, top=0.97, hspace=0.14)
        if sigma is not None:
            _band(top, t, force[:, 2], sigma[:, 2], colour)
        top.plot(*thin_extremes(t, force[:, 2], _POINTS), color=colour, linewidth=2.4, label="normal")
        bottom.plot(*thin_extremes(t, force[:, 0], _POINTS), color=colour, linewidth=2.2, label="along x")
        bottom.plot(*thin_extremes(t, force[:, 1], _POINTS), color=colour, linewidth=2.2, alpha=0.4, label="along y")
        if truth is not None:
            top.plot(*thin_extremes(t, truth[:, 2], _POINTS), color=INK, linewidth=0.6, label="truth")
            for k in (0, 1):
                bottom.plot(
                    *thin_extremes(t, truth[:, k], _POINTS), color=INK, linewidth=0.5, label=f"truth along {'xy'[k]}"
                )
        seen = [force[:, 2]] if truth is None else [force[:, 2], truth[:, 2]]
        _focus(top, force[:, 2], np.zeros(len(t)) if sigma is None else 0.5 * sigma[:, 2], np.concatenate(seen))
        top.set_ylabel("normal\n[N]")
        bottom.set_ylabel("tangential\n[N]")
        bottom.set_xlabel("time [s]")
        top.margins(x=0.0)
        bottom.margins(x=0.0)
        figure.align_ylabels()
        return to_svg(figure, label)


def timing_plot(
    t: Array,
    names: Sequence[str],
    found: BoolArray,
    true: BoolArray | None,
    status: npt.NDArray[np.int64],
    *,
    label: str,
) -> str:
    """Bars while a foot is on the ground, the truth as a thin bar below each; at the bottom what it is worth."""
    step = float(np.median(np.diff(t))) if len(t) > 1 else 0.01
    with rc_context(STYLE):
        figure = Figure(figsize=(9.2, 0.75 + 0.34 * (len(names) + 1)), layout="constrained")
        axes = figure.subplots()
        for row, _ in enumerate(names):
            axes.broken_barh(
                _spans(t, found[:, row], step), (row - 0.32, 0.4), color=FEET[row % len(FEET)], linewidth=0
            )
            if true is not None:
                axes.broken_barh(_spans(t, true[:, row], step), (row + 0.14, 0.16), color=INK, linewidth=0)
        for value, colour in STATUS.items():
            axes.broken_barh(_spans(t, status == int(value), step), (len(names) - 0.2, 0.4), color=colour, linewidth=0)
        axes.set_yticks(range(len(names) + 1), [*names, "worth"])
        axes.set_ylim(len(names) + 0.4, -0.55)
        axes.set_xlim(t[0], t[-1])
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("time [s]")
        return to_svg(figure, label)


def parameter_plot(t: Array, value: Array, sigma: Array, truth: float | None, *, label: str) -> str:
    """A parameter over time with its one-sigma band; the scale follows the second half."""
    with rc_context(STYLE):
        figure, axes = panel(4.6, 2.0)
        if len(t) == 1:  # of a whole log: one value for all times
            axes.errorbar([0.0], value, yerr=sigma, color=BLUE, marker="o", capsize=4.0)
            axes.set_xticks([])
            axes.set_xlabel("from the whole log")
        else:
            axes.fill_between(t, value - sigma, value + sigma, color=BLUE, alpha=0.22, linewidth=0.0)
            axes.plot(t, value, color=BLUE, label="estimate")
            axes.margins(x=0.0)
            axes.set_xlabel("time [s]")
        if truth is not None:
            axes.axhline(truth, color=VERMILION, linestyle=(0, (5, 3)), linewidth=1.3, label="truth")
        _focus(axes, value, sigma, np.array([] if truth is None else [truth]))
        return to_svg(figure, label)


def path_plot(t: Array, base: Array, truth: Array | None, *, label: str) -> str:
    """The base from above, and its height over time."""
    with rc_context(STYLE):
        figure = Figure(figsize=(9.2, 3.0), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.25))
        left.plot(base[:, 0], base[:, 1], color=BLUE, linewidth=1.8)
        left.plot(base[0, 0], base[0, 1], "o", color=BLUE, markerfacecolor="white")
        left.set_aspect("equal", adjustable="datalim")
        left.set_xlabel("x [m]")
        left.set_ylabel("y [m]")
        right.plot(*thin_extremes(t, base[:, 2], _POINTS), color=BLUE, linewidth=1.8, label="estimate")
        if truth is not None:
            left.plot(truth[:, 0], truth[:, 1], color=INK, linewidth=0.7)
            right.plot(*thin_extremes(t, truth[:, 2], _POINTS), color=INK, linewidth=0.7, label="truth")
        right.margins(x=0.0)
        right.set_xlabel("time [s]")
        right.set_ylabel("height [m]")
        return to_svg(figure, label)


def position_error_plot(t: Array, error: Array, sigma: Array, *, label: str) -> str:
    """Distance of the base from its true place along each of its axes, and one sigma [mm]."""
    with rc_context(STYLE):
        figure = Figure(figsize=(9.2, 2.7))
        axes = figure.subplots(3, 1, sharex=True)
        figure.subplots_adjust(left=0.085, right=0.99, bottom=0.17, top=0.97, hspace=0.16)
        for k, part in enumerate(axes):
            at, reach = thin_extremes(t, 1e3 * sigma[:, k], _POINTS)
            part.fill_between(at, -reach, reach, color=GREEN, alpha=0.2, linewidth=0.0)
            part.plot(*thin_extremes(t, 1e3 * error[:, k], _POINTS), color=BLUE, linewidth=0.9)
            part.set_ylabel("xyz"[k])
            part.margins(x=0.0)
        axes[-1].set_xlabel("time [s]")
        return to_svg(figure, label)


def fit_plot(t: Array, fit: Mapping[str, Array], limit: float, *, label: str) -> str:
    """Root mean square of each sensor's residuals over time, in units of its stated noise."""
    with rc_context(STYLE):
        figure = Figure(figsize=(9.2, 3.1), layout="constrained")
        axes = figure.subplots()
        for k, (name, values) in enumerate(fit.items()):
            line = "-" if k < len(FEET) else "--"  # a tuple counts as dashed, whatever it holds
            axes.plot(
                *thin_extremes(t, values, _POINTS), color=FEET[k % len(FEET)], linestyle=line, linewidth=1.0,
                label=name.replace("_", " "),
            )  # fmt: skip
        axes.axhline(limit, color=VERMILION, linestyle=(0, (5, 3)), label="limit")
        axes.set_ylim(0.0, max(1.15 * limit, 1.05 * max(float(np.nanmax(v)) for v in fit.values())))
        axes.margins(x=0.0)
        axes.set_xlabel("time [s]")
        axes.set_ylabel("residuals [sigma]")
        figure.legend(loc="outside upper left", ncols=5, handlelength=1.4, columnspacing=1.4)
        return to_svg(figure, label)


def _band(axes: Axes, t: Array, value: Array, sigma: Array, colour: str) -> None:
    if np.isfinite(sigma).any():
        axes.fill_between(t, value - sigma, value + sigma, color=colour, alpha=0.2, linewidth=0.0)


def _spans(t: Array, on: BoolArray, step: float) -> list[tuple[float, float]]:
    """Start and length of each run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(int)))
    return [(float(t[a] - 0.5 * step), float(t[b - 1] - t[a] + step)) for a, b in edges.reshape(-1, 2)]


def _focus(axes: Axes, value: Array, sigma: Array, seen: Array) -> None:
    """Scale that shows all of ``seen``, and two sigma but at the beginning, where bands are wide."""
    late = slice(len(value) // 4, None)
    ends = [value[late] - 2.0 * sigma[late], value[late] + 2.0 * sigma[late]]
    known = np.concatenate([*ends, seen])
    known = known[np.isfinite(known)]
    if not known.size:
        return
    low, high = float(known.min()), float(known.max())
    margin = 0.08 * (high - low) or 0.05 * max(abs(high), 1e-6)
    axes.set_ylim(low - margin, high + margin)
