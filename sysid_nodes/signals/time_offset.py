"""The constant offset between the clocks of two streams that measure the same thing, from the signals themselves.

A gyroscope and a motion capture system both see how a body turns: whatever axes and biases they have, one signal is an
affine function of the other, at the right offset.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import SamplesError

Array = npt.NDArray[np.float64]

_SPACING = 2e-3
"""Spacing of the offsets tried [s]; the peak between them is found by a parabola."""

_SCORE = 0.7
"""Correlation below which two signals are not taken for the same thing."""


@dataclass(frozen=True)
class TimeOffset:
    """How far the second stream's stamps are ahead of the first's.

    Attributes:
        offset: second's stamps less the first's, for the same event [s].
        score: multiple correlation of the signals at that offset, 1 where one is an affine function of the other.
        at_limit: the best offset is at the end of the range searched.
    """

    offset: float
    score: float
    at_limit: bool

    @property
    def found(self) -> bool:
        """Whether the signals agree well enough for the offset to be believed."""
        return self.score >= _SCORE and not self.at_limit


def turning_rate(times: Array, quaternions: Array, *, apart: int = 1) -> tuple[Array, Array]:
    """Mean angular velocity between orientations, in the body's axes.

    Args:
        times: (N,) increasing [s].
        quaternions: (N, 4) x, y, z, w, body to world, of either sign.
        apart: readings from one orientation to the other; more of them make the rate less noisy and slower. A tenth of
            a second serves for motion capture.

    Returns:
        (N-apart,) times in the middle [s] and (N-apart, 3) angular velocities [rad/s].
    """
    before, after = quaternions[:-apart], quaternions[apart:]
    u, s, v, t = before[:, :3], before[:, 3:], after[:, :3], after[:, 3:]
    vector = s * v - t * u - np.cross(u, v)  # of the quaternion that turns the first into the second
    scalar = s * t + np.sum(u * v, axis=1, keepdims=True)
    vector = np.where(scalar < 0.0, -vector, vector)
    sine = np.linalg.norm(vector, axis=1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, np.abs(scalar))
    scale = np.where(sine > 0.0, angle / np.where(sine > 0.0, sine, 1.0), 2.0)
    return 0.5 * (times[apart:] + times[:-apart]), scale * vector / (times[apart:] - times[:-apart])[:, None]


def estimate_time_offset(
    first_times: Array, first: Array, second_times: Array, second: Array, *, limit: float
) -> TimeOffset:
    """The offset at which one signal is explained best by an affine function of the other.

    The denser one is interpolated at the stamps of the other: noise interpolated between stamps is smaller than at
    them, which would draw the offset to multiples of their spacing.

    Args:
        first_times, second_times: (N,), (M,) increasing [s].
        first, second: (N, k), (M, l) signals, in any units and axes.
        limit: largest offset searched, either way [s].

    Raises:
        SamplesError: the streams overlap for less than four times the limit.
    """
    start = max(first_times[0], second_times[0]) + limit
    end = min(first_times[-1], second_times[-1]) - limit
    if end - start < 2.0 * limit:
        raise SamplesError(
            f"streams overlap for {max(end - start + 2.0 * limit, 0.0):.3g} s; "
            f"an offset of up to {limit:g} s needs {4.0 * limit:g} s"
        )
    if len(first_times) < len(second_times):
        swapped = estimate_time_offset(second_times, second, first_times, first, limit=limit)
        return TimeOffset(-swapped.offset, swapped.score, swapped.at_limit)
    inside = (second_times >= start) & (second_times <= end)
    reference = second[inside] - second[inside].mean(axis=0)
    lags = _SPACING * np.arange(-round(limit / _SPACING), round(limit / _SPACING) + 1)
    stamps = second_times[inside]
    scores = np.array([_explained_share(reference, _centre(stamps - lag, first_times, first)) for lag in lags])
    best = int(np.argmax(scores))
    score = float(np.sqrt(scores[best]))
    if best in (0, len(lags) - 1):
        return TimeOffset(float(lags[best]), score, at_limit=True)
    left, peak, right = scores[best - 1 : best + 2]
    bend = left - 2.0 * peak + right
    shift = 0.5 * (left - right) / bend if bend < 0.0 else 0.0
    return TimeOffset(float(lags[best] + shift * _SPACING), score, at_limit=False)


def _centre(at: Array, times: Array, signal: Array) -> Array:
    columns = np.column_stack([np.interp(at, times, column) for column in signal.T])
    centred: Array = columns - columns.mean(axis=0)
    return centred


def _explained_share(reference: Array, other: Array) -> float:
    """Share of the reference's energy that a linear function of the other explains."""
    energy = float(np.sum(reference**2))
    cross = other.T @ reference
    if energy == 0.0 or not cross.any():
        return 0.0
    return float(np.sum(cross * np.linalg.lstsq(other.T @ other, cross, rcond=1e-12)[0])) / energy
