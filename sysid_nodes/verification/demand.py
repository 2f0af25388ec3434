# SPDX-License-Identifier: Apache-2.0
"""Torques and inertia that the robot can be asked for while errors are as assumed, over every part of time.

With errors e and r within |e|, |r| in the norm of the least armature I_a, sums over joints are bounded by Cauchy and
Schwarz: sum |e_j| <= |e| sqrt(sum 1 / I_a,j).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.verification.chain import Chain, turning
from sysid_nodes.verification.desired import Parts
from sysid_nodes.verification.mechanics import Coefficients, Geometry, coefficients, motion
from sysid_nodes.verification.models import Models
from sysid_nodes.verification.spread import Ball, Change

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Assumed:
    """Errors over P parts: |e| and |r| in the norm of I_a (P,), |dr/dt| of each joint (P, n) and in M (P,)."""

    position: Array
    reference: Array
    acceleration: Array
    speed: Array


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
        model: (P, n) torque of the models' differences from the nominal one at qdd_a = qdd_d [N m].
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
    nominal: Array
    model: Array
    moved: Array
    held: Array
    coriolis: Array
    inertia: Array
    inertia_off: Array
    heavy: Array
    qd_a_off: Array


def demand(chain: Chain, gravity: Array, parts: Parts, models: Models, law: Law, assumed: Assumed) -> Demand:
    """All of it, for every model and every error assumed."""
    n, count, gain, h = len(chain.names), len(parts.length), law.gain, law.age
    root = np.sqrt(models.least_armature)
    e, r = assumed.position[:, None] / root, assumed.reference[:, None] / root
    pull = gain * assumed.position  # |K_r e| in the norm of I_a
    qd = [Ball(parts.qd[:, j], parts.qd_off[:, j] + gain * e[:, j] + r[:, j]) for j in range(n)]
    qd_a = [Ball(parts.qd[:, j], parts.qd_off[:, j] + gain * e[:, j]) for j in range(n)]
    qdd = [Ball(parts.qdd[:, j], parts.qdd_off[:, j]) for j in range(n)]
    spread = Spread(chain, parts, assumed.position, root)
    rates = list(zip(qd, qd_a, qdd, strict=True))
    nominal, model = np.full((2, count, n), np.inf)
    still, none = Ball(np.zeros((count, 3)), np.zeros(count)), Ball(np.zeros(count), np.zeros(count))
    for j, body in [(j, j - before) for j in range(n) for before in (0, 1)]:  # both hold
        place, turned = spread.seen_from(body)
        w = _summed(place.axis, qd, parts, pull + assumed.reference, root)
        u = _summed(place.axis, qd_a, parts, pull, root)
        base = Ball(np.broadcast_to(-gravity, (count, 3)), turned[-1] * np.sqrt((gravity**2).sum()))
        moves, differ = motion(place, w, u, rates, base, still), np.zeros(count)
        together = qd_a[j].scaled(models.viscous[j, 0]) + qdd[j].scaled(models.armature[j, 0])
        together = together + Ball(np.full(count, models.offset[j, 0]), none.radius)
        for i in range(j, n):
            torque, off = spread.weighed(coefficients(place, moves, j, i, still), i, turned[i], models)
            together, differ = together + torque, differ + off
        nominal[:, j], model[:, j] = np.minimum(nominal[:, j], together.largest), np.minimum(model[:, j], differ)
    sizes = [np.stack([x.largest for x in group], axis=1) for group in (qd, qd_a, qdd)]
    nominal += models.coulomb[:, 0]
    model += models.viscous[:, 1] * sizes[1] + models.armature[:, 1] * sizes[2]
    model += models.coulomb[:, 1] + models.offset[:, 1]
    inertia, inertia_off, heavy = _inertia(spread, models)
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
    moved = _changes(chain, gravity, models.theta, (sizes[0], sizes[1], qdd_a), change)[1]
    moved += models.viscous[:, 0] * change[2] + _times(inertia, slope)
    heaviest = np.abs(models.theta) + models.theta_off
    nothing = np.zeros((count, n))
    coriolis = _changes(chain, 0.0 * gravity, heaviest, (sizes[0], r, nothing), (nothing, nothing, nothing))[0]
    # |M - I_a| is at most a product of roots, and the errors of all joints together lie in ellipsoids.
    lever = np.sqrt(heavy)
    feedback = np.sqrt((lever**2 * r**2).sum(axis=1)) + gain * np.sqrt((lever**2 * e**2).sum(axis=1))
    feedback = gain * lever * feedback[:, None] + models.armature.sum(axis=1) * pulled
    return Demand(
        q_off=parts.q_off + e,
        qd=sizes[0],
        qd_a=sizes[1],
        qdd=sizes[2],
        nominal=nominal + feedback + moved + _times(inertia, aged),
        model=model,
        moved=moved,
        held=_times(inertia, aged),
        coriolis=coriolis,
        inertia=inertia,
        inertia_off=inertia_off,
        heavy=heavy,
        qd_a_off=change[2],
    )


def _times(matrix: Array, vector: Array) -> Array:
    """(P, n) products of matrices (P, n, n) and vectors (P, n)."""
    return np.asarray((matrix * vector[:, None, :]).sum(axis=2))


def _recent(x: Array) -> Array:
    """Of each part and the one before, in which the torque in force was computed, the larger."""
    return np.asarray(np.maximum(x, np.concatenate([x[:1], x[:-1]])))


class Spread:
    """The chain in the middle of each part, and how far it can have turned from there.

    Args:
        chain, parts: of which motion.
        position: (P,) bound on |e| in the norm of I_a.
        root: (n,) of I_a.
    """

    def __init__(self, chain: Chain, parts: Parts, position: Array, root: Array) -> None:
        self._chain, self._parts, self._position, self._root = chain, parts, position, root
        turn = np.broadcast_to(np.eye(3), (len(parts.length), 3, 3))
        self._axis, self._step, self._frame = [], [], []
        for j in range(len(chain.names)):
            self._step.append(turn @ chain.place[j])
            own = turn @ chain.turn[j]
            self._axis.append(own @ chain.axis[j])
            turn = own @ turning(chain.axis[j], parts.q[:, j])
            self._frame.append(turn)

    def seen_from(self, body: int) -> tuple[Geometry[Ball], dict[int, Array]]:
        """The chain as a body sees it that has not turned, and the angle (P,) by which every other, the base -1, may.

        Torques do not change when everything turns together, gravity included; so any body may stand still.
        """
        n = len(self._axis)
        angle = {j: self._angle(min(j, body), max(j, body)) for j in range(-1, n)}
        axis = [Ball(x, angle[j] if j <= body else angle[j - 1]) for j, x in enumerate(self._axis)]
        length = np.sqrt((self._chain.place**2).sum(axis=1))
        step = [Ball(x, length[j] * angle[j - 1]) for j, x in enumerate(self._step)]
        return Geometry(axis, step), angle

    def weighed(self, found: Coefficients[Ball], body: int, angle: Array, models: Models) -> tuple[Ball, Array]:
        """Nominal torque for a body turned by up to ``angle``, and the bound (P,) on what the models' differences add.

        In the body's own frame, where its parameters are; there a vector is off by its ball and by that angle.
        """
        turn, theta, off = self._frame[body], models.theta[body], models.theta_off[body]

        def own(x: Ball) -> Ball:
            return Ball(np.einsum("pba,pb->pa", turn, x.middle), x.radius + angle * x.largest)

        first = own(found.first)
        tensor, more = np.zeros((len(angle), 3, 3)), np.zeros(len(angle))
        for one, two in found.second:
            one, two = own(one), own(two)
            tensor = tensor + one.middle[:, :, None] * two.middle[:, None, :]
            more = more + one.dot(two).radius
        second = np.stack([tensor[:, a, b] + (a != b) * tensor[:, b, a] for a, b in _TENSOR], axis=1)
        middle = found.mass.middle * theta[0] + first.middle @ theta[1:4] + second @ theta[4:]
        radius, model = (
            found.mass.radius * x[0] + first.radius * np.sqrt((x[1:4] ** 2).sum()) + more * _frobenius(x[4:])
            for x in (np.abs(theta), off)
        )
        model = model + np.abs(found.mass.middle) * off[0] + np.abs(first.middle) @ off[1:4] + np.abs(second) @ off[4:]
        return Ball(middle, radius), model

    def _angle(self, one: int, two: int) -> Array:
        """(P,) largest angle between bodies ``one`` and ``two``, the nearer to the base first, beside the middle's."""
        between = slice(one + 1, two + 1)
        by_error = self._position * np.sqrt((1.0 / self._root[between] ** 2).sum())
        return np.asarray(by_error + self._parts.q_off[:, between].sum(axis=1))


