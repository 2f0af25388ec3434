# SPDX-License-Identifier: Apache-2.0
"""Error radius of rows at parameters that are given: their true sensitivities, and what is left of second order.

The balance is linear in the parameters. With theta = nominal + rest, an error in the readings changes a row by its
true derivatives at the nominal parameters, which may cancel within a joint and over a window, and by the rest's share,
which error_radius.py bounds by norms. With P, F the derivatives of momentum and of its rate (`momentum_derivatives`),
e the position errors, d the velocity errors and weights h of the trapezoidal rule,

    error of a row = P(t1) e(t1) - P(t0) e(t0) - sum h F_q e  +  M(t1) d(t1) - M(t0) d(t0) - sum h F_v d  +  ...

Position errors are either independent, or a window's are those of its ends, joined by a straight line, and what
velocity errors let them stray from that (`Positions.travel_error`). Between two samples a velocity is off their line by
no more than an area of a dt^2 / 4, or J dt^3 / 12 where jerk is bounded, a position by a dt^3 / 12 [rad s].

Derivatives are taken at the readings and only at some samples. By Taylor's theorem that and the errors' squares are
covered by the second derivatives along (error, error + distance to the next such sample), bounded by norms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel import reference
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.momentum_derivatives import MomentumDerivatives, momentum_derivatives
from sysid_nodes.systems.interval.error_radius import (
    MotionBounds,
    Pair,
    momentum_curvature,
    rate_curvature,
    unit_motions,
)
from sysid_nodes.systems.interval.momentum_rows import body_norms
from sysid_nodes.systems.interval.positions import Positions
from sysid_nodes.systems.interval.reach import Levers
from sysid_nodes.systems.interval.row_parts import by_place
from sysid_nodes.systems.interval.windowed_samples import WindowedSamples

Array = npt.NDArray[np.float64]
Line = tuple[Array, Array]
"""Directions in positions and velocities, (W, n) each."""

_ROUNDING = 1.0 + 1e-9

_HAS_EDGES = ((1.0, 1.0), (1.0, 0.0), (0.0, 0.0), (0.0, 1.0))
"""Whether the momentum at its first and last sample counts, by a window's place."""


def nominal_radius(
    chain: Chain,
    theta: Array,
    windows: WindowedSamples,
    roughness: tuple[Array, Array],
    positions: Positions,
    motion: MotionBounds,
    levers: Levers,
) -> Array:
    """(4, 3, W, n) what windows add to the radius by place (`row_parts`) and cause (position, velocity, sampling).

    For inertial parameters theta (10 n,).

    Args:
        chain: the kinematic tree.
        theta: of all bodies.
        roughness: (N - 1, 1) of `MotionBounds.rough` and `smooth` before they are added up.
        levers: of the same windows.
    """
    picks = _Picks.of(windows, positions, levers.picked)
    qd = windows.samples.qd[positions.index[picks.entries]]
    found = momentum_derivatives(chain, theta, reference.at_velocities(chain.tree, levers.places, qd))
    dq, dv = motion.dq[:, None, :], motion.dv[:, None, :]
    mass = np.abs(found.mass)
    start, end = ((edge(mass) * dv).sum(axis=2) for edge in (picks.first, picks.last))
    position = _position(picks, found, dq, positions.travel_error[:, None, :])
    within = picks.sum(picks.weight, np.abs(found.rate_by_velocity), dv)
    sampling = _sampling_radius(
        picks, found, motion, [picks.share(each.ravel()) for each in (*roughness, windows.dt**3)]
    )
    radius = np.stack(
        [
            np.stack([position[place], start * begins + end * ends + within, sampling])
            for place, (begins, ends) in enumerate(_HAS_EDGES)
        ]
    )
    bodies = theta.reshape(chain.n, 10)
    norms = body_norms(bodies, bodies)
    pause = windows.maximum(windows.dt)
    smooth = (motion.smooth >= motion.cube)[:, None]
    stray = np.where(smooth, motion.jerk * pause**2 / 8.0 + 2.0 * motion.acceleration * windows.stamp_error,
                     motion.acceleration * pause / 2.0)  # fmt: skip
    between = (motion.acceleration * pause**2 / 8.0, stray)
    rest = _remainder(motion, levers, between, picks.away[:, None] + pause) @ norms.ravel()
    return (radius + by_place(rest)) * _ROUNDING


