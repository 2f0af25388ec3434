# SPDX-License-Identifier: Apache-2.0
"""Torques and inertia that the robot can be asked for while errors are as assumed, over every part of time.

Errors e and r are known by a norm and by joint; sums over joints are bounded by Cauchy and Schwarz, or one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.verification.chain import Chain
from sysid_nodes.verification.desired import Parts
from sysid_nodes.verification.errors import Errors
from sysid_nodes.verification.models import Models
from sysid_nodes.verification.spread import Ball, Symbols
from sysid_nodes.verification.spread_chain import Rates, Spread, Turning, inertial, mass_matrix
from sysid_nodes.verification.state_changes import changes

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Assumed:
    """Errors over P parts.

    Attributes:
        position, reference: e and r.
        acceleration: (P, n) |dr/dt| of each joint.
        speed: (P,) of dr/dt in M or, of a delayed proof, in the norm of e and r.
        rate: (P,) in M.
    """

    position: Errors
    reference: Errors
    acceleration: Array
    speed: Array
    rate: Array

    @classmethod
    def of(cls, sizes: Sequence[Array], root: Array) -> Assumed:
        """From the bounds in the order of `sizes`."""
        one, two, three, four, *rest = sizes
        return cls(Errors(one, two, root), Errors(three, four, root), *rest)

    @property
    def sizes(self) -> tuple[Array, ...]:
        """All bounds."""
        e, r = self.position, self.reference
        return e.norm, e.each, r.norm, r.each, self.acceleration, self.speed, self.rate


@dataclass(frozen=True)
class Law:
    """The controller's numbers, those of one joint (n,); the age h is the period and the delay."""

    gain: float
    damping: Array
    limit: Array
    position_error: Array
    velocity_error: Array
    torque_error: Array
    sign_width: float
    period: float
    delay: float

    @property
    def age(self) -> float:
        return self.period + self.delay

    @property
    def noise(self) -> Array:
        """(n,) largest error of r at the controller [rad/s]."""
        return np.asarray(self.gain * self.position_error + self.velocity_error)


@dataclass(frozen=True)
class Demand:
    """Bounds over P parts.

    Attributes:
        q_off: (P, n) |q - q_d| there, time within the part included [rad].
        qd, qd_a, qdd: (P, n) magnitudes [rad/s, rad/s2].
        nominal: (P, n) fed-forward torque [N m].
        pulled: (P, n) |qdd_a - qdd_d| [rad/s2].
        model: (P, n) torque of the models' differences from the nominal one at qdd_a = qdd_d, Coulomb's apart [N m].
        moved: (P, n) of the measured and aged state's differences from the true one now [N m].
        held: (P, n) of r having moved on since [N m].
        coriolis: (P, n) |C r| [N m].
        inertia, inertia_off: (P, n, n) |M| and |M - M0|, armature included [kg m2].
        heavy: (P, n) diagonal of M less the armature [kg m2].
        qd_a_off: (P, n) error of qd_a at the controller [rad/s].
    """

    q_off: Array
    qd: Array
    qd_a: Array
    qdd: Array
    pulled: Array
    nominal: Array
    model: Array
    moved: Array
    held: Array
    coriolis: Array
    inertia: Array
    inertia_off: Array
    heavy: Array
    qd_a_off: Array
    turning: Turning


