# SPDX-License-Identifier: Apache-2.0
"""Figures of an identification by rollouts; see drawing.plots for their common look."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib import rc_context
from matplotlib.figure import Figure

from sysid_nodes.reports.drawing.plots import BLUE, GREY, INK, STYLE, VERMILION, to_svg

Array = npt.NDArray[np.float64]

_ROW = 1.5  # height of a row of small plots [inch]


def posterior_plot(names: Sequence[str], nominal: Array, estimates: Array, sigmas: Array, *, label: str) -> str:
    """Parameters (Q,) after each level (L, Q) with two sigmas, and the nominal value as a line.

    A parameter without a sigma is held at a bound, or not told: a hollow dot.
    """
    columns = 5
    rows = -(-len(names) // columns)
    with rc_context(STYLE):
        figure = Figure(figsize=(9.2, _ROW * rows + 0.3))
        axes = np.atleast_1d(np.array(figure.subplots(rows, columns, squeeze=False))).ravel()
        figure.subplots_adjust(left=0.06, right=0.99, bottom=0.1 / rows, top=1.0 - 0.18 / rows)
        figure.subplots_adjust(hspace=0.55, wspace=0.56)
        level = np.arange(len(estimates))
        for k, axis in enumerate(axes):
            if k >= len(names):
                axis.set_visible(False)
                continue
            axis.axhline(nominal[k], color=GREY, linewidth=1.0, label="nominal")
            free = np.isfinite(sigmas[:, k]) & (sigmas[:, k] > 0.0)
            spread = np.where(free, 2.0 * sigmas[:, k], np.nan)
            axis.errorbar(level, estimates[:, k], yerr=spread, color=BLUE, marker="o", markersize=3.5, capsize=3)
            axis.plot(
                level[~free],
                estimates[~free, k],
                color=BLUE,
                marker="o",
                linestyle="",
                markerfacecolor="#ffffff",
                zorder=4,
            )
            axis.set_title(names[k], fontsize=8.5, loc="left", color=INK)
            axis.ticklabel_format(axis="y", style="plain")
            axis.set_xticks([])
            axis.set_xlim(-0.5, len(level) - 0.5)
        return to_svg(figure, label)


def clips_plot(t: Array, measured: Array, nominal: Array, identified: Array, *, label: str, unit: str) -> str:
    """One signal in several clips (C, L): measured, and replayed with the nominal and with the identified robot."""
    with rc_context(STYLE):
        figure = Figure(figsize=(9.2, 1.9))
        axes = np.array(figure.subplots(1, len(t), squeeze=False))[0]
        figure.subplots_adjust(left=0.075, right=0.99, bottom=0.24, top=0.95, wspace=0.5)
        for k, axis in enumerate(axes):
            time = t[k] - t[0, 0]
            axis.plot(time, measured[k], color=INK, linewidth=2.0, label="measured")
            axis.plot(time, nominal[k], color=GREY, linewidth=1.0, label="nominal")
            axis.plot(time, identified[k], color=VERMILION, linewidth=1.0, label="identified")
            axis.margins(x=0.0)
            axis.tick_params(labelsize=7.5)
            axis.set_ylabel(unit)  # of each, for a page that puts them below one another
            axis.yaxis.label.set_visible(k == 0)
        figure.supxlabel("time [s]", fontsize=9.0)
        return to_svg(figure, label)
