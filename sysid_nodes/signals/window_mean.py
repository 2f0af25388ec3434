# SPDX-License-Identifier: Apache-2.0
"""Weighted means of an irregularly sampled signal, exact for one that is linear between its samples, or for samples
that are themselves means since the sample before.

Every mean is a linear functional of the samples, so the same weights give its value and its noise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.signals.channel_config import Window

Array = npt.NDArray[np.float64]

ROUNDING = 1e-6
"""Stamps closer than this are the same [s]; seconds since 1970 are rounded to 0.24 us."""


class Mean(NamedTuple):
    """Samples that a mean needs, and how much of each.

    Attributes:
        first: index of the first sample.
        weights: (k,) of samples first..first+k-1; they add up to 1.
    """

    first: int
    weights: Array


def support(window: Window, dt: float) -> tuple[float, float]:
    """Start and end of a window about its step, relative to the step's time [s]."""
    return {
        Window.POINT: (0.0, 0.0),
        Window.BEFORE: (-dt, 0.0),
        Window.AFTER: (0.0, dt),
        Window.AROUND: (-dt, dt),
    }[window]


def window_mean(
    stamps: Array, time: float, dt: float, window: Window, max_gap: float, *, averaged: bool = False
) -> Mean | None:
    """The mean of a window, or None where the samples do not cover it.

    Args:
        stamps: (N,) increasing [s].
        time: of the step [s].
        dt: grid step [s].
        window: part of the signal.
        max_gap: samples farther apart are not connected [s].
        averaged: a sample is the mean of the signal since the sample before it.
    """
    before, after = support(window, dt)
    start, end = time + before, time + after
    first = int(np.searchsorted(stamps, start + ROUNDING, side="right")) - 1
    last = int(np.searchsorted(stamps, end - ROUNDING))
    if first < 0 or last >= len(stamps):
        return None
    if window is Window.POINT and last <= first:
        return Mean(first, np.ones(1))  # a sample at the step itself
    used = stamps[first : last + 1]
    if np.diff(used).max(initial=0.0) > max_gap + ROUNDING:
        return None
    if window is Window.POINT and averaged:
        return Mean(last, np.ones(1))
    if averaged:
        reached = _kernel_integral(window, (used - time) / dt)
        return Mean(first + 1, np.diff(reached) / (reached[-1] - reached[0]))
    if window is Window.POINT:
        share = min(max((time - used[0]) / (used[1] - used[0]), 0.0), 1.0)
        return Mean(first, np.array([1.0 - share, share]))
    return Mean(first, _integrate(used, time, dt, window, start, end))


def _kernel_integral(window: Window, x: Array) -> Array:
    """Integral of a window's kernel up to x, in steps from the step's time."""
    if window is Window.BEFORE:
        return np.clip(x + 1.0, 0.0, 1.0)
    if window is Window.AFTER:
        return np.clip(x, 0.0, 1.0)
    x = np.clip(x, -1.0, 1.0)
    reached: Array = 0.5 + x - 0.5 * x * np.abs(x)
    return reached


def _integrate(used: Array, time: float, dt: float, window: Window, start: float, end: float) -> Array:
    """Weights of samples whose stamps bracket the window.

    Between neighbours among samples, ends and the triangle's tip, signal and kernel are both linear: with kernel values
    Ka, Kb at the ends of a piece of length h, its integral is h/6 ((2 Ka + Kb) ya + (Ka + 2 Kb) yb).
    """
    inner = used[(used > start) & (used < end)]
    tip = [time] if window is Window.AROUND else []
    nodes = np.unique(np.concatenate([[start], inner, tip, [end]]))
    if window is Window.AROUND:
        kernel = np.maximum(1.0 - np.abs(nodes - time) / dt, 0.0) / dt
    else:
        kernel = np.full(len(nodes), 1.0 / dt)
    piece = np.diff(nodes) / 6.0
    at_nodes = np.zeros(len(nodes))
    at_nodes[:-1] += piece * (2.0 * kernel[:-1] + kernel[1:])
    at_nodes[1:] += piece * (kernel[:-1] + 2.0 * kernel[1:])
    left = np.clip(np.searchsorted(used, nodes, side="right") - 1, 0, len(used) - 2)
    share = np.clip((nodes - used[left]) / (used[left + 1] - used[left]), 0.0, 1.0)
    weights = np.zeros(len(used))
    weights += np.bincount(left, at_nodes * (1.0 - share), minlength=len(used))
    weights += np.bincount(left + 1, at_nodes * share, minlength=len(used))
    weights /= weights.sum()
    return weights
