# SPDX-License-Identifier: Apache-2.0
"""Figures of an actuator identification; see drawing.plots for their common look."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib import rc_context
from matplotlib.figure import Figure

from sysid_nodes.reports.drawing.plots import BLUE, GREY, INK, STYLE, VERMILION, panel, thin_extremes, to_svg

Array = npt.NDArray[np.float64]
Triple = tuple[float, float, float]

_POINTS = 700  # of a curve, each drawn as its extremes


def overlay_plot(t: Array, command: Array, measured: Array, replayed: Array, *, label: str) -> str:
    """Commanded, measured and replayed position (S,) above the replay's error [rad, mrad]."""
    with rc_context(STYLE):
        figure = Figure(figsize=(9.2, 3.1))
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2.2, 1.0))
        figure.subplots_adjust(left=0.085, right=0.99, bottom=0.145, top=0.97, hspace=0.14)
        top.plot(*thin_extremes(t, command, _POINTS), color=GREY, linewidth=0.9, label="commanded")
        top.plot(*thin_extremes(t, measured, _POINTS), color=INK, linewidth=2.2, label="measured")
        top.plot(*thin_extremes(t, replayed, _POINTS), color=VERMILION, linewidth=0.9, label="replayed")
        bottom.plot(*thin_extremes(t, 1e3 * (replayed - measured), _POINTS), color=VERMILION, linewidth=0.8)
        top.set_ylabel("position\n[rad]")
        bottom.set_ylabel("error\n[mrad]")
        bottom.set_xlabel("time [s]")
        bottom.margins(x=0.0)
        figure.align_ylabels()
        return to_svg(figure, label)


def friction_plot(
    coulomb: Triple, viscous: Triple | None, *, label: str, truth: tuple[float, float] | None = None
) -> str:
    """Friction torque over speed with its 95 % band.

    Args:
        coulomb, viscous: (lower, estimate, upper) [N m, N m s/rad]; viscous None if unknown.
        label: for who cannot see it.
        truth: both of them, where known.
    """
    speed = np.linspace(-4.0, 4.0, 401)
    low, mid, high = (
        np.sign(speed) * c + (0.0 if viscous is None else viscous[k]) * speed for k, c in enumerate(coulomb)
    )
    with rc_context(STYLE):
        figure, axes = panel(4.6, 2.0)
        axes.fill_between(speed, np.minimum(low, high), np.maximum(low, high), color=BLUE, alpha=0.22, linewidth=0.0)
        axes.plot(speed, mid, color=BLUE, label="estimate")
        if truth is not None:
            true = np.sign(speed) * truth[0] + truth[1] * speed
            axes.plot(speed, true, color=INK, linestyle="--", linewidth=0.9, label="truth")
        axes.margins(x=0.0)
        axes.set_xlabel("speed [rad/s]")
        axes.set_ylabel("friction [N m]")
        return to_svg(figure, label)


def torque_plot(t: Array, torque: Array, sigma: Array, model: Array, *, label: str, truth: Array | None = None) -> str:
    """Torque oracle (S,) with its 95 % band, what the model says along the same motion, and the truth [N m]."""
    with rc_context(STYLE):
        figure, axes = panel(9.2, 2.0)
        every = max(len(t) // (4 * _POINTS), 1)  # the band of some thousand points; curves keep their extremes
        band = 1.96 * sigma[::every]
        axes.fill_between(
            t[::every], torque[::every] - band, torque[::every] + band, color=BLUE, alpha=0.28, linewidth=0.0
        )
        axes.plot(*thin_extremes(t, torque, _POINTS), color=BLUE, linewidth=0.9, label="torque")
        axes.plot(*thin_extremes(t, model, _POINTS), color=VERMILION, linewidth=0.9, label="model")
        if truth is not None:
            axes.plot(*thin_extremes(t, truth, _POINTS), color=INK, linestyle="--", linewidth=0.7, label="truth")
        axes.margins(x=0.0)
        axes.set_xlabel("time [s]")
        axes.set_ylabel("torque [N m]")
        return to_svg(figure, label)
