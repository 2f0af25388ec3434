"""Honest error radius of a window's momentum balance.

With exact signals each window [t0, t1] obeys, joint by joint, the momentum balance of Theorem 5 of the paper,

    p(t1) - p(t0) - int (C'qd - g) dt + int (F_c sign qd + F_v qd + I_a qdd + beta) dt - int tau dt = 0.

What we can evaluate uses samples with errors and a quadrature in between. Every difference is bounded here by
norms only: body i enters through nu_i = (mass, |first moment|, |inertia about its joint's origin|), kinematics through
reach[l, i] >= distance between joint l's axis and body i's origin, motion through the largest speed in the window.
Mean-value arguments then give radii that hold over the whole tube around the samples, not just to first order.

The products used below, for unit motion J_l of joint l, velocity v and body momentum I v, at the body's origin:
    |J_l|            <= (lambda_l, alpha_l)         linear, angular part
    |dv_i/dq_k|       = |v_k x J_k|                 (body coordinates, v_k the parent's velocity)
    |d2v_i/dq_k dq_l| = |(v_a x J_a) x J_b|         a = min(k, l), b = max(k, l)
    |d2U/dq_k dq_l|  <= g alpha_a (m lambda_b + |h| alpha_b), third derivatives alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.chain import Chain

Array = npt.NDArray[np.float64]

Pair = tuple[Array, Array]
"""Linear and angular magnitudes of a motion."""

POSITION, VELOCITY, SAMPLING = "position error", "velocity error", "acceleration between samples"
BODY_CAUSES = (POSITION, VELOCITY, SAMPLING)


@dataclass(frozen=True)
class Geometry:
    """Norm bounds of a chain's kinematics, valid in every configuration.

    Attributes:
        reach: (n, n) largest distance from joint l's origin to body i's origin, 0 where l does not support i.
        lam: (n, n) largest linear speed of body i's origin for unit speed of joint l.
        alpha: (n, n) 1 where revolute joint l turns body i, else 0.
        hessian: (n, n, n, 3) coefficients on nu_i of |d2U_i / dq_k dq_l| at [k, l, i].
        third: (n, n, n, n, 3) coefficients on nu_i of |d3U_i / dq_k dq_l dq_s| at [k, l, s, i].
        travel: (n,) largest |q| for which all this holds, inf for revolute joints [rad or m].
    """

    reach: Array
    lam: Array
    alpha: Array
    hessian: Array
    third: Array
    travel: Array


def geometry(chain: Chain, travel: Array | None = None) -> Geometry:
    """Norm bounds of a chain; ``travel`` (n,) is the largest |q| of prismatic joints [m].

    Raises:
        ValueError: a prismatic joint without travel.
    """
    n, tree = chain.n, chain.tree
    mask = chain.supports()
    revolute = tree.revolute
    if travel is None:
        travel = np.zeros(n)
        if not revolute.all():
            raise ValueError("prismatic joints need their travel")
    slide = np.where(revolute, 0.0, travel)
    step = np.linalg.norm(tree.translation, axis=1) + slide
    reach = np.zeros((n, n))
    for i in range(n):
        distance, joint = 0.0, i
        while joint >= 0:
            reach[joint, i] = distance + slide[joint]
            distance += float(step[joint])
            joint = int(tree.parents[joint])
    lam = np.where(revolute[:, None], reach, 1.0) * mask
    alpha = (mask & revolute[:, None]).astype(np.float64)
    # The part of gravity that can load joint l: |g x axis| for a joint on the base, else |g|.
    gravity = np.full(n, float(np.linalg.norm(tree.gravity)))
    for k in np.flatnonzero((tree.parents < 0) & revolute):
        axis = tree.rotation[k] @ tree.axis[k]
        gravity[k] = float(np.linalg.norm(np.cross(tree.gravity, axis))) + 1e-9
    hessian = np.zeros((n, n, n, 3))
    third = np.zeros((n, n, n, n, 3))
    for k, j in np.ndindex(n, n):
        a, b = min(k, j), max(k, j)
        hessian[k, j] = min(gravity[a], gravity[b]) * _lever(alpha[a], lam[b], alpha[b])
        for s in range(n):
            a, b, c = sorted((k, j, s))
            third[k, j, s] = min(gravity[a], gravity[b], gravity[c]) * _lever(alpha[a] * alpha[b], lam[c], alpha[c])
    hessian, third = hessian * mask[:, None, :, None], third * mask[:, None, None, :, None]
    return Geometry(reach, lam, alpha, hessian, third, np.where(revolute, np.inf, travel))


def _lever(turned: Array, lam: Array, alpha: Array) -> Array:
    """(n, 3) coefficients on (mass, |first moment|, |inertia|) of a gravity torque with lever lam."""
    return np.stack([turned * lam, turned * alpha, np.zeros_like(lam)], axis=-1)


@dataclass(frozen=True)
class Motion:
    """Largest magnitudes in each of W windows.

    Attributes:
        duration: (W,) [s].
        square: (W,) sum of squared sample intervals [s2].
        cube: (W,) sum of cubed sample intervals [s3].
        speed: (W, n) largest true |qd| anywhere in the window [rad/s].
        dq: (W, n) position error at a sample [rad].
        dv: (W, n) velocity error at a sample [rad/s].
        acceleration: (n,) largest |qdd| [rad/s2].
    """

    duration: Array
    square: Array
    cube: Array
    speed: Array
    dq: Array
    dv: Array
    acceleration: Array


def _cross(a: Pair, b: Pair) -> Pair:
    """Magnitudes of the motion cross product a x b."""
    return a[0] * b[1] + a[1] * b[0], a[1] * b[1]


def _paired(motion: Pair, velocity: Pair) -> Array:
    """Coefficients of |motion' I velocity| on (mass, |first moment|, |inertia|), stacked on a new last axis."""
    lin, ang = motion
    v, w = velocity
    return np.stack([lin * v, lin * w + ang * v, ang * w], axis=-1)