def _summed(axes: Sequence[Ball], rates: Sequence[Ball], parts: Parts, error: Array, root: Array) -> list[Ball]:
    """Angular velocities of the bodies; errors of the rates are together ``error`` (P,) in the norm of I_a."""
    found: list[Ball] = []
    together: list[Array] = []
    alone = np.zeros_like(error)
    for j, (axis, rate) in enumerate(zip(axes, rates, strict=True)):
        middle = Ball(rate.middle, np.zeros_like(error))
        alone = alone + parts.qd_off[:, j]
        known = axis.times(middle)
        found.append(known if not found else found[-1] + known)
        together.append(error * np.sqrt((1.0 / root[: j + 1] ** 2).sum()) + alone)
    return [Ball(x.middle, x.radius + more) for x, more in zip(found, together, strict=True)]


_TENSOR = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
"""Entries of the inertia tensor among a body's parameters."""


def _frobenius(inertia: Array) -> float:
    """Norm of a tensor of entries xx, xy, yy, xz, yz, zz, no less than that of what it does to a vector."""
    return float(np.sqrt((np.array([1.0, 2.0, 1.0, 2.0, 2.0, 1.0]) * inertia**2).sum()))


def _inertia(spread: Spread, models: Models) -> tuple[Array, Array, Array]:
    """|M| and |M - M0| (P, n, n), armature included, and (P, n) the largest diagonal of M without it."""
    n = len(models.theta)
    count = len(spread.seen_from(0)[1][0])
    nominal, off = np.zeros((2, count, n, n))
    still, one, none = (
        Ball(np.zeros((count, 3)), np.zeros(count)),
        Ball(np.ones(count), np.zeros(count)),
        Ball(np.zeros(count), np.zeros(count)),
    )
    for k in range(n):
        place, turned = spread.seen_from(k)
        moves = motion(place, None, None, [(none, none, one if j == k else none) for j in range(n)], still, still)
        for j in range(k + 1):
            together = none
            for i in range(k, n):
                torque, more = spread.weighed(coefficients(place, moves, j, i, still), i, turned[i], models)
                together, off[:, j, k] = together + torque, off[:, j, k] + more
            nominal[:, j, k] = together.largest
    nominal, off = (np.maximum(x, x.swapaxes(1, 2)) for x in (nominal, off))
    heavy = np.diagonal(nominal + off, axis1=1, axis2=2)
    # M - I_a is positive semidefinite, of the nominal model and of the true one.
    size = np.minimum(nominal + off, np.sqrt(heavy[:, :, None] * heavy[:, None, :]))
    return size + np.diag(models.armature.sum(axis=1)), off + np.diag(models.armature[:, 1]), heavy


