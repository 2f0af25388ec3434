# SPDX-License-Identifier: Apache-2.0
"""Torques and inertia that the robot can be asked for while errors are as assumed, over every part of time.

Errors e and r are known by a norm and by joint; sums over joints are bounded by Cauchy and Schwarz, or one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.verification.chain import Chain, turning
from sysid_nodes.verification.desired import Parts
from sysid_nodes.verification.errors import Errors
from sysid_nodes.verification.mechanics import Coefficients, Geometry, coefficients, motion
from sysid_nodes.verification.models import Models
from sysid_nodes.verification.spread import Ball, Change, Symbols, cross, size_of

Array = npt.NDArray[np.float64]

Turning = tuple[Array, Array]
"""(P, n) bounds on the angular velocities w and u of the bodies, from qd and qd_a."""


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
        turning: of the bodies.
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
    pull = assumed.position.scaled(gain)  # K_r e
    symbols = Symbols(assumed.position, assumed.reference)
    spread, rates = Spread(chain, parts, symbols), _rates(parts, gain, symbols)
    torque, model, turning = inertial(spread, gravity, rates, models)
    sizes = [np.stack([x.largest for x in group], axis=1) for group in rates]
    nominal = np.stack([x.largest for x in torque], axis=1) + models.coulomb[:, 0]
    model += models.viscous[:, 1] * sizes[1] + models.armature[:, 1] * sizes[2]
    model += models.offset[:, 1]
    inertia, inertia_off, heavy = _inertia(spread, models, count)
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
    wobble = np.stack([assumed.reference.summed(below) for below in np.tri(n)], axis=1)
    still = (nothing, nothing, nothing)
    coriolis = changes(chain, 0.0 * gravity, heaviest, (sizes[0], r, nothing), still, (turning[0], wobble))[0]
    # |M - I_a| is at most a product of roots.
    lever = np.sqrt(heavy)
    feedback = (assumed.reference + pull).summed(lever)
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


_Rates = tuple[list[Ball], list[Ball], list[Ball]]


def _rates(parts: Parts, gain: float, symbols: Symbols) -> _Rates:
    """qd = qd_d + K_r e - r, qd_a = qd_d + K_r e and qdd = qdd_d of each joint."""
    count, n = parts.q.shape
    pulled, lagging = np.zeros((2, n, 2 * n, count))
    for j in range(n):
        pulled[j, j], lagging[j, n + j] = gain, -1.0
    qd_a = [Ball(parts.qd[:, j], parts.qd_off[:, j], pulled[j], symbols) for j in range(n)]
    qd = [Ball(x.middle, x.radius, pulled[j] + lagging[j], symbols) for j, x in enumerate(qd_a)]
    return qd, qd_a, [Ball(parts.qdd[:, j], parts.qdd_off[:, j]) for j in range(n)]


def inertial(spread: Spread, gravity: Array, rates: _Rates, models: Models) -> tuple[list[Ball], Array, Turning]:
    """The nominal torque of each joint without Coulomb friction, the inertial share of `Demand.model`, and w and u.

    The torque for a body is seen from there, where the body's parameters are.
    """
    (qd, qd_a, qdd), n, count = rates, len(rates[0]), len(rates[0][0].radius)
    still = Ball(np.zeros((count, 3)), np.zeros(count))
    torque = [
        qd_a[j].scaled(models.viscous[j, 0])
        + qdd[j].scaled(models.armature[j, 0])
        + Ball(np.full(count, models.offset[j, 0]), np.zeros(count))
        for j in range(n)
    ]
    model, fast, fast_a = np.zeros((3, count, n))
    for i in range(n):
        place = spread.seen_from(i)
        w, u = _summed(place.axis, qd), _summed(place.axis, qd_a)
        fast[:, i], fast_a[:, i] = w[-1].largest, u[-1].largest
        own = list(zip(*(x[: i + 1] for x in rates), strict=True))
        moves = motion(place, w, u, own, spread.fixed(-gravity, i), still)
        for j in range(i + 1):
            found, differ = spread.weighed(coefficients(place, moves, j, i, still), i, models)
            torque[j], model[:, j] = torque[j] + found, model[:, j] + differ
    return torque, model, (fast, fast_a)


def _summed(axes: Sequence[Ball], rates: Sequence[Ball]) -> list[Ball]:
    """Angular velocities of the bodies up to the one that has the last of the axes."""
    found: list[Ball] = []
    for axis, rate in zip(axes, rates, strict=False):
        own = axis.times(rate)
        found.append(found[-1] + own if found else own)
    return found


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


class Spread:
    """The chain in the middle of each part, and how it can have turned from there.

    Args:
        chain, parts: of which motion.
        symbols: the errors.
    """

    def __init__(self, chain: Chain, parts: Parts, symbols: Symbols) -> None:
        self._chain, self._parts, self._symbols = chain, parts, symbols
        turn = np.broadcast_to(np.eye(3), (len(parts.length), 3, 3))
        self._axis, self._step, self._frame = [], [], []
        for j in range(len(chain.names)):
            self._step.append(turn @ chain.place[j])
            own = turn @ chain.turn[j]
            self._axis.append(own @ chain.axis[j])
            turn = own @ turning(chain.axis[j], parts.q[:, j])
            self._frame.append(turn)

    def seen_from(self, body: int) -> Geometry[Ball]:
        """The chain up to a body as that sees it.

        Torques do not change when everything turns together, gravity included; so any body may stand still.
        """
        axis = [self._seen(self._axis[j], j, body) for j in range(body + 1)]
        step = [self._seen(self._step[j], j - 1, body) for j in range(body + 1)]
        return Geometry(axis, step)

    def fixed(self, vector: Array, body: int) -> Ball:
        """A vector (3,) that stands still with the base, as a body sees it."""
        return self._seen(np.broadcast_to(vector, (len(self._parts.length), 3)), -1, body)

    def _seen(self, vector: Array, carrier: int, body: int) -> Ball:
        """A vector (P, 3) that one body carries, seen from one further out: turned back by the joints between.

        A joint's turn by x adds -x z cross the vector, and what that leaves out is at most half the whole angle squared
        times its length. Joints are at q_d - e.
        """
        n, parts = len(self._axis), self._parts
        slope = np.zeros((2 * n, *vector.shape))
        between = np.zeros(n)
        for j in range(carrier + 1, body + 1):
            slope[j], between[j] = cross(self._axis[j], vector), 1.0
        by_time = parts.q_off @ between
        angle = by_time + self._symbols.position.summed(between)
        radius = size_of(vector) * (by_time + 0.5 * angle**2)
        return Ball(vector, radius, slope, self._symbols)

    def weighed(self, found: Coefficients[Ball], body: int, models: Models) -> tuple[Ball, Array]:
        """Nominal torque for the body that sees ``found``, and (P,) what the models' differences add at most."""
        turn, theta, off = self._frame[body], models.theta[body], models.theta_off[body]
        first, tensor = found.first.turned(turn), None
        for one, two in found.second:
            more = one.turned(turn).outer(two.turned(turn))
            tensor = more if tensor is None else tensor + more
        assert tensor is not None
        second = tensor.entries(_TENSOR)
        nominal = found.mass.scaled(float(theta[0])) + first.weighed(theta[1:4]) + second.weighed(theta[4:])
        model = found.mass.largest * off[0] + first.each @ off[1:4] + second.each @ off[4:]
        return nominal, np.asarray(model)


