# SPDX-License-Identifier: Apache-2.0
"""Joint positions within a window, known better than one reading: encoder and velocity confirm each other.

Within a window q(t) = b + int qd dt. The integral of the velocity readings is good to some micro-radians, so each
encoder reading bounds the one offset b, and the intersection of all these intervals is far shorter than an encoder
step as soon as the joint moves through a few of them. No smoothing in the statistical sense: every number is a bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Edges = npt.NDArray[np.intp]

_ROUNDING = 1e-11


@dataclass(frozen=True)
class Positions:
    """Positions of the samples of W windows, one window after the other; shared edge samples appear twice.

    Attributes:
        index: (M,) index of each entry among the samples.
        edges: (W, 2) first and last entry of each window.
        q: (M, n) positions [rad].
        error: (W, n) largest error of a position [rad].
        travel_error: (W, n) largest error of the difference between last and first position [rad].
        possible: (W,) whether some motion agrees with all readings of the window.
    """

    index: npt.NDArray[np.intp]
    edges: Edges
    q: Array
    error: Array
    travel_error: Array
    possible: npt.NDArray[np.bool_]


def bound_positions(q: Array, qd: Array, dt: Array, edges: Edges, error: Array, creep: Array) -> Positions:
    """Positions of each window with their errors.

    Args:
        q: (N, n) readings [rad].
        qd: (N, n) velocity readings [rad/s].
        dt: (N - 1,) sample intervals [s].
        edges: (W, 2) first and last sample of each window.
        error: (W, n) largest error of a reading [rad].
        creep: (N - 1, n) largest error of the velocity's trapezoid over each sample interval [rad].
    """
    lengths = edges[:, 1] - edges[:, 0] + 1
    ends = np.cumsum(lengths)
    starts = ends - lengths
    window = np.repeat(np.arange(len(edges)), lengths)
    index = np.arange(ends[-1]) - starts[window] + edges[window, 0]
    # Nothing is added up over pauses between windows: what a long one piles up would drown the digits that follow.
    open_windows = np.zeros(len(q))
    np.add.at(open_windows, edges[:, 0], 1.0)
    np.add.at(open_windows, edges[:, 1], -1.0)
    inside = np.cumsum(open_windows)[:-1, None] > 0.5
    zero = np.zeros((1, q.shape[1]))
    moved = np.concatenate([zero, np.cumsum(inside * (0.5 * (qd[1:] + qd[:-1]) * dt[:, None]), axis=0)])[index]
    moved = moved - moved[starts][window]
    crept = np.concatenate([zero, np.cumsum(np.where(inside, creep, 0.0), axis=0)])[index]
    crept = crept - crept[starts][window]
    reading = q[index]
    slack = crept + error[window] + _ROUNDING * (1.0 + np.abs(reading))
    low = np.maximum.reduceat(reading - moved - slack, starts, axis=0)
    high = np.minimum.reduceat(reading - moved + slack, starts, axis=0)
    span = crept[ends - 1]
    found = np.maximum(0.5 * (high - low), 0.0) + span + _ROUNDING * (1.0 + np.abs(low))
    better = found < error
    offset = 0.5 * (low + high)
    return Positions(
        index=index,
        edges=np.stack([starts, ends - 1], axis=1),
        q=np.where(better[window], offset[window] + moved, reading),
        error=np.where(better, found, error),
        travel_error=np.where(better, np.minimum(span + _ROUNDING, 2.0 * found), 2.0 * error),
        possible=np.asarray((low <= high).all(axis=1)),
    )
