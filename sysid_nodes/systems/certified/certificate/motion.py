# SPDX-License-Identifier: Apache-2.0
"""All states a tracked trajectory can be in, over time intervals: one affine form a joint, one symbol an error source.

Symbol 0 is time within the interval, symbols 1..n the position errors e_j, n+1..2n the reference errors r_j; the errors
fill ellipsoids, so that a form's terms of e, and those of r, count by their Euclidean norm (`largest`). With
de/dt = r - K_r e everything the dynamics need is linear in them:

    q = q_d - e,   qd_a = qd_d + K_r e,   qd = qd_a - r.

What errors add to qdd_a = qdd_d + K_r (r - K_r e) is accounted for apart (tracking.py): `qdd` is qdd_d alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.intervals import Affine, TimeEnclosure, polynomial_enclosure
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.robots.robot import Array
from sysid_nodes.systems.certified.certificate.closed_loop import INFLATE, Tube


@dataclass(frozen=True)
class Desired:
    """A trajectory over time intervals: position, velocity and acceleration (T, n) as enclosures in time.

    Attributes:
        edges: (T + 1,) of the intervals [s]; the last is infinite.
    """

    edges: Array
    position: TimeEnclosure
    velocity: TimeEnclosure
    acceleration: TimeEnclosure

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.position.centre.shape[1])


def desired_motion(plan: Bezier, edges: Array) -> Desired:
    """Enclosure of a plan between consecutive edges, 0 <= edges <= t_f, and at rest from t_f on as a last interval."""
    parts = polynomial_enclosure(plan.coefficients(), edges)
    # The coefficients, and the resting place, are off by a few roundings of sums of this size.
    moved = np.abs(plan.k) + plan.duration * np.abs(plan.qd0) + plan.duration**2 * np.abs(plan.qdd0)
    rounded = 1e-14 * (np.abs(plan.q0) + 40.0 * moved)
    zero = np.zeros(plan.n)
    rest = ((plan.goal, rounded), (zero, zero), (zero, zero))
    position, velocity, acceleration = (
        TimeEnclosure(
            np.vstack([part.centre, value]),
            np.vstack([part.slope_term, zero]),
            np.vstack([part.remainder + rounded * (5.0 / plan.duration) ** order, spread]),
        )
        for order, (part, (value, spread)) in enumerate(zip(parts, rest, strict=True))
    )
    return Desired(np.append(edges, np.inf), position, velocity, acceleration)


def jerk_bound(plan: Bezier, edges: Array) -> Array:
    """(T + 1, n) bounds on |jerk| over the intervals of `desired_motion` [rad/s3]."""
    steps = np.arange(1.0, 6.0)[:, None] * plan.coefficients()[1:]
    third = polynomial_enclosure(steps, edges)[2]
    # The factor covers the rounding of the derivative's coefficients.
    size = (np.abs(third.centre) + np.abs(third.slope_term) + third.remainder) * (1.0 + 1e-9)
    return np.vstack([size, np.zeros(plan.n)])


@dataclass(frozen=True)
class MotionEnclosure:
    """Affine (T, n) enclosures of everything the dynamics see."""

    q: Affine
    qd: Affine
    qd_a: Affine
    qdd: Affine


def motion(desired: Desired, tube: Tube, position_gain: float) -> MotionEnclosure:
    """The states within a tube around a trajectory.

    Args:
        desired: the trajectory.
        tube: (T, n) half-axes of the ellipsoids of e and r.
        position_gain: K_r [1/s].
    """
    symbols = 2 * desired.n + 1
    error = _errors(tube.position, 1, symbols)
    reference = _errors(tube.reference, 1 + desired.n, symbols)
    pulled = error * position_gain
    qd_a = _in_time(desired.velocity, symbols) + pulled
    return MotionEnclosure(
        q=_in_time(desired.position, symbols) - error,
        qd=qd_a - reference,
        qd_a=qd_a,
        qdd=_in_time(desired.acceleration, symbols),
    )


def tracked_motion(desired: Desired, position: Array, velocity: Array) -> MotionEnclosure:
    """The states of a robot whose position and velocity errors fill boxes, whatever their relation.

    Args:
        desired: the trajectory.
        position, velocity: (n,) half-widths [rad, rad/s]; the second takes the symbols of r.
    """
    symbols, shape = 2 * desired.n + 1, desired.position.centre.shape
    qd = _in_time(desired.velocity, symbols) - _errors(np.broadcast_to(velocity, shape), 1 + desired.n, symbols)
    return MotionEnclosure(
        q=_in_time(desired.position, symbols) - _errors(np.broadcast_to(position, shape), 1, symbols),
        qd=qd,
        qd_a=qd,
        qdd=_in_time(desired.acceleration, symbols),
    )


def _in_time(enclosure: TimeEnclosure, symbols: int) -> Affine:
    terms = np.zeros((symbols, *enclosure.centre.shape))
    terms[0] = enclosure.slope_term
    return Affine(enclosure.centre, terms, enclosure.remainder)


def _errors(radius: Array, first: int, symbols: int) -> Affine:
    """(T, n) independent symmetric errors; joint j has symbol first + j."""
    terms = np.zeros((symbols, *radius.shape))
    for j in range(radius.shape[1]):
        terms[first + j, :, j] = radius[:, j]
    return Affine(np.zeros(radius.shape), terms)


def largest(form: Affine, *, boxed: bool = False) -> Array:
    """Upper bounds of |value| of a form over the symbols of `motion`, errors anywhere in ellipsoids or boxes."""
    return (np.abs(form.centre) + deviation(form, boxed=boxed)) * INFLATE


def deviation(form: Affine, *, boxed: bool = False, swept: bool = False) -> Array:
    """Upper bounds of |value - centre|, as for `largest_sum`."""
    return np.asarray((largest_sum(form.terms, boxed=boxed, swept=swept) + form.remainder) * INFLATE)


def largest_sum(terms: Array, *, boxed: bool, swept: bool = False) -> Array:
    """The largest sum of a form's symbols, from its terms (symbols, ...): |time| and the norms of both kinds of errors.

    Args:
        terms: of the form.
        boxed: errors fill boxes, each joint's whatever the others' are, and the norm is that of the sum.
        swept: the second kind does.
    """
    if boxed:
        return np.asarray(np.abs(terms).sum(axis=0))
    n = (len(terms) - 1) // 2
    time, error, reference = terms[0], terms[1 : n + 1], terms[n + 1 :]
    second = np.abs(reference).sum(axis=0) if swept else np.sqrt((reference**2).sum(axis=0))
    return np.asarray(np.abs(time) + np.sqrt((error**2).sum(axis=0)) + second)