_TENSOR = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
"""Entries of the inertia tensor among a body's parameters."""


def _frobenius(inertia: Array) -> float:
    """Norm of a tensor of entries xx, xy, yy, xz, yz, zz, no less than that of what it does to a vector."""
    return float(np.sqrt((np.array([1.0, 2.0, 1.0, 2.0, 2.0, 1.0]) * inertia**2).sum()))


def _inertia(spread: Spread, models: Models, count: int) -> tuple[Array, Array, Array]:
    """|M| and |M - M0| (P, n, n), armature included, and (P, n) the largest diagonal of M without it."""
    n = len(models.theta)
    still, one, none = (
        Ball(np.zeros((count, 3)), np.zeros(count)),
        Ball(np.ones(count), np.zeros(count)),
        Ball(np.zeros(count), np.zeros(count)),
    )
    together, off = [[none] * n for _ in range(n)], np.zeros((count, n, n))
    for i in range(n):
        place = spread.seen_from(i)
        for k in range(i + 1):
            moves = motion(
                place, None, None, [(none, none, one if j == k else none) for j in range(i + 1)], still, still
            )
            for j in range(k + 1):
                torque, more = spread.weighed(coefficients(place, moves, j, i, still), i, models)
                together[j][k], off[:, j, k] = together[j][k] + torque, off[:, j, k] + more
    nominal: Array = np.array([[x.largest for x in row] for row in together]).transpose(2, 0, 1)
    nominal, off = (np.maximum(x, x.swapaxes(1, 2)) for x in (nominal, off))
    heavy = np.diagonal(nominal + off, axis1=1, axis2=2)
    # M - I_a is positive semidefinite, of the nominal model and of the true one.
    size = np.minimum(nominal + off, np.sqrt(heavy[:, :, None] * heavy[:, None, :]))
    return size + np.diag(models.armature.sum(axis=1)), off + np.diag(models.armature[:, 1]), heavy


