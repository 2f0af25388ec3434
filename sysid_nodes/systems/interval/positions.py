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

from sysid_nodes.kernel.window_samples import compiled_windows

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
    index = np.arange(ends[-1]) + np.repeat(edges[:, 0] - starts, lengths)
    kernel = compiled_windows()
    if kernel is None:
        q, error, travel_error, room = _bound(q, qd, dt, edges, error, creep)
    else:
        q, qd, dt, error, creep = (np.ascontiguousarray(each, dtype=np.float64) for each in (q, qd, dt, error, creep))
        pairs = np.ascontiguousarray(edges, dtype=np.int64)
        q, error, travel_error, room = kernel.bound_positions(q, qd, dt, pairs, error, creep, _ROUNDING)
    return Positions(
        index=index,
        edges=np.stack([starts, ends - 1], axis=1),
        q=q,
        error=error,
        travel_error=travel_error,
        possible=np.asarray((room >= 0.0).all(axis=1)),
    )


def _bound(
    q: Array, qd: Array, dt: Array, edges: Edges, error: Array, creep: Array
) -> tuple[Array, Array, Array, Array]:
    """Positions (M, n), their errors (W, n), those of the travel, and how far above the lowest the highest place is."""
    lengths = edges[:, 1] - edges[:, 0] + 1
    index = np.arange(lengths.sum()) + np.repeat(edges[:, 0] - np.cumsum(lengths) + lengths, lengths)
    # Nothing is added up over pauses between windows: what a long one piles up would drown the digits that follow.
    open_windows = np.zeros(len(q))
    np.add.at(open_windows, edges[:, 0], 1.0)
    np.add.at(open_windows, edges[:, 1], -1.0)
    used = (np.cumsum(open_windows)[:-1] > 0.0)[:, None]
    step, creep = used * (0.5 * dt)[:, None] * (qd[1:] + qd[:-1]), used * creep
    moved, crept = _running_sum(step), _running_sum(creep)
    # Seen from the first sample of a window all move and creep less by what they had before it.
    moved_before, crept_before = moved[edges[:, 0]], crept[edges[:, 0]]
    offset, slack = q - moved, crept + _ROUNDING * (1.0 + np.abs(q))
    low = _largest(offset - slack, edges) + moved_before + crept_before - error
    high = moved_before - crept_before + error - _largest(-offset - slack, edges)
    span = crept[edges[:, 1]] - crept_before
    found = np.maximum(0.5 * (high - low), 0.0) + span + _ROUNDING * (1.0 + np.abs(low))
    better = found < error
    position = moved[index] + np.repeat(0.5 * (low + high) - moved_before, lengths, axis=0)
    if not better.all():
        position = np.where(np.repeat(better, lengths, axis=0), position, q[index])
    return position, np.where(better, found, error), np.where(better, span + _ROUNDING, 2.0 * error), high - low


def _running_sum(steps: Array) -> Array:
    """(N, n) sums of steps (N - 1, n) up to each sample."""
    total = np.zeros((len(steps) + 1, steps.shape[1]))
    np.cumsum(steps, axis=0, out=total[1:])
    return total


def _largest(values: Array, edges: Edges) -> Array:
    """(W, n) of the values (N, n) of the samples of each window, both ends included."""
    within = np.maximum.reduceat(values, edges.ravel(), axis=0)[::2]
    return np.asarray(np.maximum(within, values[edges[:, 1]]))
