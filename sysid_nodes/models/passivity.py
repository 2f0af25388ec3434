# SPDX-License-Identifier: Apache-2.0
"""Passivity-based dynamics M(q) qdd_a + C(q, qd) qd_a + g(q): what a robust controller feeds forward.

C is the Coriolis matrix of the Christoffel symbols, the one of pinocchio's computeCoriolisMatrix: C(q, qd) qd is the
usual velocity term, Mdot - 2 C is skew-symmetric and C(q, x) y = C(q, y) x. With only the first two properties a tree
would have many C; the third picks one.

Per body, in body coordinates with motion vectors (linear, angular), let v = (vl, w) be the velocity, v_a = (ul, u) the
velocity the joints would give at rate qd_a, and a = sum_k J_k qdd_a,k + Jdot_k qd_a,k - gravity, Jdot_k = v_k x J_k.
The wrench on the body is

    f = I a + B(v) v_a,    B(v) v_a = 1/2 [v x* (I v_a) + v_a x* (I v) - I (v x v_a)]

(the factorisation of Echeandia and Wensing 2021, 1/2 [(v x*) I - I (v x) + (I v) xbar*]), and tau_k = J_k' f, summed
over the bodies that joint k moves. Written out for mass m, first moment c = mc and inertia tensor I about the joint
frame's origin, most terms cancel. With s = al + u x vl, al and vl the linear parts of a and v,

    force  = m s + alpha x c + u x (w x c)
    moment = c x s + I alpha + 1/2 [w x (I u) + u x (I w) - I (w x u)]

both LINEAR in (m, c, I), so f is an affine function of the body's parameters with known coefficients. s and alpha (the
angular part of a) are the rates of v_a's parts as seen from the base, and need no linear velocity. From the parent
(hatted, its axes) to a body at r with rotation R (parent <- body), joint axis z in the body's frame:

    revolute:   w = R' w^ + z qd          u = R' u^ + z qd_a       alpha = R' alpha^ + z qdd_a + (w x z) qd_a
                s = R' (s^ + alpha^ x r + u^ x (w^ x r))
    prismatic:  w = R' w^                 u = R' u^                alpha = R' alpha^
                s = R' (s^ + alpha^ x r + u^ x (w^ x r)) + z qdd_a + (w x z) qd_a + (u x z) qd

with r the place at the present q, and s^ = -gravity, the rest 0, at the base. For qd_a = qd this is the recursive
Newton-Euler algorithm.
"""

from __future__ import annotations

import numpy as np

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.kernel import reference
from sysid_nodes.kernel.tree import Array
from sysid_nodes.models.chain import Chain


def passive_regressor(chain: Chain, q: Array, qd: Array, qd_a: Array, qdd_a: Array) -> Array:
    """W with M(q) qdd_a + C(q, qd) qd_a + g(q) = W theta: (N, n, 10 n) for arrays (N, n).

    theta as in regressors.py; armature and friction are not in here. W is `standard_regressor` where qd_a = qd.

    Raises:
        SamplesError: an array is not (N, n).
    """
    q, qd, qd_a, qdd_a = chain.samples(q, qd, qd_a, qdd_a)
    tree, n, supports = chain.tree, chain.n, chain.supports()
    out = np.zeros((len(q), n, 10 * n))
    for start in range(0, len(q), reference.BLOCK):
        block = slice(start, start + reference.BLOCK)
        motion = reference.forward_kinematics(tree, q[block], qd[block])
        auxiliary, acceleration = np.empty((2, *motion.velocity.shape))
        for i, parent in enumerate(tree.parents):
            carried = acceleration[parent] if parent >= 0 else np.r_[-tree.gravity, np.zeros(3)][:, None]
            acceleration[i] = carried + motion.jacobian[i] * qdd_a[block, i] + motion.turn[i] * qd_a[block, i]
            auxiliary[i] = (auxiliary[parent] if parent >= 0 else 0.0) + motion.jacobian[i] * qd_a[block, i]
        for i in range(n):
            k = np.flatnonzero(supports[:, i])
            frame = (motion.rotation[i], motion.origin[i])
            v, v_a = reference.to_body(*frame, motion.velocity[i]), reference.to_body(*frame, auxiliary[i])
            local = reference.to_body(*frame, motion.jacobian[k])
            # J' (x x* h) = -(x x J)' h turns each term of B into an inertia form.
            shifted = reference.to_body(*frame, acceleration[i]) - 0.5 * reference.motion_cross(v, v_a)
            rows = reference.inertia_form(local, shifted)
            rows -= 0.5 * reference.inertia_form(reference.motion_cross(v[None], local), v_a)
            rows -= 0.5 * reference.inertia_form(reference.motion_cross(v_a[None], local), v)
            out[block, k, 10 * i : 10 * i + 10] = np.moveaxis(rows, -1, 0)
    return out