def changes(
    chain: Chain,
    gravity: Array,
    theta: Array,
    sizes: tuple[Array, Array, Array],
    change: tuple[Array, Array, Array],
    turning: Turning | None = None,
) -> tuple[Array, Array]:
    """(P, n) sizes of the torques of qd, qd_a and qdd_a of these sizes, and changes for those of q, qd and qd_a.

    Args:
        chain, gravity, theta: the robot.
        sizes: (P, n) each.
        change: (P, n) each.
        turning: no body turns faster; None: than its joints together.
    """
    seen = [_seen_changes(chain, gravity, theta, sizes, change, turning, j) for j in range(len(chain.names))]
    size, moved = (np.stack(x, axis=1) for x in zip(*seen, strict=True))
    return size, moved


def _seen_changes(
    chain: Chain,
    gravity: Array,
    theta: Array,
    sizes: tuple[Array, Array, Array],
    change: tuple[Array, Array, Array],
    turning: Turning | None,
    j: int,
) -> tuple[Array, Array]:
    """(P,) of joint j, as its own body sees it, which has not turned."""
    n, count = len(chain.names), len(sizes[0])
    none, unit = Change(np.zeros(count), np.zeros(count)), np.ones(count)
    turned = [change[0][:, min(i, j) + 1 : max(i, j) + 1].sum(axis=1) for i in range(-1, n)]
    axis: list[Change] = []
    step: list[Change] = []
    w: list[Change] = []
    u: list[Change] = []
    rates: list[tuple[Change, Change, Change]] = []
    for i in range(n):
        length = float(np.sqrt((chain.place[i] ** 2).sum()))
        axis.append(Change(unit, np.minimum(turned[i], turned[i + 1])))  # fixed in both bodies that it joins
        step.append(Change(length * unit, length * turned[i]))
        qd, qd_a = Change(sizes[0][:, i], change[1][:, i]), Change(sizes[1][:, i], change[2][:, i])
        rates.append((qd, qd_a, Change(sizes[2][:, i], 0.0 * unit)))
        w.append((w[-1] if w else none) + axis[i].times(qd))
        u.append((u[-1] if u else none) + axis[i].times(qd_a))
        if turning is not None:
            w[-1], u[-1] = (x.at_most(most[:, i]) for x, most in zip((w[-1], u[-1]), turning, strict=True))
    weight = float(np.sqrt((gravity**2).sum()))
    place = Geometry(axis, step)
    moves = motion(place, w, u, rates, Change(weight * unit, weight * turned[0]), none)
    size, moved = np.zeros((2, count))
    for i in range(j, n):
        own = Change(unit, turned[i + 1])
        weights = [Change(unit * x, 0.0 * unit) for x in (abs(theta[i, 0]), np.sqrt((theta[i, 1:4] ** 2).sum()))]
        inertia = Change(unit * _frobenius(theta[i, 4:]), 0.0 * unit)
        found = coefficients(place, moves, j, i, none)
        torque = found.mass.times(weights[0]) + found.first.dot(own).times(weights[1])
        for one, two in found.second:
            torque = torque + one.dot(own).times(inertia).times(own).dot(two)
        size, moved = size + torque.size, moved + torque.change
    return size, moved
