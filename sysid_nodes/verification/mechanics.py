# SPDX-License-Identifier: Apache-2.0
"""Newton and Euler, joint by joint and body by body, for either arithmetic of spread.py.

The torque of joint j for body i is linear in the body's mass m, first moment c and inertia I. With the joint's axis z,
y = z x (from joint to body), the body's w and u from qd and qd_a, its angular acceleration alpha and that of its origin
s, less gravity,

    tau = m y.s + c.(y x alpha + ((y x w) x u + (y x u) x w) / 2 + s x z)
          + z.I alpha + ((z x w).I u + (z x u).I w) / 2.

C(q, qd) qd_a with the Christoffel symbols is symmetric in qd and qd_a, so it is the velocity term of Newton and Euler,
a quadratic form in the velocities, polarised: each product w x (w x d) becomes half of w x (u x d) + u x (w x d).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from sysid_nodes.verification.spread import S


@dataclass(frozen=True)
class Geometry(Generic[S]):
    """Places of a chain of n joints.

    Attributes:
        axis: of each joint.
        step: from the joint before, or the base, to each joint.
    """

    axis: Sequence[S]
    step: Sequence[S]


@dataclass(frozen=True)
class Motion(Generic[S]):
    """Motion of each of the n bodies: w and u from qd and qd_a, their rate, and the acceleration of its origin.

    w and u are None where nothing moves.
    """

    w: Sequence[S] | None
    u: Sequence[S] | None
    alpha: Sequence[S]
    s: Sequence[S]


@dataclass(frozen=True)
class Coefficients(Generic[S]):
    """Of a torque: a number by mass, a vector by first moment, and a sum of a.I b by inertia."""

    mass: S
    first: S
    second: Sequence[tuple[S, S]]


def motion(
    place: Geometry[S],
    w: Sequence[S] | None,
    u: Sequence[S] | None,
    rates: Sequence[tuple[S, S, S]],
    base: S,
    still: S,
) -> Motion[S]:
    """Accelerations of all bodies.

    Args:
        w, u: of each body; None where nothing moves.
        rates: qd, qd_a and qdd_a of each joint.
        base: acceleration of the base less that of gravity.
        still: zero.
    """
    alphas: list[S] = []
    accelerations: list[S] = []
    alpha, s = still, base
    for j, (qd, qd_a, qdd_a) in enumerate(rates):
        z, step = place.axis[j], place.step[j]
        s, alpha = s + alpha.cross(step), alpha + z.times(qdd_a)
        if w is not None and u is not None and j:
            one, two = w[j - 1], u[j - 1]
            s = s + (one.cross(two.cross(step)) + two.cross(one.cross(step))).scale(0.5)
            alpha = alpha + (one.cross(z).times(qd_a) + two.cross(z).times(qd)).scale(0.5)
        alphas.append(alpha)
        accelerations.append(s)
    return Motion(w, u, alphas, accelerations)


def coefficients(place: Geometry[S], moves: Motion[S], j: int, i: int, still: S) -> Coefficients[S]:
    """Of the torque of joint j for body i, which it moves."""
    z, alpha, s, lever = place.axis[j], moves.alpha[i], moves.s[i], still
    for step in place.step[j + 1 : i + 1]:
        lever = lever + step
    y = z.cross(lever)
    first, second = y.cross(alpha) + s.cross(z), [(z, alpha)]
    if moves.w is not None and moves.u is not None:
        w, u = moves.w[i], moves.u[i]
        first = first + (y.cross(w).cross(u) + y.cross(u).cross(w)).scale(0.5)
        second += [(z.cross(w).scale(0.5), u), (z.cross(u).scale(0.5), w)]
    return Coefficients(y.dot(s), first, second)
