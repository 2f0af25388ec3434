# SPDX-License-Identifier: Apache-2.0
"""The closed loop in numbers, what is assumed of its errors, and how fast r can change under that assumption.

What acts between two commands was computed up to h seconds before, so whatever enters a bound from back then is the
larger of its values in an interval and in the one before (`recent`): intervals are at least h long. What acts at the
start of a trajectory may come from before it; `Entry.speed` bounds how fast r changes until then and counts as the
first interval's.

All sums here are of non-negative terms in double precision; INFLATE covers their rounding many times over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sysid_nodes.results.certificate import Entry
from sysid_nodes.robots.robot import Array

INFLATE = 1.0 + 1e-9

_UNKNOWN = np.array(np.inf)


@dataclass(frozen=True)
class ClosedLoop:
    """The law's numbers and the robot's assumed box for each joint, (n,) arrays.

    Attributes:
        position_gain: K_r, one number [1/s].
        damping, limit: K [N m s/rad] and the clip of the robust input [N m].
        viscous_lower, viscous_upper: F_v over its box [N m s/rad].
        coulomb_upper: F_c over its box [N m].
        armature_lower, armature_upper: I_a over its box [kg m2].
        reference_noise: largest error of r at the controller from its sensors [rad/s].
        sign_width: reference velocity at which friction is fed forward in full [rad/s].
        period, delay: longest time between commands, and from a joint state to its torque [s].
        delayed: the proof is that of delayed.py, not that of tracking.py.
    """

    position_gain: float
    damping: Array
    limit: Array
    viscous_lower: Array
    viscous_upper: Array
    coulomb_upper: Array
    armature_lower: Array
    armature_upper: Array
    reference_noise: Array
    sign_width: float
    period: float
    delay: float
    delayed: bool = False

    @property
    def stiffest(self) -> float:
        """Largest (K_j + F_v,j) / I_a,j [1/s]."""
        return float(((self.damping + self.viscous) / self.armature_lower).max())

    @property
    def viscous(self) -> Array:
        """(n,) middle of F_v [N m s/rad]."""
        return np.asarray(0.5 * (self.viscous_lower + self.viscous_upper))

    @property
    def metric(self) -> Array:
        """(n,) weights of the norm that e and r are bounded in, no larger than I_a [kg m2].

        For a delayed loop in proportion to K, in whose norm a constant inertia leaves joints' modes alone.
        """
        return (self.damping + self.viscous) / self.stiffest if self.delayed else self.armature_lower

    @property
    def age(self) -> float:
        """h: largest age of the joint state behind the torque in force [s]."""
        return self.period + self.delay

    @property
    def mean_square_age(self) -> float:
        """Mean of the squared age over a period: it grows from the delay by one period [s2]."""
        return self.delay**2 + self.delay * self.period + self.period**2 / 3.0


class Tube(NamedTuple):
    """Half-axes (T, n) of the ellipsoids that hold e [rad] and r [rad/s] over T time intervals.

    Each joint's error is at most its half-axis; together, sum (e_j / position_j)^2 <= 1, and so for r, unless they are
    boxes (`boxed`).
    """

    position: Array
    reference: Array
    boxed: bool = False


class Assumed(NamedTuple):
    """Errors over T intervals, assumed and then to be proven.

    Attributes:
        level: (T,) bound on V [J]; of a delayed loop on half the squared norm of r in its metric.
        position: (T,) bound on the norm of e in the loop's metric, sqrt(sum I_a,j e_j^2) [kg^0.5 rad].
        acceleration: (T, n) bound on |dr/dt| [rad/s2].
        speed: (T,) bound on dr/dt in the norm of M, or of a delayed loop's metric [kg^0.5 rad/s2].
        position_error, reference_error: (T, n) bounds on |e| [rad] and |r| [rad/s] by joint.

    Only a delayed loop's proof assumes the last three.
    """

    level: Array
    position: Array
    acceleration: Array
    speed: Array = _UNKNOWN
    position_error: Array = _UNKNOWN
    reference_error: Array = _UNKNOWN

    def ellipsoids(self, loop: ClosedLoop) -> Tube:
        """The norms by joint: the metric is no larger than I_a <= M."""
        root = np.sqrt(loop.metric)
        reference = np.sqrt(2.0 * self.level[:, None]) / root
        return Tube(self.position[:, None] / root * INFLATE, reference * INFLATE)

    def tube(self, loop: ClosedLoop) -> Tube:
        """All errors assumed; of a delayed loop boxes, where joints differ much."""
        if loop.delayed:
            return Tube(self.position_error, self.reference_error, True)
        return self.ellipsoids(loop)


class Disturbance(NamedTuple):
    """Bounds over T intervals, given a tube.

    Attributes:
        torque: (T, n) |w| at qdd_a = qdd_d, without what the sign of Coulomb friction adds and without ``held`` [N m].
        held: (T, n) what r adds to w by moving on while the feedforward is held, M0 K_r (r(t) - r(t_k)) [N m].
        inertia: (T, n, n) |M| and |M0| entry by entry, armature included [kg m2].
        inertia_error: (T, n, n) |M - M0| entry by entry, armature included [kg m2].
        coriolis: (T, n) |C(q, qd) r| [N m].
        inertia_root: (T, n) s with |M_jk - I_a| <= s_j s_k over the box of models and the tube [kg^0.5 m].
        reference_shift: (T, n) nu, error of qd_a at the controller [rad/s].
    """

    torque: Array
    held: Array
    inertia: Array
    inertia_error: Array
    coriolis: Array
    inertia_root: Array
    reference_shift: Array


class Rates(NamedTuple):
    """Bounds on dr/dt over T intervals.

    Attributes:
        mismatch: (T,) delta, largest |I_a^-1/2 (M - M0) I_a^-1/2| in the spectral norm [1].
        weight: (T,) largest |I_a^-1/2 M0 I_a^-1/2| in the spectral norm [1].
        speed: (T,) A, of dr/dt in the norm of M.
        acceleration: (T, n) of each |dr/dt| [rad/s2].
    """

    mismatch: Array
    weight: Array
    speed: Array
    acceleration: Array


def recent(x: Array) -> Array:
    """Of each interval (T, ...) and the one before it, the larger."""
    return np.asarray(np.maximum(x, np.concatenate([x[:1], x[:-1]])))


def robust_input(loop: ClosedLoop, tube: Tube) -> Array:
    """(T, n) bound on |v|, the robust input in force [N m]."""
    seen = recent(tube.reference) + loop.reference_noise
    return np.asarray(np.minimum(loop.limit, loop.damping * seen) * INFLATE)


def rates(loop: ClosedLoop, found: Disturbance, assumed: Assumed, start: Entry) -> Rates:
    """Rate of r under an assumption: M dr/dt = w - v - F_v r - C r.

    Args:
        loop: the closed loop.
        found: disturbances under the assumption.
        assumed: the assumption.
        start: where the trajectory begins.
    """
    delta, weight = _spectral(loop, found.inertia_error), _spectral(loop, found.inertia)
    speed = _speed(loop, found, assumed, delta)
    speed[0] = max(speed[0], start.speed)
    # Every joint's share of the norm in M is at least that in I_a.
    together = speed[:, None] / np.sqrt(loop.armature_lower)
    acceleration = np.minimum(_acceleration(loop, found, assumed), together)
    acceleration[0] = np.maximum(acceleration[0], start.speed / np.sqrt(loop.armature_lower))
    return Rates(delta, weight, speed, acceleration * INFLATE)


def _spectral(loop: ClosedLoop, size: Array) -> Array:
    """(T,) largest norm in that of I_a of symmetric matrices with entries up to ``size`` (T, n, n)."""
    root = np.sqrt(loop.armature_lower)
    return np.asarray(np.linalg.eigvalsh(size / root[:, None] / root)[:, -1] * INFLATE)


def _speed(loop: ClosedLoop, found: Disturbance, assumed: Assumed, delta: Array) -> Array:
    """(T,) |M dr/dt| in the norm of M^-1 <= I_a^-1, taken part by part; that of C r is not left out."""

    def norm(x: Array) -> Array:
        return np.asarray(np.sqrt((x**2 / loop.armature_lower).sum(axis=-1)))

    size = np.sqrt(2.0 * assumed.level)  # of r in the norm of I_a
    gain = loop.position_gain
    robust = (loop.damping / loop.armature_lower).max() * recent(size) + norm(loop.damping * loop.reference_noise)
    viscous = (loop.viscous_upper / loop.armature_lower).max() * size
    unmatched = delta * gain * (size + gain * assumed.position)
    rest = norm(found.torque + found.held + 2.0 * loop.coulomb_upper) + norm(found.coriolis)
    return np.asarray((rest + unmatched + viscous + np.minimum(robust, norm(loop.limit))) * INFLATE)


def _acceleration(loop: ClosedLoop, found: Disturbance, assumed: Assumed) -> Array:
    """(T, n) |M^-1 (w - v - F_v r - C r)| joint by joint.

    M^-1 <= I_a^-1, and I_a^-1 - M^-1 <= I_a^-1 (M - I_a) I_a^-1 is positive semidefinite, so that its entries are at
    most s_j s_k / (I_a,j I_a,k).
    """
    tube, gain = assumed.tube(loop), loop.position_gain
    friction = 2.0 * loop.coulomb_upper + loop.viscous_upper * tube.reference
    unmatched = np.einsum("tjk,tk->tj", found.inertia_error, gain * (tube.reference + gain * tube.position))
    x = found.torque + found.held + unmatched + robust_input(loop, tube) + friction + found.coriolis
    root = found.inertia_root / loop.armature_lower
    alone = x / loop.armature_lower + root * ((root * x).sum(axis=1, keepdims=True) - root * x)
    return np.asarray(alone * INFLATE)