@dataclass(frozen=True)
class _Picks:
    """Samples at which derivatives are taken; every other one counts as the next of them.

    Attributes:
        entries: (K,) among those of `Positions`, W windows one after the other.
        starts: (W,) of each window's first.
        weight, late: (K,) weight in the trapezoidal rule, and that times the share of the window that has passed [s].
        away: (W,) largest time between a sample and the one it counts as [s].
        owner: (M,) the pick that an entry counts as.
        interval: (M,) the sample interval after each entry, -1 after a window's last.
    """

    entries: npt.NDArray[np.intp]
    starts: npt.NDArray[np.intp]
    weight: Array
    late: Array
    away: Array
    owner: npt.NDArray[np.intp]
    interval: npt.NDArray[np.intp]

    @classmethod
    def of(cls, windows: WindowedSamples, positions: Positions, chosen: Sequence[npt.NDArray[np.intp]]) -> _Picks:
        t = windows.samples.t[positions.index]
        entries = np.concatenate(chosen)
        starts = np.cumsum([0, *(len(each) for each in chosen[:-1])])
        owner = np.searchsorted(0.5 * (entries[1:] + entries[:-1]), np.arange(len(t)))
        first, last = positions.edges.T
        interval = positions.index.copy()
        interval[last] = -1
        step = np.append(windows.dt, 0.0)[interval]
        weight = 0.5 * step
        weight[1:] += 0.5 * step[:-1]
        window = np.repeat(np.arange(len(first)), last - first + 1)
        passed = (t - t[first][window]) / (t[last] - t[first])[window]
        size = len(entries)
        return cls(
            entries,
            starts,
            np.asarray(np.bincount(owner, weight, size), dtype=np.float64),
            np.asarray(np.bincount(owner, weight * passed, size), dtype=np.float64),
            np.maximum.reduceat(np.abs(t - t[entries][owner]), first),
            owner,
            interval,
        )

    def share(self, intervals: Array) -> Array:
        """(K,) values (N - 1,) of the sample intervals after the samples that count as each pick."""
        values = np.append(intervals, 0.0)[self.interval]
        return np.asarray(np.bincount(self.owner, values, len(self.entries)), dtype=np.float64)

    def integral(self, weight: Array, values: Array) -> Array:
        """(W, n, n) of values (K, n, n) with weights (K,)."""
        return np.asarray(np.add.reduceat(weight[:, None, None] * values, self.starts, axis=0))

    def sum(self, weight: Array, values: Array, size: Array) -> Array:
        """(W, n) that integral times sizes (W, 1, n), added up over columns."""
        return np.asarray((self.integral(weight, values) * size).sum(axis=2))

    def first(self, values: Array) -> Array:
        """(W, n, n) at the windows' first samples."""
        return np.asarray(values[self.starts])

    def last(self, values: Array) -> Array:
        """(W, n, n) at the windows' last samples."""
        return np.asarray(values[np.append(self.starts[1:], len(values)) - 1])


def _position(picks: _Picks, found: MomentumDerivatives, dq: Array, travel: Array) -> list[Array]:
    """(W, n) effect of the position errors, by place."""
    by_rate = found.rate_by_position
    size = picks.integral(picks.weight, np.abs(by_rate))
    late, early = (picks.integral(weight, by_rate) for weight in (picks.late, picks.weight - picks.late))
    first, last = picks.first(found.by_position), picks.last(found.by_position)
    out = []
    for begins, ends in _HAS_EDGES:
        end, start = ends * last - late, -begins * first - early
        a, b = np.abs(end), np.abs(start)
        independent = (begins * np.abs(first) + ends * np.abs(last) + size) * dq
        line = np.minimum((a + b) * dq, np.abs(end + start) * dq + np.minimum(a, b) * travel)
        out.append(np.minimum(independent, line + size * travel).sum(axis=2))
    return out


def _sampling_radius(picks: _Picks, found: MomentumDerivatives, motion: MotionBounds, shares: list[Array]) -> Array:
    """(W, n) effect of what velocities and positions may do between samples."""
    rough, smooth, cube = shares
    by_velocity = np.abs(found.rate_by_velocity)
    return np.asarray(
        picks.sum(rough / 4.0, by_velocity, motion.acceleration)
        + picks.sum(smooth / 12.0, by_velocity, motion.jerk)
        + picks.sum(cube / 12.0, np.abs(found.rate_by_position), motion.acceleration)
    )


def _remainder(motion: MotionBounds, levers: Levers, between: Line, away: Array) -> Array:
    """(2, 3, W, n, 3 n) what is of second order at both edges and between them, on the norms of all bodies.

    Args:
        between: how far positions and velocities may be off their straight lines between samples.
        away: (W, 1) longest time to where derivatives were taken [s].
    """
    unit, speed = unit_motions(levers), motion.speed
    acceleration, none = np.broadcast_to(motion.acceleration, speed.shape), np.zeros_like(speed)
    errors: list[Line] = [(motion.dq, none), (none, motion.dv), between]
    total: Line = (
        speed * away + 3.0 * motion.dq + between[0],
        acceleration * away + 3.0 * motion.dv + between[1],
    )
    span = motion.duration[:, None, None, None]
    # Readings' own errors act on the momentum at the ends, where nothing is between samples.
    momentum = _mixed_derivative(momentum_curvature, unit, speed, errors[:-1], (motion.dq, motion.dv))
    rate = _mixed_derivative(rate_curvature, unit, speed, errors, total)
    within = [span * (rate[k] + levers.third_along(error[0], total[0])) for k, error in enumerate(errors)]
    along = rate_curvature(unit, speed, speed, acceleration) + levers.third_along(speed, speed)
    within[2] += motion.cube[:, None, None, None] / 12.0 * along
    at_edges = [momentum[0], momentum[1], np.zeros_like(momentum[0])]
    return np.stack([at_edges, within]).reshape(2, len(errors), *speed.shape, -1)


def _mixed_derivative(
    curvature: Callable[..., Array], unit: Pair, speed: Array, errors: Sequence[Line], other: Line
) -> Array:
    """Bounds (P, W, n, n, 3) of mixed second derivatives along each of P errors and another line: the polar form.

    Of all lines at a time: the arrays are small, and what NumPy spends on each call counts.
    """
    moved = [(error[0] + other[0], error[1] + other[1]) for error in errors]
    found = curvature(unit, speed, *(np.stack(part) for part in zip(other, *errors, *moved, strict=True)))
    alone, together = found[1 : 1 + len(errors)], found[1 + len(errors) :]
    return np.asarray(np.maximum(0.5 * (together - alone - found[0]), 0.0))