def _changes(
    chain: Chain, gravity: Array, theta: Array, sizes: tuple[Array, Array, Array], change: tuple[Array, Array, Array]
) -> tuple[Array, Array]:
    """(P, n) sizes of the torques of qd, qd_a and qdd_a of these sizes, and changes for those of q, qd and qd_a."""
    n, count = len(chain.names), len(sizes[0])
    none, unit = Change(np.zeros(count), np.zeros(count)), np.ones(count)
    turned = [np.zeros(count)]
    axis: list[Change] = []
    step: list[Change] = []
    w: list[Change] = []
    u: list[Change] = []
    rates: list[tuple[Change, Change, Change]] = []
    for j in range(n):
        length = float(np.sqrt((chain.place[j] ** 2).sum()))
        axis.append(Change(unit, turned[j]))
        step.append(Change(length * unit, length * turned[j]))
        turned.append(turned[j] + change[0][:, j])
        qd, qd_a = Change(sizes[0][:, j], change[1][:, j]), Change(sizes[1][:, j], change[2][:, j])
        rates.append((qd, qd_a, Change(sizes[2][:, j], 0.0 * unit)))
        w.append((w[-1] if w else none) + axis[j].times(qd))
        u.append((u[-1] if u else none) + axis[j].times(qd_a))
    place = Geometry(axis, step)
    moves = motion(place, w, u, rates, Change(np.sqrt((gravity**2).sum()) * unit, 0.0 * unit), none)
    size, moved = np.zeros((2, count, n))
    for i in range(n):
        own = Change(unit, turned[i + 1])
        weights = [Change(unit * x, 0.0 * unit) for x in (abs(theta[i, 0]), np.sqrt((theta[i, 1:4] ** 2).sum()))]
        inertia = Change(unit * _frobenius(theta[i, 4:]), 0.0 * unit)
        for j in range(i + 1):
            found = coefficients(place, moves, j, i, none)
            torque = found.mass.times(weights[0]) + found.first.dot(own).times(weights[1])
            for one, two in found.second:
                torque = torque + one.dot(own).times(inertia).times(own).dot(two)
            size[:, j] += torque.size
            moved[:, j] += torque.change
    return size, moved
