# SPDX-License-Identifier: Apache-2.0
"""Evidence for a lag between the stamps of an inertial sensor and a stream of poses, both of one body.

Over a fifth of a second a body turns by the gyroscope's integral, and its place bends (second difference) by the second
integral of the specific force in the world. In their own axes pose and integral are affine functions of one another, of
mounting, heading and bias, at the right lag; how much such a function leaves unexplained at every lag is the evidence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.signals.turning_rate import turning_rate

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

LIMIT = 0.15
"""Largest lag looked for, either way [s]."""

_APART = 0.2
"""Between the poses that are compared [s]."""

_MISSING = 0.1
"""Share of the inertial readings that may be missing: they are interpolated."""

_FLAT = 1e-9
"""Share of the motion's energy below which an axis is taken not to move at all."""


@dataclass(frozen=True)
class Evidence:
    """Misfit of every lag.

    Attributes:
        curve: (4 r + 1,) sums of squares in units of the noise's square, at lags of -r..r steps in half steps.
        score: multiple correlation at the best lag.
    """

    curve: Array
    score: float


@dataclass(frozen=True)
class Lag:
    """How much later the poses' stamps are than the inertial sensor's for the same motion.

    Attributes:
        lag: [s].
        sigma: its standard deviation [s].
        sharpness: by how much it fits better than none.
    """

    lag: float
    sigma: float
    sharpness: float


def evidence_of_turns(gyro: Array, orientation: Array, dt: float, early: int = 0) -> Evidence | None:
    """From angular velocities and orientations; None where too many are missing.

    Args:
        gyro: (N, 3) mean over the interval before each step [rad/s]; NaN where there is none.
        orientation: (N, 4) quaternions x, y, z, w at the steps; NaN where there is none.
        dt: step [s].
        early: half steps by which the gyroscope's readings belong to later times than that.
    """
    filled = _interpolate_missing(gyro)
    apart = round(_APART / dt)
    if filled is None or len(gyro) <= apart:
        return None
    angle = np.repeat(0.5 * dt * filled, 2, axis=0).cumsum(axis=0)[1:]  # at every step, and half-way between
    turn = turning_rate(dt * np.arange(float(len(gyro))), orientation, apart=apart)[1] * (dt * apart)
    return _evidence(turn, angle, ((2 * apart, 1.0), (0, -1.0)), round(LIMIT / dt), early)


def evidence_of_places(force: Array, turned: Array, position: Array, dt: float, early: int = 0) -> Evidence | None:
    """From specific forces and places; None where too many are missing.

    Args:
        force: (N, 3) mean about each step in the sensor's axes [m/s2]; NaN where there is none.
        turned: (N, 4) the sensor's own orientation in any world whose vertical is right; NaN where there is none.
        position: (N, 3) of the poses [m]; NaN where there is none.
        dt: step [s].
        early: half steps by which the forces belong to later times than that.
    """
    filled = _interpolate_missing(_rotate(force, turned))
    apart = round(0.5 * _APART / dt)
    if filled is None or len(position) <= 2 * apart:
        return None
    velocity = np.cumsum(dt * (filled - filled.mean(axis=0)), axis=0)
    at_steps = np.concatenate([np.zeros((1, 3)), np.cumsum(dt * velocity[:-1], axis=0)])
    place = np.empty((2 * len(at_steps) - 1, 3))
    place[::2], place[1::2] = at_steps, 0.5 * (at_steps[1:] + at_steps[:-1])
    bend = position[2 * apart :] - 2.0 * position[apart:-apart] + position[: -2 * apart]
    return _evidence(bend, place, ((4 * apart, 1.0), (2 * apart, -2.0), (0, 1.0)), round(LIMIT / dt), early)


def best_lag(curve: Array, dt: float) -> Lag | None:
    """The lag that fits best; None where it is at the end of the range.

    A square that is larger by one is one standard deviation away.
    """
    best = int(np.argmin(curve))
    if best in (0, len(curve) - 1):
        return None
    before, least, after = curve[best - 1 : best + 2]
    bend = before - 2.0 * least + after
    if not bend > 0.0:
        return None
    half, middle = 0.5 * dt, len(curve) // 2
    lag = half * (best - middle + 0.5 * (before - after) / bend)
    return Lag(float(lag), float(half * np.sqrt(2.0 / bend)), float(curve[middle] - least))


def _evidence(
    wanted: Array, integral: Array, difference: tuple[tuple[int, float], ...], reach: int, early: int
) -> Evidence | None:
    """Squares of `wanted` that no affine function of the integral's differences explains.

    Args:
        wanted: (M, 3), that of index k beginning at step k; NaN where it is not known.
        integral: (2 N - 1, 3) at every step and half-way between.
        difference: half steps ahead and factors of the integral in a difference.
        reach: largest lag [steps].
        early: as above.
    """
    margin = reach + abs(early)
    first = np.arange(margin, len(wanted) - margin)
    known = first[np.isfinite(wanted[first]).all(axis=1)] if len(first) else first
    if not len(known) or 2 * len(known) < len(first):
        return None
    centred = wanted[known] - wanted[known].mean(axis=0)
    energy = float(np.sum(centred**2))
    lags = range(-2 * reach, 2 * reach + 1)
    left = np.array(
        [energy - _explained_energy(centred, integral, difference, 2 * known - lag - early) for lag in lags]
    )
    least = float(left.min())
    if not least > 0.0:
        return None
    return Evidence(left * (centred.size / least), float(np.sqrt(max(1.0 - least / energy, 0.0))))


def _explained_energy(wanted: Array, integral: Array, difference: tuple[tuple[int, float], ...], at: Indices) -> float:
    seen = sum((factor * integral[at + ahead] for ahead, factor in difference), np.zeros((len(at), 3)))
    seen -= seen.mean(axis=0)
    cross, gram = seen.T @ wanted, seen.T @ seen
    gram += (_FLAT * np.trace(gram) + np.finfo(float).tiny) * np.eye(3)
    return float(np.sum(cross * np.linalg.solve(gram, cross)))


def _interpolate_missing(values: Array) -> Array | None:
    """Rows with the missing ones interpolated; None where too many are missing."""
    known = np.isfinite(values).all(axis=1)
    if not len(values) or np.mean(~known) > _MISSING:
        return None
    steps = np.arange(len(values))
    return np.array([np.interp(steps, steps[known], column[known]) for column in values.T]).T


def _rotate(vectors: Array, quaternions: Array) -> Array:
    """(N, 3) vectors in the axes that quaternions x, y, z, w lead to."""
    axis, scalar = quaternions[:, :3], quaternions[:, 3:]
    across = 2.0 * np.cross(axis, vectors)
    return np.asarray(vectors + scalar * across + np.cross(axis, across))
