# SPDX-License-Identifier: Apache-2.0
"""Figures of a Bayesian identification; see drawing.plots for their common look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib import rc_context
from matplotlib.figure import Figure

from sysid_nodes.reports.drawing.plots import BLUE, GREY, INK, ORANGE, STYLE, VERMILION, panel, thin_extremes, to_svg

Array = npt.NDArray[np.float64]
Rows = Sequence[Mapping[str, Any]]

_WIDTH = 9.2
_ROW = 0.19  # height of a parameter's line [inch]
_POINTS = 600
_NO_GAP = 1e-6  # what rounding leaves of a gap that is closed [nm]


def posterior_plot(rows: Rows, *, label: str) -> str:
    """Intervals of the parameters in units of their prior's: grey is the prior, blue the posterior."""
    with rc_context(STYLE):
        height = _ROW * len(rows) + 0.7
        figure, axes = panel(_WIDTH, height)
        axes.set_position((0.2, 0.48 / height, 0.78, 1.0 - 0.53 / height))  # room for names
        for k, row in enumerate(rows):
            half = 0.5 * (row["prior_upper"] - row["prior_lower"])
            middle = 0.5 * (row["prior_upper"] + row["prior_lower"])
            axes.plot([-1.0, 1.0], [-k, -k], color=GREY, linewidth=5.0, alpha=0.35, solid_capstyle="butt")
            ends = [(row[name] - middle) / half for name in ("lower", "upper")]
            axes.plot(ends, [-k, -k], color=BLUE, linewidth=2.4, solid_capstyle="butt")
            axes.plot((row["mean"] - middle) / half, -k, color=BLUE, marker="o", markersize=3.0)
            if row["truth"] is not None:
                axes.plot((row["truth"] - middle) / half, -k, color=VERMILION, marker="x", markersize=5.0)
        axes.set_yticks(-np.arange(len(rows)), [row["name"] for row in rows], fontsize=7.5)
        axes.set_ylim(-len(rows) + 0.3, 0.7)
        axes.set_xlim(-1.6, 1.6)
        axes.set_xlabel("in units of half the prior's 95 % interval")
        return to_svg(figure, label)


def friction_plot(curves: Rows, *, unit: str, label: str) -> str:
    """Friction over speed in a unit with its 95 % band, a small plot a joint; what the log did not cover is paler."""
    with rc_context(STYLE):
        columns = min(4, len(curves))
        lines = -(-len(curves) // columns)
        figure = Figure(figsize=(_WIDTH, 1.9 * lines + 0.2))
        axes = np.array(figure.subplots(lines, columns, squeeze=False)).ravel()
        figure.subplots_adjust(
            left=0.07, right=0.99, bottom=0.28 / lines, top=1.0 - 0.16 / lines, hspace=0.6, wspace=0.35
        )
        for axis in axes[len(curves) :]:
            axis.set_visible(False)
        for axis, curve in zip(axes, curves, strict=False):
            speed = np.array(curve["speed"])
            inside = (speed >= curve["covered"][0]) & (speed <= curve["covered"][1])
            for part, alpha in ((np.ones_like(inside), 0.10), (inside, 0.22)):
                lower, upper = (np.where(part, curve[name], np.nan) for name in ("lower", "upper"))
                axis.fill_between(speed, lower, upper, color=BLUE, alpha=alpha, linewidth=0.0)
            axis.plot(speed, curve["median"], color=BLUE)
            axis.set_title(curve["joint"], fontsize=8.5, loc="left", color=INK)
            axis.tick_params(labelsize=7.5)
        figure.supxlabel(f"speed [{unit}]", fontsize=9.0)
        return to_svg(figure, label)


def power_plot(t: Array, power: Array, *, label: str) -> str:
    """Power measured, mechanical and accounted for (3, K) [W]."""
    with rc_context(STYLE):
        figure, axes = panel(_WIDTH, 2.3)
        names = (("measured", INK, 2.0), ("torque times speed", ORANGE, 1.0), ("with the losses", BLUE, 1.0))
        for values, (name, colour, width) in zip(power, names, strict=True):
            axes.plot(*thin_extremes(t, values, _POINTS), color=colour, linewidth=width, label=name)
        axes.legend(ncols=3, fontsize=8.0, loc="upper right")
        axes.set_xlabel("time [s]")
        axes.set_ylabel("power [W]")
        axes.margins(x=0.0)
        return to_svg(figure, label)


def gap_plot(t: Array, gap: Array, *, label: str) -> str:
    """Gap of the loops over time [m]; drawn in nanometres, for numbers that a person reads."""
    with rc_context(STYLE):
        figure, axes = panel(_WIDTH, 1.8)
        axes.semilogy(t, np.maximum(1e9 * gap, _NO_GAP), color=BLUE)
        axes.set_xlabel("time [s]")
        axes.set_ylabel("gap [nm]")
        axes.margins(x=0.0)
        return to_svg(figure, label)


def torque_plot(t: Array, series: Mapping[str, Array], joints: Sequence[str], *, label: str) -> str:
    """Torques of the part that was held out, a plot a joint, named with its unit: measured, nominal, identified."""
    with rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH, 1.35 * len(joints) + 0.4))
        axes = np.array(figure.subplots(len(joints), 1, squeeze=False, sharex=True)).ravel()
        figure.subplots_adjust(left=0.09, right=0.99, bottom=0.42 / (1.35 * len(joints) + 0.4), top=0.99, hspace=0.25)
        for k, (axis, joint) in enumerate(zip(axes, joints, strict=True)):
            for name, colour, width in (("measured", INK, 2.0), ("nominal", GREY, 1.0), ("identified", VERMILION, 1.0)):
                axis.plot(*thin_extremes(t, series[name][:, k], _POINTS), color=colour, linewidth=width, label=name)
            axis.set_ylabel(joint, fontsize=7.5)
            axis.margins(x=0.0)
        axes[-1].set_xlabel("time [s]")
        return to_svg(figure, label)
