# SPDX-License-Identifier: Apache-2.0
"""A figure's curves as data for the page's script, which makes a plot of them to zoom and to read values from.

Only of figures that are curves over a common quantity: bars, maps, matrices and what is drawn over names stay pictures.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter, ScalarFormatter

Array = npt.NDArray[np.float64]

_LEAST = 8  # points of a curve that is worth zooming into
_DIGITS = 6


def plot_data(figure: Figure) -> str:
    """JSON of all axes of a drawn figure, empty where one of them holds no curve.

    Plots over the same quantity, as the lowest axes name it, move their cursors together.
    """
    found = [_axes(axes, figure.get_supxlabel()) for axes in figure.axes]
    if not found or any(item is None for item in found):
        return ""
    heights = [axes.get_position().height for axes in figure.axes]
    for item, height in zip(found, heights, strict=True):
        assert item is not None
        item["share"] = round(height / sum(heights), 3)
    document = {"key": figure.axes[-1].get_xlabel() or figure.get_supxlabel(), "axes": found}
    return json.dumps(document, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _axes(axes: Axes, below: str) -> dict[str, Any] | None:
    lines = [line for line in axes.get_lines() if len(_points(line)) and line.get_transform() == axes.transData]
    curves = [line for line in lines if _is_curve(line)]
    rest = [line for line in axes.get_lines() if line.get_transform() != axes.transData]
    if not curves or len(curves) != len(lines) or axes.get_xscale() != "linear" or axes.patches:
        return None
    if not isinstance(axes.xaxis.get_major_formatter(), (ScalarFormatter, NullFormatter)):
        return None  # names instead of numbers
    if max(len(_points(line)) for line in curves) < _LEAST:
        return None
    low, high = axes.get_xlim()
    return {
        "lines": [_line(line) for line in curves] + [_across(line, (low, high)) for line in rest if _is_level(line)],
        "marks": [_look(line) | {"x": float(np.asarray(line.get_xdata())[0])} for line in rest if not _is_level(line)],
        "areas": [area for item in axes.collections if isinstance(item, PolyCollection) for area in _areas(item)],
        "notes": [_note(text) for text in axes.texts if text.get_transform() == axes.transData],
        "xlim": [low, high],
        "ylim": sorted(axes.get_ylim()),
        "log": axes.get_yscale() == "log",
        "xlabel": axes.get_xlabel() or below,
        "ylabel": (axes.get_ylabel() or axes.get_title(loc="left")).replace("\n", " "),
    }


def _points(line: Line2D) -> Array:
    return np.asarray(line.get_xydata(), dtype=np.float64)


def _is_curve(line: Line2D) -> bool:
    x = np.asarray(line.get_xdata(), dtype=np.float64)
    return bool(np.isfinite(x).all() and (np.diff(x) >= 0.0).all() and x[-1] > x[0])


def _is_level(line: Line2D) -> bool:
    y = np.asarray(line.get_ydata(), dtype=np.float64)
    return bool(np.asarray(line.get_xdata()).tolist() == [0, 1] and y[0] == y[-1])


def _line(line: Line2D) -> dict[str, Any]:
    x, y = _points(line).T
    # The script joins tables by x, where a second value at the same x would replace the first.
    x = x + 1e-9 * max(x[-1] - x[0], 1e-9) * np.arange(len(x)) * (np.diff(x, prepend=x[0] - 1.0) == 0.0)
    return _look(line) | {"x": _numbers(x, 12), "y": _numbers(y), "steps": line.get_drawstyle() == "steps-post"}


def _across(line: Line2D, ends: tuple[float, float]) -> dict[str, Any]:
    level = float(np.asarray(line.get_ydata())[0])
    return _look(line) | {"x": list(ends), "y": [level, level], "steps": False}


def _look(line: Line2D) -> dict[str, Any]:
    name, alpha = str(line.get_label()), line.get_alpha()
    return {
        "name": "" if name.startswith("_") else name,
        "colour": to_hex(line.get_color()),
        "opacity": 1.0 if alpha is None else float(alpha),
        "width": line.get_linewidth(),
        "dash": [4, 3] if line.is_dashed() else [],
        "dots": line.get_linestyle() == "None",
    }


def _areas(item: PolyCollection) -> list[dict[str, Any]]:
    shades = np.asarray(item.get_facecolor(), dtype=np.float64).reshape(-1, 4)
    out = []
    for k, path in enumerate(item.get_paths() if len(shades) else ()):
        red, green, blue, opacity = shades[k % len(shades)].tolist()
        x, y = np.asarray(path.vertices, dtype=np.float64).T
        if np.isfinite(x).all() and np.isfinite(y).all():
            look = {"colour": to_hex((red, green, blue)), "opacity": round(opacity, 3)}
            out.append(look | {"x": _numbers(x), "y": _numbers(y)})
    return out


def _note(text: Any) -> dict[str, Any]:
    x, y = (float(value) for value in text.get_position())
    return {"x": x, "y": y, "text": text.get_text(), "colour": to_hex(text.get_color()), "align": text.get_ha()}


def _numbers(values: Array, digits: int = _DIGITS) -> list[float | None]:
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values]