def passive_inverse_dynamics(chain: Chain, theta: Array, q: Array, qd: Array, qd_a: Array, qdd_a: Array) -> Array:
    """M(q) qdd_a + C(q, qd) qd_a + g(q), (N, n) [N m], by the recursion of this module's text.

    Args:
        theta: (10 n,) inertial parameters of the bodies in joint order, or (N, 10 n), one set a sample.
        q, qd, qd_a, qdd_a: (N, n) posture, velocity and the auxiliary velocity and acceleration.

    Raises:
        SamplesError: an array is not (N, n), or theta not ten parameters a body.
    """
    q, qd, qd_a, qdd_a = chain.samples(q, qd, qd_a, qdd_a)
    tree, n = chain.tree, chain.n
    theta = np.asarray(theta, dtype=np.float64)
    if theta.shape not in ((10 * n,), (len(q), 10 * n)):
        raise SamplesError(f"theta must have shape ({10 * n},) or ({len(q)}, {10 * n}), got {theta.shape}")
    rotation, place = _placements(chain, q)
    zero = np.zeros((len(q), 3))
    ground = (zero, zero, zero, np.broadcast_to(-tree.gravity, zero.shape))
    states: list[tuple[Array, ...]] = []
    forces, moments = np.empty((2, n, len(q), 3))
    for i, parent in enumerate(tree.parents):
        w, u, alpha, s = states[parent] if parent >= 0 else ground
        r, z = place[i], tree.axis[i]
        s = s + np.cross(alpha, r) + np.cross(u, np.cross(w, r))
        w, u, alpha, s = (np.einsum("tji,tj->ti", rotation[i], x) for x in (w, u, alpha, s))
        rate, rate_a, slope = (x[:, i, None] for x in (qd, qd_a, qdd_a))
        if tree.revolute[i]:
            w, u = w + z * rate, u + z * rate_a
            alpha = alpha + z * slope + np.cross(w, z) * rate_a
        else:
            s = s + z * slope + np.cross(w, z) * rate_a + np.cross(u, z) * rate
        states.append((w, u, alpha, s))
        forces[i], moments[i] = body_wrench(theta[..., 10 * i : 10 * i + 10], w, u, alpha, s)
    tau = np.empty_like(q)
    for i in reversed(range(n)):
        carried = moments[i] if tree.revolute[i] else forces[i]
        tau[:, i] = carried @ tree.axis[i]
        if (parent := tree.parents[i]) >= 0:
            force = np.einsum("tij,tj->ti", rotation[i], forces[i])
            forces[parent] += force
            moments[parent] += np.einsum("tij,tj->ti", rotation[i], moments[i]) + np.cross(place[i], force)
    return tau


def body_wrench(theta: Array, w: Array, u: Array, alpha: Array, s: Array) -> tuple[Array, Array]:
    """Force [N] and moment [N m] about the joint frame's origin, (N, 3) each: this module's two lines.

    Args:
        theta: (10,) or (N, 10) inertial parameters of the body.
        w, u, alpha, s: (N, 3) body coordinates: angular velocity, its auxiliary twin, and the rates of the auxiliary
            angular and linear velocity as seen from the base, gravity taken off the last.
    """
    m, c = theta[..., :1], theta[..., 1:4]
    tensor = theta[..., [4, 5, 7, 5, 6, 8, 7, 8, 9]].reshape(*theta.shape[:-1], 3, 3)

    def inertia(x: Array) -> Array:
        return np.asarray((tensor @ x[..., None])[..., 0])

    force = m * s + np.cross(alpha, c) + np.cross(u, np.cross(w, c))
    gyroscopic = np.cross(w, inertia(u)) + np.cross(u, inertia(w)) - inertia(np.cross(w, u))
    return force, np.cross(c, s) + inertia(alpha) + 0.5 * gyroscopic


def _placements(chain: Chain, q: Array) -> tuple[Array, Array]:
    """Axes (n, N, 3, 3) and origin (n, N, 3) of each joint's frame in its parent's."""
    tree = chain.tree
    rotation, place = np.empty((chain.n, len(q), 3, 3)), np.empty((chain.n, len(q), 3))
    for i in range(chain.n):
        fixed, axis = tree.rotation[i], tree.axis[i]
        rotation[i], place[i] = fixed, tree.translation[i]
        if tree.revolute[i]:
            skew = np.cross(np.eye(3), axis)
            angle = q[:, i, None, None]
            rotation[i] += fixed @ (np.sin(angle) * skew + (1.0 - np.cos(angle)) * (skew @ skew))
        else:
            place[i] += (fixed @ axis) * q[:, i, None]
    return rotation, place
