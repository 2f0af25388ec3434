# SPDX-License-Identifier: Apache-2.0
"""The report's figures as inline SVG: no script, no external font, text stays text."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter

from sysid_nodes.reports.drawing.plot_data import plot_data

Array = npt.NDArray[np.float64]

# Okabe and Ito's palette: distinct for colour-blind readers.
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, YELLOW, GREY = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#8A94A0",
)  # fmt: skip
INK, RULE = "#1c2733", "#d5dbe1"
_SERIES = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, YELLOW, GREY)

STYLE: Any = {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "svg.fonttype": "none",
    "svg.hashsalt": "sysid",
    "font.size": 9.0,
    "axes.edgecolor": RULE,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.limits": (-3, 4),
    "axes.axisbelow": True,
    "text.color": INK,
    "xtick.color": "#5a6672",
    "ytick.color": "#5a6672",
    "axes.grid": True,
    "grid.color": "#e9edf1",
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    "path.simplify_threshold": 0.3,
}

"""Of all figures; for matplotlib's rc_context."""

_VARIABLES = {INK: "--ink", RULE: "--rule", "#5a6672": "--soft", "#e9edf1": "--grid", "#ffffff": "--paper"}
"""Colours that follow the page's, light or dark, by its variables."""

# Margins of a single plot [inch].
_LEFT, _RIGHT, _BOTTOM, _TOP = 0.62, 0.18, 0.44, 0.08
_FONTS = "-apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"


def interval_plot(
    t: Array, lower: Array, upper: Array, nominal: Array, *, truth: float | None, label: str, withdrawn: bool
) -> str:
    """A parameter's interval over time; the scale follows the last interval, wider ones run off the plot."""
    with rc_context(STYLE):
        figure, axes = panel(4.6, 2.0)
        colour = GREY if withdrawn else BLUE
        axes.fill_between(
            t, _hold_to_end(lower), _hold_to_end(upper), step="post", color=colour, alpha=0.22, linewidth=0.0
        )
        axes.step(t, lower, where="post", color=colour, linewidth=0.9, label="lower")
        axes.step(t, upper, where="post", color=colour, linewidth=0.9, label="upper")
        axes.step(t, nominal, where="post", color=INK, linewidth=1.3, label="nominal")
        if truth is not None:
            axes.axhline(truth, color=VERMILION, linestyle=(0, (5, 3)), linewidth=1.3, label="truth")
        _focus(axes, lower, upper, truth)
        axes.margins(x=0.0)
        axes.set_xlabel("time [s]")
        return to_svg(figure, label)


def scale_logarithmically(axes: Axes) -> None:
    """A logarithmic scale upward with plain numbers: a power of ten is a formula, slow to lay out."""
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(LogFormatter())
    axes.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1.0, 0.4)))  # numbers between, on a short scale


def _hold_to_end(values: Array) -> Array:
    """Values of steps, each repeated where the data end, so that its area is filled."""
    ends = np.flatnonzero(np.isfinite(values[:-1]) & ~np.isfinite(values[1:]))
    held = values.copy()
    held[ends + 1] = values[ends]
    return held


def width_plot(t: Array, lower: Array, upper: Array, *, label: str, withdrawn: bool) -> str:
    """A parameter's half-width over time on a logarithmic scale."""
    half = 0.5 * (upper - lower)
    with rc_context(STYLE):
        figure, axes = panel(4.6, 2.0)
        axes.step(t, np.where(half > 0.0, half, np.nan), where="post", color=GREY if withdrawn else BLUE)
        scale_logarithmically(axes)
        axes.margins(x=0.0)
        axes.set_xlabel("time [s]")
        return to_svg(figure, label)


def torque_plot(t: Array, measured: Array, predicted: Array, radius: Array | None, *, label: str, points: int) -> str:
    """Measured against predicted torque of a joint above their difference and the error that was allowed for."""
    with rc_context(STYLE):
        figure = Figure(figsize=(9.2, 3.1))
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(1.6, 1.0))
        figure.subplots_adjust(left=0.085, right=0.99, bottom=0.15, top=0.97, hspace=0.14)
        top.plot(*thin_extremes(t, measured, points), color=SKY, linewidth=1.8, label="measured")
        top.plot(*thin_extremes(t, predicted, points), color=INK, linewidth=0.9, label="predicted")
        top.set_ylabel("torque\n[N·m]")
        bottom.axhline(0.0, color=GREY, linewidth=0.8, label="zero")
        if radius is not None:
            at, reach = thin_extremes(t, radius, points)
            bottom.fill_between(at, -reach, reach, color=GREY, alpha=0.25, linewidth=0.0)
        bottom.plot(*thin_extremes(t, measured - predicted, points), color=VERMILION, linewidth=0.9, label="residual")
        bottom.set_ylabel("residual\n[N·m]")
        bottom.set_xlabel("time [s]")
        top.margins(x=0.0)
        bottom.margins(x=0.0)
        figure.align_ylabels()
        return to_svg(figure, label)


