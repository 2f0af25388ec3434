# SPDX-License-Identifier: Apache-2.0
"""The robot's chain while errors are as assumed, and the torques and inertia that its models have there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sysid_nodes.verification.chain import Chain, rotation_about
from sysid_nodes.verification.desired import Parts
from sysid_nodes.verification.mechanics import Coefficients, Geometry, coefficients, motion
from sysid_nodes.verification.models import Models
from sysid_nodes.verification.spread import Ball, Symbols, cross, size_of

Array = npt.NDArray[np.float64]

Rates = tuple[list[Ball], list[Ball], list[Ball]]
"""qd, qd_a and qdd of each joint."""

Turning = tuple[Array, Array]
"""(P, n) bounds on the angular velocities w and u of the bodies, from qd and qd_a."""


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
            turn = own @ rotation_about(chain.axis[j], parts.q[:, j])
            self._frame.append(turn)

    def seen_from(self, body: int) -> Geometry[Ball]:
        """The chain up to a body as that sees it.

        Torques do not change when everything turns together, gravity included; so any body may stand still.
        """
        axis = [self._express(self._axis[j], j, body) for j in range(body + 1)]
        step = [self._express(self._step[j], j - 1, body) for j in range(body + 1)]
        return Geometry(axis, step)

    def express_base_vector(self, vector: Array, body: int) -> Ball:
        """A vector (3,) that stands still with the base, as a body sees it."""
        return self._express(np.broadcast_to(vector, (len(self._parts.length), 3)), -1, body)

    def _express(self, vector: Array, carrier: int, body: int) -> Ball:
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
        angle = by_time + self._symbols.position.weighted_sum(between)
        radius = size_of(vector) * (by_time + 0.5 * angle**2)
        return Ball(vector, radius, slope, self._symbols)

    def link_torque(self, found: Coefficients[Ball], body: int, models: Models) -> tuple[Ball, Array]:
        """Nominal torque for the body that sees ``found``, and (P,) what the models' differences add at most."""
        turn, theta, off = self._frame[body], models.theta[body], models.theta_off[body]
        first, tensor = found.first.rotate(turn), None
        for one, two in found.second:
            more = one.rotate(turn).outer(two.rotate(turn))
            tensor = more if tensor is None else tensor + more
        assert tensor is not None
        second = tensor.entries(_TENSOR)
        nominal = found.mass.scale(float(theta[0])) + first.weighted_sum(theta[1:4]) + second.weighted_sum(theta[4:])
        model = found.mass.largest * off[0] + first.each @ off[1:4] + second.each @ off[4:]
        return nominal, np.asarray(model)


_TENSOR = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
"""Entries of the inertia tensor among a body's parameters."""


def inertial(spread: Spread, gravity: Array, rates: Rates, models: Models) -> tuple[list[Ball], Array, Turning]:
    """The nominal torque of each joint without Coulomb friction, the inertial share of `Demand.model`, and w and u.

    The torque for a body is seen from there, where the body's parameters are.
    """
    (qd, qd_a, qdd), n, count = rates, len(rates[0]), len(rates[0][0].radius)
    still = Ball(np.zeros((count, 3)), np.zeros(count))
    torque = [
        qd_a[j].scale(models.viscous[j, 0])
        + qdd[j].scale(models.armature[j, 0])
        + Ball(np.full(count, models.offset[j, 0]), np.zeros(count))
        for j in range(n)
    ]
    model, fast, fast_a = np.zeros((3, count, n))
    for i in range(n):
        place = spread.seen_from(i)
        w, u = _angular_velocities(place.axis, qd), _angular_velocities(place.axis, qd_a)
        fast[:, i], fast_a[:, i] = w[-1].largest, u[-1].largest
        own = list(zip(*(x[: i + 1] for x in rates), strict=True))
        moves = motion(place, w, u, own, spread.express_base_vector(-gravity, i), still)
        for j in range(i + 1):
            found, differ = spread.link_torque(coefficients(place, moves, j, i, still), i, models)
            torque[j], model[:, j] = torque[j] + found, model[:, j] + differ
    return torque, model, (fast, fast_a)


def _angular_velocities(axes: Sequence[Ball], rates: Sequence[Ball]) -> list[Ball]:
    """Angular velocities of the bodies up to the one that has the last of the axes."""
    found: list[Ball] = []
    for axis, rate in zip(axes, rates, strict=False):
        own = axis.times(rate)
        found.append(found[-1] + own if found else own)
    return found


def mass_matrix(spread: Spread, models: Models, count: int) -> tuple[Array, Array, Array]:
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
                torque, more = spread.link_torque(coefficients(place, moves, j, i, still), i, models)
                together[j][k], off[:, j, k] = together[j][k] + torque, off[:, j, k] + more
    nominal: Array = np.array([[x.largest for x in row] for row in together]).transpose(2, 0, 1)
    nominal, off = (np.maximum(x, x.swapaxes(1, 2)) for x in (nominal, off))
    heavy = np.diagonal(nominal + off, axis1=1, axis2=2)
    # M - I_a is positive semidefinite, of the nominal model and of the true one.
    size = np.minimum(nominal + off, np.sqrt(heavy[:, :, None] * heavy[:, None, :]))
    return size + np.diag(models.armature.sum(axis=1)), off + np.diag(models.armature[:, 1]), heavy
