# SPDX-License-Identifier: Apache-2.0
"""Whether friction brakes: the sign of a torque that carries next to nothing, from where its joint turns or starts.

Over the first milliradians of travel after a turn or a rest, friction goes from what it was to full friction against
the motion (P. Dahl, 1968), and nothing else changes with travel so short: weight, ripple of gears and sensors come
with more travel, other joints' torques and drift with time. So all else is free: columns of either sign, and errors
that change smoothly with place and with time (Gaussian processes), with lengths and shares that fit best for either
sign of the friction. A joint that turns one way all along, from the first sample on, says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, solve_triangular

Array = npt.NDArray[np.float64]

STIFFNESS = (0.003, 0.01)
"""Travel over which friction turns [rad], of joints with strain wave gears or cycloids and torque sensors or none."""

_PLACE = ((False, 0.1), (False, 0.3), (False, 1.0), (True, 0.15), (True, 0.3), (True, 0.6))
_TIME = ((False, 0.3), (False, 1.0), (False, 3.0), (True, 0.3), (True, 1.0), (True, 3.0))
"""Errors that change with place [rad] and time [s]: smooth (or like a random walk), and over what they forget."""

_WHITE = (0.3, 0.03, 0.003)
"""Share of the errors' variance that differs from window to window."""

_MODEL = 0.05
"""Errors are at least this share of what the reading varies by: a model of friction and masses is no better."""

_HALF = 0.5
"""Share of such a likelihood that counts, as the errors are only roughly like that."""

_MOST = 80
"""Windows that are looked at, those next to where friction turns first."""

_SHOWN = 0.2
"""Least part of full friction by which it must turn."""


def friction_turn(q: Array, qd: Array, stiffness: float) -> Array:
    """(N,) friction over full friction, -1 to 1, by how far a joint has gone since it turned (Dahl's model).

    Args:
        q, qd: (N,) positions, turns undone [rad], and velocities, of which the first says how it starts.
        stiffness: travel over which it turns [rad].
    """
    steps = np.diff(q)
    left, way = np.exp(-np.abs(steps) / stiffness), np.sign(steps)
    turned = np.empty(len(q))
    turned[0] = np.tanh(qd[0] / stiffness)
    for i in range(len(steps)):
        turned[i + 1] = way[i] - (way[i] - turned[i]) * left[i]
    return turned


def braking_evidence(t: Array, place: Array, reading: Array, turns: Array, others: Array) -> float:
    """Log-likelihood ratio of friction that brakes to friction that drives; 0 where it turns nowhere.

    Args:
        t: (W,) middle of each window [s].
        place: (W,) position there [rad].
        reading: (W,) mean torque.
        turns: (W, k) mean of `friction_turn` over the window, by k stiffnesses.
        others: (W, m) what else the torque may depend on, with either sign: rigid torque, velocity, acceleration.
    """
    if len(t) > _MOST:
        change = np.abs(np.gradient(turns, axis=0)).max(axis=1)
        near = np.max([np.roll(change, shift) for shift in range(-3, 4)], axis=0)
        kept = np.sort(np.argsort(-near, kind="stable")[:_MOST])
        t, place, reading, turns, others = t[kept], place[kept], reading[kept], turns[kept], others[kept]
    turns = turns[:, np.ptp(turns, axis=0) > _SHOWN]
    if not turns.size:
        return 0.0
    free = _independent(np.column_stack([np.ones(len(t)), others]))
    rest, least = len(t) - free.shape[1], (_MODEL * float(reading.std())) ** 2
    best = {1.0: -np.inf, -1.0: -np.inf}
    for covariance in _covariances(t, place):
        root = cho_factor(covariance, lower=True)[0]
        white = solve_triangular(root, np.column_stack([free, turns, reading]), lower=True)
        basis, size = np.linalg.qr(white[:, : free.shape[1]])
        left = white[:, free.shape[1] :] - basis @ (basis.T @ white[:, free.shape[1] :])
        determinant = np.log(np.diag(root)).sum() + np.log(np.abs(np.diag(size))).sum()
        squares, power = left[:, -1] @ left[:, -1], (left[:, :-1] ** 2).sum(axis=0)
        along = left[:, :-1].T @ left[:, -1]
        for sign in best:
            gained = float((np.maximum(sign * along, 0.0) ** 2 / np.maximum(power, 1e-12)).max())
            error = max(squares - gained, 1e-18)
            variance = max(error / rest, least)
            likelihood = -0.5 * (rest * np.log(variance) + error / variance) - determinant
            best[sign] = max(best[sign], float(likelihood))
    return _HALF * (best[1.0] - best[-1.0])


def _independent(columns: Array) -> Array:
    """Orthonormal basis of what columns (W, k) span, for all that matters."""
    scale = np.maximum(np.linalg.norm(columns, axis=0), 1e-9)
    basis, size, _ = np.linalg.svd(columns / scale, full_matrices=False)
    return np.asarray(basis[:, size > 1e-3 * size[0]])


def _covariances(t: Array, place: Array) -> Iterator[Array]:
    """(W, W) covariances of unit variance: white, with place, with time, and with both alike."""
    apart, since = np.abs(place[:, None] - place), np.abs(t[:, None] - t)
    white = np.eye(len(t))
    by_place = [_likeness(apart, *kind) for kind in _PLACE]
    by_time = [_likeness(since, *kind) for kind in _TIME]
    yield white
    for share in _WHITE:
        for alike in (*by_place, *by_time, *(0.5 * (x + y) for x in by_place for y in by_time)):
            yield share * white + (1.0 - share) * alike


def _likeness(distance: Array, smooth: bool, length: float) -> Array:
    ratio = distance / length
    return np.asarray(np.exp(-0.5 * ratio**2 if smooth else -ratio))
