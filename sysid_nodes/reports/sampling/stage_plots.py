# SPDX-License-Identifier: Apache-2.0
"""Figures of an exploration that has taken place; see drawing.plots for their common look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from sysid_nodes.reports.drawing.plots import BLUE, GREY, INK, STYLE, VERMILION, panel, to_svg

_COLUMNS = 5
_TICKS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0, 5.0)


def stage_figures(stages: Mapping[str, Any]) -> dict[str, str]:
    """SVG by name: posterior, information, path."""
    return {"posterior": _posterior(stages), "information": _information(stages), "path": _path(stages)}


def _posterior(stages: Mapping[str, Any]) -> str:
    rows = stages["parameters"]
    lines = -(-len(rows) // _COLUMNS)
    with rc_context(STYLE):
        figure = Figure(figsize=(9.2, 1.5 * lines + 0.3))
        axes = np.array(figure.subplots(lines, _COLUMNS, squeeze=False)).ravel()
        figure.subplots_adjust(left=0.06, right=0.99, bottom=0.1 / lines, top=1.0 - 0.18 / lines)
        figure.subplots_adjust(hspace=0.55, wspace=0.56)
        for axis in axes[len(rows) :]:
            axis.set_visible(False)
        for axis, row in zip(axes, rows, strict=False):
            if row["truth"] is not None:
                axis.axhline(row["truth"], color=VERMILION, linewidth=1.0)
            for k, (name, colour) in enumerate((("before", GREY), ("after", BLUE))):
                if row[f"sigma_{name}"] is not None:
                    axis.errorbar(k, row[name], yerr=2.0 * row[f"sigma_{name}"], color=colour, marker="o", capsize=3)
            if row["sigma_before"] is None and row["sigma_after"] is None:
                axis.text(0.5, 0.75, "not told", transform=axis.transAxes, ha="center", fontsize=8.0, color=GREY)
            axis.set_title(f"{row['name']} [{row['unit']}]", fontsize=8.5, loc="left", color=INK)
            axis.ticklabel_format(axis="y", style="plain")
            axis.set_xticks([])
            axis.set_xlim(-0.6, 1.6)
        return to_svg(figure, "Estimates after both stages")


def _information(stages: Mapping[str, Any]) -> str:
    """Standard deviations promised and found, relative to those before the plan."""
    keys = ("sigma_before", "sigma_promised", "sigma_after")
    rows = [row for row in stages["parameters"] if all(row[key] is not None for key in keys)]
    with rc_context(STYLE):
        figure, axes = panel(9.2, 2.8)
        place = np.arange(len(rows))
        before, promised, after = (np.array([row[key] for row in rows]) for key in keys)
        axes.scatter(place - 0.08, promised / before, s=25, color=GREY, marker="s", label="promised")
        axes.scatter(place + 0.08, after / before, s=25, color=BLUE, marker="o", label="found")
        axes.axhline(1.0, color=INK, linewidth=0.8)
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        axes.set_yticks(shown := [tick for tick in _TICKS if low <= tick <= high], [f"{tick:g}" for tick in shown])
        axes.minorticks_off()
        axes.set_xticks(place, [row["name"] for row in rows], rotation=15, ha="right", fontsize=8.0)
        axes.set_ylabel("sigma, relative to before")
        axes.legend(frameon=False, fontsize=8.0)
        figure.subplots_adjust(bottom=0.36)
        return to_svg(figure, "Information promised and found")


def _path(stages: Mapping[str, Any]) -> str:
    planned = np.array([[point["x"], point["y"]] for point in stages["plan"]["path"]]).reshape(-1, 2)
    walked = np.array(stages["walked"]).reshape(-1, 3)[:, 1:]
    with rc_context(STYLE):
        figure, axes = panel(4.8, 4.2)
        axes.plot(*planned.T, color=GREY, linewidth=1.4, linestyle="--", label="predicted")
        axes.plot(*walked.T, color=BLUE, linewidth=1.6, label="walked")
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_xlabel("x [m]")
        axes.set_ylabel("y [m]")
        axes.legend(frameon=False, fontsize=8.0)
        return to_svg(figure, "Path of the base")
