# SPDX-License-Identifier: Apache-2.0
"""Joints that stand for some time: where they are, by their readings alone.

Dry friction holds a joint that stands with anything up to its size, so that its torque tells nothing of its motion.
Were it as free to move as its readings are noisy, it would shake as the torques of other joints like it, through the
mass that they share, and the more so the heavier a link becomes: inertia that is not there would explain noise. Its
readings, smoothed, tell how it moves; no torque is asked.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.wiener_smoother import smooth_motion

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_LEAST = 10  # stages in a row at which a torque tells nothing: a joint that turns has fewer
_BESIDE = 5  # stages on either side that are smoothed with them
_OFF = 6.0  # standard deviations from their neighbours' median at which readings are left out
_NORMAL = 1.4826  # standard deviations of a normal distribution over the median of its absolute values


def standing_stages(untold: BoolArray) -> BoolArray:
    """(N, n) stages of which no torque tells the position.

    Args:
        untold: (N - 2, n) inner stages at which a joint's torque is not used.
    """
    long = np.zeros_like(untold)
    for j, column in enumerate(untold.T):
        for first, last in stretches(column):
            long[first:last, j] = last - first >= _LEAST
    ends = np.pad(long, ((2, 2), (0, 0)), mode="edge")  # torques at k - 1, k and k + 1 are of the position at k
    return np.asarray(ends[:-2] & ends[1:-1] & ends[2:])


def smoothed_stretches(position: Array, stands: BoolArray, step: float) -> Array:
    """Positions (N,) of a joint where it stands (N,), smoothed stretch by stretch; as they were read elsewhere.

    A stretch with too few readings is as it was read, which is not a number where it was not.
    """
    found = position.copy()
    for first, last in stretches(stands):
        around = slice(max(first - _BESIDE, 0), last + _BESIDE)
        y = position[around]
        read = np.isfinite(y)
        if int(read.sum()) < 2 * _LEAST:
            continue
        read &= _near(y, read)
        filled = np.interp(np.arange(len(y)), np.flatnonzero(read), y[read])
        if np.ptp(filled) > 0.0:
            filled = smooth_motion(filled, read, np.ones(len(y) - 2), np.zeros(len(y) - 2), step).position
        found[first:last] = filled[first - around.start : last - around.start]
    return found


def stretches(flags: BoolArray) -> list[tuple[int, int]]:
    """First and last but one of each run of flags (K,) that are set."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(first), int(last)) for first, last in pairwise(edges)][::2]


def _near(y: Array, read: BoolArray) -> BoolArray:
    """(K,) readings that are not far off their neighbours' median: outliers would bend what follows them."""
    near, (at,) = np.zeros_like(read), np.nonzero(read)
    values = y[at]
    padded = np.pad(values, _BESIDE, mode="reflect")
    off = values - np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * _BESIDE + 1), axis=1)
    near[at] = np.abs(off) <= _OFF * _NORMAL * np.median(np.abs(off))
    return near
