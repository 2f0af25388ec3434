# SPDX-License-Identifier: Apache-2.0
"""Honest error radius of a window's momentum balance.

With exact signals each window [t0, t1] obeys, joint by joint, the momentum balance of Theorem 5 of the paper,

    p(t1) - p(t0) - int (C'qd - g) dt + int (F_c sign qd + F_v qd + I_a qdd + beta) dt - int tau dt = 0.

What we can evaluate uses samples with errors and a quadrature in between. Every difference is bounded here by
norms only: body i enters through nu_i = (mass, |first moment|, |inertia about its joint's origin|), kinematics through
levers lam[l, i] >= |axis_l x (o_i - o_l)| that hold throughout the window, motion through the largest speeds in it.
Mean-value arguments then give radii that hold over the whole tube around the samples, not just to first order.

All motions of body i are taken at its joint's origin, in coordinates that move with it. With J_l the unit motion of
joint l, v the body's and v_k link k's velocity, and x the motion cross product (k' is the parent of k):

    p_k = J_k' I v,  f_k = w_k' I v with w_k = dv/dq_k = v_k' x J_k,  G_k = dU/dq_k
    dJ_k/dq_l = J_k x J_l for l beyond k, else 0         dJ_k/dt = -(v - v_k) x J_k
    d2v/dq_k dq_l = (v_a' x J_a) x J_b,  a = min(k, l), b = max(k, l)
    |d2U/dq_k dq_l| <= |g x axis_a| (m lam_b + |h|)

The trapezoidal rule is off by at most dt^2 / 4 times the largest slope of its integrand, and by dt^3 / 12 times the
largest curvature where there is one (P. J. Davis, P. Rabinowitz, Methods of Numerical Integration, 1984, sec. 2.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.systems.interval.reach import Levers

Array = npt.NDArray[np.float64]

Pair = tuple[Array, Array]
"""Linear and angular magnitudes of a motion, (W, joint, body) or (W, 1, body)."""

POSITION, VELOCITY, SAMPLING = "position error", "velocity error", "acceleration between samples"
BODY_CAUSES = (POSITION, VELOCITY, SAMPLING)


@dataclass(frozen=True)
class MotionBounds:
    """Largest magnitudes in each of W windows.

    Attributes:
        duration: (W,) [s].
        rough: (W,) sum of dt^2 over the sample intervals in which acceleration may jump [s2].
        smooth: (W,) sum of dt^3 over the others [s3].
        cube: (W,) sum of dt^3 over all [s3].
        speed: (W, n) largest true |qd| anywhere in the window [rad/s].
        dq: (W, n) position error at a sample [rad].
        dv: (W, n) velocity error at a sample [rad/s].
        acceleration: (n,) largest |qdd| [rad/s2].
        jerk: (n,) largest |qddd| within the smooth intervals [rad/s3].
    """

    duration: Array
    rough: Array
    smooth: Array
    cube: Array
    speed: Array
    dq: Array
    dv: Array
    acceleration: Array
    jerk: Array


def _cross(a: Pair, b: Pair) -> Pair:
    """Magnitudes of the motion cross product a x b."""
    return a[0] * b[1] + a[1] * b[0], a[1] * b[1]


def _sum(*pairs: Pair) -> Pair:
    return sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)  # type: ignore[return-value]


def _times(pair: Pair, rate: Array) -> Pair:
    """Unit motions (W, joint, body) at rates (W, joint)."""
    return pair[0] * rate[..., None], pair[1] * rate[..., None]


def _sum_before(pair: Pair) -> Pair:
    """Sum over the joints before each joint."""
    return np.cumsum(pair[0], axis=-2) - pair[0], np.cumsum(pair[1], axis=-2) - pair[1]


def _sum_beyond(pair: Pair) -> Pair:
    """Sum over the joints beyond each joint."""
    total = _sum_all(pair)
    return total[0] - np.cumsum(pair[0], axis=-2), total[1] - np.cumsum(pair[1], axis=-2)


def _sum_all(pair: Pair) -> Pair:
    """Sum over all joints: (W, 1, body)."""
    return pair[0].sum(axis=-2, keepdims=True), pair[1].sum(axis=-2, keepdims=True)


def _pair(motion: Pair, velocity: Pair) -> Array:
    """Coefficients of |motion' I velocity| on (mass, |first moment|, |inertia|), stacked on a new last axis."""
    lin, ang = motion
    v, w = velocity
    return np.stack([lin * v, lin * w + ang * v, ang * w], axis=-1)


def unit_motions(levers: Levers) -> Pair:
    """Magnitudes (W, n, n) of each joint's unit motion at each body."""
    return levers.lam, np.broadcast_to(levers.alpha, levers.lam.shape)