def body_coefficients(geo: Geometry, motion: Motion) -> Array:
    """How each body's norms nu enter the radius of each row.

    Returns:
        (3, W, n, n, 3): cause (position, velocity, sampling), window, row (joint k), body i, norm.
    """
    n = geo.lam.shape[0]
    speed = motion.speed
    jlin, jang = geo.lam, geo.alpha  # (joint, body)

    def velocity(rate: Array) -> Pair:  # (W, n) -> body velocity magnitudes (W, body)
        return rate @ jlin, rate @ jang

    def first(rate: Array) -> Pair:  # v_parent(k) x J_k -> (W, k, body)
        lin = np.cumsum(rate[:, :, None] * jlin, axis=1) - rate[:, :, None] * jlin
        ang = np.cumsum(rate[:, :, None] * jang, axis=1) - rate[:, :, None] * jang
        return _cross((lin, ang), (jlin[None], jang[None]))

    def spread(pair: Pair) -> Pair:  # (W, body) -> (W, 1, body)
        return pair[0][:, None], pair[1][:, None]

    body = velocity(speed)
    d1 = first(speed)
    unit = (jlin[None], jang[None])
    rows = motion.speed.shape[0]
    shape = (rows, n, n, 3)
    dv = motion.dv
    acc = np.broadcast_to(motion.acceleration, (rows, n))

    # Momentum p_k = J_k' I v at the two ends; integrand f_k = (v_k x J_k)' I v in between.
    momentum_dv = 2.0 * _paired(unit, spread(velocity(dv)))
    both = spread(body)
    f_dv = _paired(first(dv), both) + _paired(d1, spread(velocity(dv)))
    f_acc = _paired(first(acc), both) + _paired(d1, spread(velocity(acc)))

    momentum_dq = np.zeros(shape)
    f_dq = np.zeros(shape)
    f_speed = np.zeros(shape)
    order = np.arange(n)
    for joint in range(n):  # derivative with respect to q_joint
        dq = motion.dq[:, joint, None, None, None]
        j_unit = (jlin[None, joint : joint + 1], jang[None, joint : joint + 1])
        d1_joint = (d1[0][:, joint : joint + 1], d1[1][:, joint : joint + 1])
        later = (order < joint)[None, :, None]
        cross_units = _cross(unit, j_unit)
        turned = (cross_units[0] * later, cross_units[1] * later)
        momentum_dq += 2.0 * dq * (_paired(turned, both) + _paired(unit, d1_joint))
        low, high = _cross(d1_joint, unit), _cross(d1, j_unit)
        below = (order >= joint)[None, :, None]
        second = (np.where(below, low[0], high[0]), np.where(below, low[1], high[1]))
        supported = (jlin[joint] + jang[joint] > 0.0)[None, None, :, None]
        slope = (_paired(second, both) + _paired(d1, d1_joint)) * supported
        f_dq += slope * dq
        f_speed += slope * speed[:, joint, None, None, None]

    g_dq = np.einsum("wl,klic->wkic", motion.dq, geo.hessian)
    g_curvature = np.einsum("l,klic->kic", motion.acceleration, geo.hessian)[None] + np.einsum(
        "wl,ws,klsic->wkic", speed, speed, geo.third, optimize=True
    )

    span = motion.duration[:, None, None, None]
    lipschitz = motion.square[:, None, None, None] / 4.0
    curvature = motion.cube[:, None, None, None] / 12.0
    return np.stack(
        [
            momentum_dq + span * (f_dq + g_dq),
            momentum_dv + span * f_dv,
            lipschitz * (f_speed + f_acc) + curvature * g_curvature,
        ]
    )
