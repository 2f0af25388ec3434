# SPDX-License-Identifier: Apache-2.0
"""Figures of a plan; see drawing.plots for their common look."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib import rc_context
from matplotlib.figure import Figure

from sysid_nodes.reports.drawing.plots import BLUE, GREY, INK, STYLE, VERMILION, panel, to_svg
from sysid_nodes.results.exploration import COMMANDS, Spread

Array = npt.NDArray[np.float64]

_UNITS = ("m/s", "m/s", "rad/s", "rad", "rad")
_CLOSE = 0.3  # lowest ratio from which marks between powers of ten have room for their numbers


def spreads_plot(spreads: Sequence[Spread]) -> str:
    """Standard deviations after the plan and after random ones, relative to those before."""
    with rc_context(STYLE):
        figure = Figure(figsize=(9.2, 3.2))
        axes = figure.subplots()
        figure.subplots_adjust(left=0.11, right=0.99, bottom=0.27, top=0.97)
        place = np.arange(len(spreads))
        for k, row in enumerate(spreads):
            axes.plot(np.full(len(row.random), k), row.random / row.before, "_", color=GREY, markersize=12)
        axes.plot(place, [row.after / row.before for row in spreads], "o", color=VERMILION, markersize=6)
        axes.axhline(1.0, color=INK, linewidth=0.8)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        if axes.get_ylim()[0] > _CLOSE:
            axes.yaxis.set_minor_formatter("{x:g}")
        axes.set_xticks(place, [row.name for row in spreads], rotation=30, ha="right", fontsize=8.0)
        axes.set_ylabel("sigma, relative to now")
        return to_svg(figure, "Predicted standard deviations")


def commands_plot(t: Array, values: Array, segment: float, gaits: Sequence[str]) -> str:
    """Commands (N, 5) over time (N,), the gait of each segment above."""
    with rc_context(STYLE):
        figure = Figure(figsize=(9.2, 5.0))
        axes = np.array(figure.subplots(5, 1, sharex=True))
        figure.subplots_adjust(left=0.09, right=0.99, bottom=0.1, top=0.94, hspace=0.25)
        for k, axis in enumerate(axes):
            axis.plot(t, values[:, k], color=BLUE, linewidth=1.3)
            axis.set_ylabel(f"{COMMANDS[k]}\n[{_UNITS[k]}]", fontsize=8.0)
            for edge in np.arange(1, len(gaits)) * segment:
                axis.axvline(edge, color=GREY, linewidth=0.6)
        for k, gait in enumerate(gaits):
            axes[0].text((k + 0.5) * segment, 1.04, gait, ha="center", fontsize=8.5, color=INK,
                         transform=axes[0].get_xaxis_transform())  # fmt: skip
        axes[-1].set_xlim(0.0, segment * len(gaits))
        axes[-1].set_xlabel("time [s]")
        return to_svg(figure, "Commands")


def path_plot(path: Array, segment: float, area: float) -> str:
    """The base's predicted path (P, 3: time, x, y) from above, within the area that is free."""
    with rc_context(STYLE):
        figure, axes = panel(5.0, 4.6)
        angle = np.linspace(0.0, 2.0 * np.pi, 100)
        axes.plot(area * np.cos(angle), area * np.sin(angle), color=GREY, linewidth=0.8, linestyle="--")
        axes.plot(path[:, 1], path[:, 2], color=BLUE, linewidth=1.6)
        edges = np.searchsorted(path[:, 0], np.arange(0.0, path[-1, 0] + 1e-9, segment))
        axes.plot(path[edges, 1], path[edges, 2], "o", color=INK, markersize=3.5)
        axes.plot(path[-1:, 1], path[-1:, 2], "s", color=VERMILION, markersize=6)
        axes.set_aspect("equal")
        axes.set_xlabel("x [m]")
        axes.set_ylabel("y [m]")
        return to_svg(figure, "Path of the base")