def demand(chain: Chain, gravity: Array, parts: Parts, models: Models, law: Law, assumed: Assumed) -> Demand:
    """All of it, for every model and every error assumed."""
    n, count, gain, h = len(chain.names), len(parts.length), law.gain, law.age
    e, r = assumed.position.each, assumed.reference.each
    pull = assumed.position.scale(gain)  # K_r e
    symbols = Symbols(assumed.position, assumed.reference)
    spread, rates = Spread(chain, parts, symbols), _rates(parts, gain, symbols)
    torque, model, turning = inertial(spread, gravity, rates, models)
    sizes = [np.stack([x.largest for x in group], axis=1) for group in rates]
    nominal = np.stack([x.largest for x in torque], axis=1) + models.coulomb[:, 0]
    model += models.viscous[:, 1] * sizes[1] + models.armature[:, 1] * sizes[2]
    model += models.offset[:, 1]
    inertia, inertia_off, heavy = mass_matrix(spread, models, count)
    rate = r + gain * e
    pulled = gain * rate
    then = _recent
    change = (
        law.position_error + h * then(sizes[0]),
        law.velocity_error + h * then(sizes[2] + pulled + assumed.acceleration),
        gain * law.position_error + h * then(sizes[2] + pulled),
    )
    slope = gain * law.velocity_error + h * then(parts.jerk + gain**2 * rate)
    aged = gain * h * then(assumed.acceleration)
    qdd_a = sizes[2] + pulled + slope + aged
    moved = changes(chain, gravity, models.theta, (sizes[0], sizes[1], qdd_a), change, turning)[1]
    moved += models.viscous[:, 0] * change[2] + _times(inertia, slope)
    heaviest = np.abs(models.theta) + models.theta_off
    nothing = np.zeros((count, n))
    wobble = np.stack([assumed.reference.weighted_sum(below) for below in np.tri(n)], axis=1)
    still = (nothing, nothing, nothing)
    coriolis = changes(chain, 0.0 * gravity, heaviest, (sizes[0], r, nothing), still, (turning[0], wobble))[0]
    # |M - I_a| is at most a product of roots.
    lever = np.sqrt(heavy)
    feedback = (assumed.reference + pull).weighted_sum(lever)
    feedback = gain * lever * feedback[:, None] + models.armature.sum(axis=1) * pulled
    return Demand(
        q_off=parts.q_off + e,
        qd=sizes[0],
        qd_a=sizes[1],
        qdd=sizes[2],
        pulled=pulled,
        nominal=nominal + feedback + moved + _times(inertia, aged),
        model=model,
        moved=moved,
        held=_times(inertia, aged),
        coriolis=coriolis,
        inertia=inertia,
        inertia_off=inertia_off,
        heavy=heavy,
        qd_a_off=change[2],
        turning=turning,
    )


def _rates(parts: Parts, gain: float, symbols: Symbols) -> Rates:
    """qd = qd_d + K_r e - r, qd_a = qd_d + K_r e and qdd = qdd_d of each joint."""
    count, n = parts.q.shape
    pulled, lagging = np.zeros((2, n, 2 * n, count))
    for j in range(n):
        pulled[j, j], lagging[j, n + j] = gain, -1.0
    qd_a = [Ball(parts.qd[:, j], parts.qd_off[:, j], pulled[j], symbols) for j in range(n)]
    qd = [Ball(x.middle, x.radius, pulled[j] + lagging[j], symbols) for j, x in enumerate(qd_a)]
    return qd, qd_a, [Ball(parts.qdd[:, j], parts.qdd_off[:, j]) for j in range(n)]


def jump(
    chain: Chain, gravity: Array, parts: Parts, models: Models, change: Array, gain: float, assumed: Assumed
) -> Array:
    """(n,) what a change (n, 10) of the nominal model changes in its torque where the motion begins [N m]."""
    nothing = np.zeros_like(models.coulomb)
    other = replace(
        models, theta=change, theta_off=0.0 * change, coulomb=nothing, viscous=nothing, armature=nothing, offset=nothing
    )
    symbols = Symbols(assumed.position, assumed.reference)
    torque, _, _ = inertial(Spread(chain, parts, symbols), gravity, _rates(parts, gain, symbols), other)
    return np.array([x.largest[0] for x in torque])


def _times(matrix: Array, vector: Array) -> Array:
    """(P, n) products of matrices (P, n, n) and vectors (P, n)."""
    return np.asarray((matrix * vector[:, None, :]).sum(axis=2))


def _recent(x: Array) -> Array:
    """Of each part and the one before, in which the torque in force was computed, the larger."""
    return np.asarray(np.maximum(x, np.concatenate([x[:1], x[:-1]])))