def singular_values_plot(values: Array, *, label: str) -> str:
    """Singular values of the scaled regressor: a small one is a direction the data hardly see."""
    with rc_context(STYLE):
        figure, axes = panel(4.6, 2.6)
        positive = np.where(values > 0.0, values, np.nan)
        axes.bar(np.arange(1, values.size + 1), positive, color=BLUE, width=0.7)
        scale_logarithmically(axes)
        axes.set_xticks(np.arange(1, values.size + 1))
        axes.set_xlabel("direction, best seen first")
        axes.grid(axis="x", visible=False)
        return to_svg(figure, label)


def condition_plot(t: Array, condition: Array, *, label: str) -> str:
    """Condition number of the regressor over time; no line while a direction is blind."""
    with rc_context(STYLE):
        figure, axes = panel(4.6, 2.6)
        axes.step(t, condition, where="post", color=BLUE)
        if np.isfinite(condition).any():
            scale_logarithmically(axes)
        axes.set_xlabel("time [s]")
        axes.margins(x=0.0)
        return to_svg(figure, label)


def cost_plot(names: Sequence[str], costs: Mapping[str, Array], *, label: str) -> str:
    """Share of each assumption in what all of them add to the width of an interval, stacked."""
    with rc_context(STYLE):
        figure = Figure(figsize=(9.2, 3.9), layout="constrained")
        axes = figure.subplots()
        rows = np.arange(len(names))
        left = np.zeros(len(names))
        for index, (name, share) in enumerate(costs.items()):
            # Hatching tells apart what a ninth colour could not.
            hatch = "" if index < len(_SERIES) else "////"
            colour = _SERIES[index % len(_SERIES)]
            axes.barh(
                rows, 100.0 * share, left=100.0 * left, height=0.68, color=colour, hatch=hatch, edgecolor="white",
                linewidth=0.6, label=name.replace("_", " "),
            )  # fmt: skip
            left += share
        axes.set_yticks(rows, [name.replace("*", " ") for name in names])
        axes.invert_yaxis()
        axes.set_xlim(0.0, 100.0)
        axes.set_xlabel("share [%]")
        axes.grid(axis="y", visible=False)
        figure.legend(loc="outside upper left", ncols=4, handlelength=1.2, columnspacing=1.6)
        return to_svg(figure, label)


def thin_extremes(t: Array, y: Array, points: int) -> tuple[Array, Array]:
    """Minimum and maximum of each of `points` buckets, in order of time: thinner, yet no peak is lost."""
    if t.size <= 2 * points:
        return t, y
    keep: set[int] = set()
    for bucket in np.array_split(np.arange(t.size), points):
        values = y[bucket]
        if np.isfinite(values).any():
            keep |= {int(bucket[np.nanargmin(values)]), int(bucket[np.nanargmax(values)])}
    index = np.array(sorted(keep), dtype=np.intp)
    return t[index], y[index]


def panel(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure whose axes sit at one place, so that figures above one another line up."""
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes(
        (_LEFT / width, _BOTTOM / height, 1.0 - (_LEFT + _RIGHT) / width, 1.0 - (_BOTTOM + _TOP) / height)
    )
    return figure, axes


def _focus(axes: Axes, lower: Array, upper: Array, truth: float | None) -> None:
    known = np.flatnonzero(np.isfinite(lower) & np.isfinite(upper))
    if not known.size:
        return
    last = known[-1]
    half = 0.5 * (upper[last] - lower[last])
    centre = 0.5 * (upper[last] + lower[last])
    reach = max(5.0 * half, 1.2 * abs(truth - centre) if truth is not None else 0.0)
    bottom = max(centre - reach, float(np.nanmin(lower)))
    top = min(centre + reach, float(np.nanmax(upper)))
    if truth is not None:
        bottom, top = min(bottom, truth), max(top, truth)
    margin = 0.06 * (top - bottom)
    if margin > 0.0:
        axes.set_ylim(bottom - margin, top + margin)


def to_svg(figure: Figure, label: str) -> str:
    """The figure as an SVG element that scales with its column and can be read out, with its curves for the script."""
    buffer = io.StringIO()
    canvas: Any = FigureCanvasSVG(figure)
    canvas.print_svg(buffer, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    # Ids must be unique in the page; those that nothing refers to go.
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    prefix = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")
    text = re.sub(r' id="([^"]+)"', lambda m: f' id="{prefix}-{m[1]}"' if m[1] in used else "", text)
    text = re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}-", text)
    text = re.sub(r"font-family: [^;\"]+", f"font-family: {_FONTS}", text)
    text = re.sub(r'\s(?:width|height)="[0-9.]+pt"', "", text, count=2)
    # Inside HTML the namespaces are implied.
    text = re.sub(r'\sxmlns(?::xlink)?="[^"]*"', "", text)
    for colour, name in _VARIABLES.items():
        text = re.sub(rf": {colour}(?=[;\"])", f": var({name}, {colour})", text)
    text = text.replace("<svg ", f'<svg role="img" aria-label="{html.escape(label)}" ', 1)
    data = plot_data(figure)
    return text + f'<script type="application/json" class="plot-data">{data}</script>' if data else text
