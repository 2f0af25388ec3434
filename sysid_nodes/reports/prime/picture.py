# SPDX-License-Identifier: Apache-2.0
"""A robot's path, contacts and forces: a picture in three dimensions, as SVG.

The projection is our own and parallel: matplotlib's leaves most of a figure empty, or cuts off what is in it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from sysid_nodes.reports.drawing.plots import GREY, INK, RULE, STYLE, VERMILION, to_svg
from sysid_nodes.reports.prime.series import PrimeSeries

Array = npt.NDArray[np.float64]

METRES_PER_NEWTON = 0.001
"""Length of a force's arrow."""

_ARROWS = 160  # of all feet together, about
_DOTS = 600
_WIDTH, _TALLEST, _LOWEST = 9.2, 6.2, 2.6  # [inch]
_ELEVATION, _AZIMUTH = np.radians(24.0), np.radians(-65.0)  # of the observer
_MARGIN = 0.08  # of floor about what is on it [m]


def contact_picture(series: PrimeSeries, index: npt.NDArray[np.int64], colours: tuple[str, ...], *, label: str) -> str:
    """The base's way, its shadow, the points of contact in their foot's colour, and forces now and then.

    Args:
        index: (nc,) foot of every contact point.
        colours: of the feet.
        label: read out in place of the picture.
    """
    down = series.on_ground & np.isfinite(series.force).all(axis=2)
    ground = float(np.median(series.position[down][:, 2])) if down.any() else 0.0
    path = series.base[:: max(1, len(series.t) // 1000), :3]
    shadow = np.column_stack([path[:, :2], np.full(len(path), ground)])
    arrows = list(_forces(series, index, down))
    touched = series.position[down] if down.any() else shadow
    with rc_context(STYLE):
        figure = Figure()
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        floor = _floor(axes, np.concatenate([touched, shadow])[:, :2], ground)
        axes.plot(*_project(shadow).T, color=GREY, linewidth=1.0)
        for foot, colour in enumerate(colours):
            points = series.position[:, index == foot][down[:, index == foot]]
            some = points[np.linspace(0, len(points) - 1, min(len(points), _DOTS // len(colours))).astype(int)]
            axes.plot(*_project(some.reshape(-1, 3)).T, ".", color=colour, markersize=4.0, markeredgewidth=0.0)
            mine = [_project(ends) for ends, of in arrows if of == foot]
            axes.add_collection(LineCollection(mine, colors=colour, linewidths=0.9, alpha=0.75))
        way = _project(path)
        axes.plot(*way.T, color=INK, linewidth=1.5)
        axes.plot(*way[0], "o", color=INK, markerfacecolor="white", markersize=6.0)
        axes.plot(*way[-1], "o", color=VERMILION, markersize=6.0)
        _fit(figure, axes, np.concatenate([floor, way, *(_project(ends) for ends, _ in arrows)]))
        return to_svg(figure, label)


def _project(points: Array) -> Array:
    """(..., 2) where points of the world are in the picture: right and up [m]."""
    x, y, z = np.moveaxis(points, -1, 0)
    right = -np.sin(_AZIMUTH) * x + np.cos(_AZIMUTH) * y
    away = -np.cos(_AZIMUTH) * x - np.sin(_AZIMUTH) * y
    return np.stack([right, np.sin(_ELEVATION) * away + np.cos(_ELEVATION) * z], axis=-1)


def _forces(
    series: PrimeSeries, index: npt.NDArray[np.int64], down: npt.NDArray[np.bool_]
) -> Iterator[tuple[Array, int]]:
    """(2, 3) both ends, and foot, of an arrow for each foot at some stages; from the foot's centre of pressure."""
    feet = int(index.max()) + 1
    for stage in np.linspace(0, len(series.t) - 1, min(len(series.t), max(_ARROWS // feet, 2))).astype(int):
        for foot in range(feet):
            points = np.flatnonzero(down[stage] & (index == foot))
            if len(points):
                force = series.force[stage, points]
                weight = np.maximum(force[:, 2], 1e-9)
                start = weight @ series.position[stage, points] / weight.sum()
                yield np.stack([start, start + METRES_PER_NEWTON * force.sum(axis=0)]), foot


def _floor(axes: Axes, covered: Array, ground: float) -> Array:
    """Draws lines on the ground with their coordinates; returns where its corners are in the picture."""
    low, high = covered.min(axis=0) - _MARGIN, covered.max(axis=0) + _MARGIN
    reach = float(max(high - low))
    step = next(step for step in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, np.inf) if reach / step <= 8.0)
    for axis in (0, 1):
        for value in np.arange(np.ceil(low[axis] / step) * step, high[axis], step):
            ends = np.column_stack([np.stack([low, high]), np.full(2, ground)])
            ends[:, axis] = value
            seen = _project(ends)
            axes.plot(*seen.T, color=RULE, linewidth=0.8)
            near = seen[0] if axis == 0 else seen[1]  # the observer stands at small y, with large x to the right
            side, height = ("center", "top") if axis == 0 else ("left", "center")
            text = f" {value:.1f} ".replace("-", "\u2212").replace("\u22120.0", "0.0")
            axes.text(near[0], near[1], text, ha=side, va=height, fontsize=8.0, color="#5a6672")
    corners = np.array([[x, y, ground] for x in (low[0], high[0]) for y in (low[1], high[1])])
    middle = 0.5 * (low + high)
    front, right = np.array([middle[0], low[1], ground]), np.array([high[0], middle[1], ground])
    axes.annotate("x [m]", tuple(_project(front)), (0, -16), textcoords="offset points", ha="center", va="top")
    axes.annotate("y [m]", tuple(_project(right)), (26, 0), textcoords="offset points", ha="left", va="center")
    return _project(corners)


def _fit(figure: Figure, axes: Axes, inside: Array) -> None:
    """Fits the figure's height to its content, and shows all of it."""
    low, high = inside.min(axis=0), inside.max(axis=0)
    size = high - low
    left, right, bottom, top = 0.3, 0.75, 0.5, 0.15  # for the labels [inch]
    scale = min((_WIDTH - left - right) / size[0], (_TALLEST - bottom - top) / size[1])  # inches a metre
    height = max(scale * size[1] + bottom + top, _LOWEST)
    spare = 0.5 * (_WIDTH - left - right - scale * size[0])
    figure.set_size_inches(_WIDTH, height)
    axes.set_xlim(low[0] - (left + spare) / scale, high[0] + (right + spare) / scale)
    axes.set_ylim(low[1] - bottom / scale, low[1] + (height - bottom) / scale)
    axes.set_axis_off()
