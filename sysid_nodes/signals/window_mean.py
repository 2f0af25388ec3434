# SPDX-License-Identifier: Apache-2.0
"""Weighted means of an irregularly sampled signal, exact for one that is linear between its samples, or for samples
that are themselves means since the sample before.

Every mean is a linear functional of the samples, so the same weights give its value and its noise.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
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
    stamps: Sequence[float] | Array, time: float, dt: float, window: Window, max_gap: float, *, averaged: bool = False
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
    first, last = bisect_right(stamps, start + ROUNDING) - 1, bisect_left(stamps, end - ROUNDING)
    if first < 0 or last >= len(stamps):
        return None
    if window is Window.POINT and last <= first:
        return Mean(first, _ONE)  # a sample at the step itself
    used = np.array(stamps[first : last + 1])
    spacing = used[1:] - used[:-1]
    if spacing.max(initial=0.0) > max_gap + ROUNDING:
        return None
    if window is Window.POINT and averaged:
        return Mean(last, _ONE)
    if window is Window.POINT:
        share = min(max((time - used[0]) / spacing[0], 0.0), 1.0)
        return Mean(first, np.array([1.0 - share, share]))
    x = (used - time) / dt
    if averaged:
        reached = _kernel_integral(window, x)
        return Mean(first + 1, (reached[1:] - reached[:-1]) / (reached[-1] - reached[0]))
    return Mean(first, _integrate(window, x))


_ONE = np.ones(1)


def _kernel_integral(window: Window, x: Array) -> Array:
    """Integral of a window's kernel up to x, in steps from the step's time."""
    if window is not Window.AROUND:
        passed = x + 1.0 if window is Window.BEFORE else x
        return np.asarray(np.minimum(np.maximum(passed, 0.0), 1.0))
    x = np.minimum(np.maximum(x, -1.0), 1.0)
    reached: Array = 0.5 + x - 0.5 * x * np.abs(x)
    return reached


def _second_integral(window: Window, x: Array) -> Array:
    """Integral of `_kernel_integral` up to x."""
    if window is Window.AROUND:
        return np.asarray(np.maximum(x, 0.0) + (1.0 - np.minimum(np.abs(x), 1.0)) ** 3 / 6.0)
    passed = x + 1.0 if window is Window.BEFORE else x
    return np.asarray(0.5 * np.minimum(np.maximum(passed, 0.0), 1.0) ** 2 + np.maximum(passed - 1.0, 0.0))


def _integrate(window: Window, x: Array) -> Array:
    """Weights of samples at x, in steps from the step's time, that bracket the window.

    A signal that is linear between samples is a sum of hats, of which the second derivative is three impulses. Twice by
    parts: a hat's integral with the kernel is what these pick from the kernel's second integral.
    """
    twice = _second_integral(window, x)
    slopes = np.empty(len(x) + 1)
    slopes[0], slopes[-1] = 0.0, 1.0
    slopes[1:-1] = (twice[1:] - twice[:-1]) / (x[1:] - x[:-1])
    return np.asarray(np.maximum(slopes[1:] - slopes[:-1], 0.0))