def body_coefficients(levers: Levers, motion: MotionBounds) -> Array:
    """How each body's norms nu enter the radius of each row.

    Returns:
        (2, 3, W, n, n, 3): at both edges or between them, cause (position, velocity, sampling), window, row (joint k),
        body i, norm.
    """
    unit = unit_motions(levers)
    speed, dv = motion.speed, motion.dv
    acceleration = np.broadcast_to(motion.acceleration, speed.shape)
    span = motion.duration[:, None, None, None]

    body = _sum_all(_times(unit, speed))
    turning = _cross(_sum_before(_times(unit, speed)), unit)  # w_k

    # Velocity error: p is linear and f quadratic in the velocities.
    error = _sum_all(_times(unit, dv))
    momentum_dv = 2.0 * _pair(unit, error)
    f_dv = _pair(_cross(_sum_before(_times(unit, dv)), unit), body) + _pair(turning, error)

    at_edges, within = _position(levers, motion, unit, body, turning)
    slope, curvature = _slopes(unit, speed, acceleration, np.broadcast_to(motion.jerk, speed.shape))
    bend = np.einsum("l,wklic->wkic", motion.acceleration, levers.hessian)
    bend += levers.third_along(speed, speed)
    sampling = (
        motion.rough[:, None, None, None] / 4.0 * slope
        + motion.smooth[:, None, None, None] / 12.0 * curvature
        + motion.cube[:, None, None, None] / 12.0 * bend
    )
    return np.stack([[at_edges, momentum_dv, np.zeros_like(sampling)], [within, span * f_dv, sampling]])


def _position(levers: Levers, motion: MotionBounds, unit: Pair, body: Pair, turning: Pair) -> tuple[Array, Array]:
    """Effect of the position errors: of both ends on the momentum, of every sample on the integrand."""
    n = len(levers.alpha)
    order = np.arange(n)
    at_edges, within = np.zeros((2, *levers.lam.shape, 3))
    for joint in range(n):  # derivative with respect to q_joint
        pick = slice(joint, joint + 1)
        own, own_turning = (unit[0][:, pick], unit[1][:, pick]), (turning[0][:, pick], turning[1][:, pick])
        nearer = (order < joint)[None, :, None]
        moved = _cross(unit, own)
        momentum = _pair((moved[0] * nearer, moved[1] * nearer), body) + _pair(unit, own_turning)
        farther = (order >= joint)[None, :, None]
        low, high = _cross(own_turning, unit), _cross(turning, own)
        second = (np.where(farther, low[0], high[0]), np.where(farther, low[1], high[1]))
        integrand = _pair(second, body) + _pair(turning, own_turning) + levers.hessian[:, :, joint]
        error = motion.dq[:, joint, None, None, None]
        at_edges += error * 2.0 * momentum
        within += error * motion.duration[:, None, None, None] * integrand
    return at_edges, within


def _slopes(unit: Pair, speed: Array, acceleration: Array, jerk: Array) -> tuple[Array, Array]:
    """Bounds of |df/dt| and |d2f/dt2| for f_k = w_k' I v."""
    expansion = _expand(unit, (speed, acceleration), (speed, acceleration, jerk))
    return _rate_derivatives(*expansion)


def momentum_curvature(unit: Pair, speed: Array, dq: Array, dv: Array) -> Array:
    """Bound (W, n, n, 3) of the second derivative of p_k at speeds (W, n) along a line (dq, dv), (W, n) each.

    Lines may have more axes before these: as many bounds. They are quadratic forms of (dq, dv) without negative
    coefficients, so their polar forms bound mixed derivatives.
    """
    (j0, j1, j2), (v0, v1, v2) = _along(unit, speed, dq, dv)
    return _pair(j2, _sum_all(v0)) + 2.0 * _pair(j1, _sum_all(v1)) + _pair(j0, _sum_all(v2))


def rate_curvature(unit: Pair, speed: Array, dq: Array, dv: Array) -> Array:
    """The same of f_k."""
    return _rate_derivatives(*_along(unit, speed, dq, dv))[1]


Triple = tuple[Pair, Pair, Pair]
"""A quantity and its first two derivatives along a path."""


def _along(unit: Pair, speed: Array, dq: Array, dv: Array) -> tuple[Triple, Triple]:
    still = np.zeros_like(dv)
    return _expand(unit, (dq, still), (speed, dv, still))


def _expand(unit: Pair, path: tuple[Array, Array], rate: tuple[Array, Array, Array]) -> tuple[Triple, Triple]:
    """J_l and J_l qd_l with their derivatives along a path, from q' and q'' and from qd, qd' and qd'', (W, n) each."""
    j0 = unit
    j1 = _cross(_sum_beyond(_times(j0, path[0])), j0)
    relative = _sum_beyond(_sum(_times(j1, path[0]), _times(j0, path[1])))
    j2 = _sum(_cross(relative, j0), _cross(_sum_beyond(_times(j0, path[0])), j1))
    u0 = _times(j0, rate[0])
    u1 = _sum(_times(j1, rate[0]), _times(j0, rate[1]))
    u2 = _sum(_times(j2, rate[0]), _times(j1, 2.0 * rate[1]), _times(j0, rate[2]))
    return (j0, j1, j2), (u0, u1, u2)


def _rate_derivatives(j: Triple, u: Triple) -> tuple[Array, Array]:
    """First and second derivative of f_k = w_k' I v from those of every factor."""
    v0, v1, v2 = (_sum_all(each) for each in u)
    b0, b1, b2 = (_sum_before(each) for each in u)
    w0 = _cross(b0, j[0])
    w1 = _sum(_cross(b1, j[0]), _cross(b0, j[1]))
    w2 = _sum(_cross(b2, j[0]), _cross(b1, j[1]), _cross(b1, j[1]), _cross(b0, j[2]))
    return _pair(w1, v0) + _pair(w0, v1), _pair(w2, v0) + 2.0 * _pair(w1, v1) + _pair(w0, v2)
