# SPDX-License-Identifier: Apache-2.0
"""Difference of the fed-forward torque between the true state now and the measured one it was computed from.

The controller reads the state with errors and its torque acts for up to h seconds. Both move the arguments of the
nominal torque by a little; what that changes is bounded here in norms, body by body, along the recursion of
models/passivity.py: |x y - x' y'| <= |dx| |y| + |x'| |dy| with |x'| <= |x| + |dx|, and |R(q + dq) - R(q)| <= |dq|.
Turning joints only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sysid_nodes.kernel.tree import Tree
from sysid_nodes.robots.robot import Array
from sysid_nodes.systems.certified.certificate.closed_loop import INFLATE

TENSOR = [4, 5, 7, 5, 6, 8, 7, 8, 9]
"""The nine entries of the inertia tensor among the ten parameters."""


_INSTANT = 1e-6
"""Time that a rate is taken over [s]; what a change adds to itself meanwhile only makes the bound larger."""


class Magnitudes(NamedTuple):
    """(T, n) bounds on the norms of each body's w, u, alpha, s, and on |qd_a| of each joint."""

    w: Array
    u: Array
    alpha: Array
    s: Array
    qd_a: Array


class Change(NamedTuple):
    """(T, n) bounds on how far position, velocity and reference velocity of each joint are off."""

    q: Array
    qd: Array
    qd_a: Array


def torque_change(tree: Tree, theta: Array, size: Magnitudes, change: Change) -> Array:
    """(T, n) bound on the change of M0 qdd_a + C0 qd_a + g0, qdd_a itself unchanged [N m].

    Args:
        tree: the robot; all joints turn.
        theta: (n, 10) nominal parameters.
        size: norms for the true state and any of the qdd_a meant.
        change: differences of the arguments.
    """
    n = len(tree.parents)
    mass, first, second = norms_of(theta)
    length = np.linalg.norm(tree.translation, axis=1)
    count = len(size.w)
    dw, du, da, ds = np.zeros((4, n, count))
    force, moment, d_force, d_moment = np.zeros((4, n, count))
    for i, parent in enumerate(tree.parents):
        turn, dqd, dqd_a = (x[:, i] for x in change)
        w, u, a, s = size.w[:, i], size.u[:, i], size.alpha[:, i], size.s[:, i]
        if parent >= 0:
            wp, up, ap, sp = size.w[:, parent], size.u[:, parent], size.alpha[:, parent], size.s[:, parent]
            twist = du[parent] * wp + (up + du[parent]) * dw[parent]
            ds[i] = ds[parent] + (da[parent] + twist) * length[i] + turn * (sp + (ap + up * wp) * length[i])
            dw[i], du[i] = dw[parent] + turn * wp, du[parent] + turn * up
            da[i] = da[parent] + turn * ap
        else:
            ds[i] = turn * np.linalg.norm(tree.gravity)
        # (w x z) qd_a, in which the joint's own part of w is in line with z.
        da[i] += dw[i] * (size.qd_a[:, i] + dqd_a) + w * dqd_a
        dw[i] += dqd
        du[i] += dqd_a
        twist = du[i] * w + (u + du[i]) * dw[i]
        force[i] = mass[i] * s + first[i] * (a + u * w)
        d_force[i] = mass[i] * ds[i] + first[i] * (da[i] + twist)
        moment[i] = first[i] * s + second[i] * (a + 1.5 * u * w)
        d_moment[i] = first[i] * ds[i] + second[i] * (da[i] + 1.5 * twist)
    for i in reversed(range(n)):
        if (parent := tree.parents[i]) >= 0:
            turn = change.q[:, i]
            carried = d_force[i] + turn * force[i]
            d_force[parent] += carried
            d_moment[parent] += d_moment[i] + turn * moment[i] + length[i] * carried
            force[parent] += force[i]
            moment[parent] += moment[i] + length[i] * force[i]
    return np.asarray(d_moment.T * INFLATE)


def torque_rate(tree: Tree, theta: Array, size: Magnitudes, rate: Change) -> Array:
    """(T, n) bound on how fast M qdd_a + C qd_a + g of parameters theta changes, qdd_a itself constant [N m/s].

    Args:
        tree, theta, size: as for `torque_change`, which grows faster than in proportion: its smallest changes count.
        rate: bounds on how fast the arguments change.
    """
    return torque_change(tree, theta, size, Change(*(_INSTANT * x for x in rate))) / _INSTANT


def coriolis(tree: Tree, theta: Array, w: Array, rate: Array) -> Array:
    """(T, n) bound on |C(q, qd) r| for sum (r_j / rate_j)^2 <= 1 [N m].

    Args:
        tree: the robot; all joints turn.
        theta: (n, 10) magnitudes that cover the true parameters.
        w: (T, n) bounds on the bodies' angular velocities [rad/s].
        rate: (T, n) half-axes of the ellipsoid of r [rad/s]: sums over joints are root sums of squares.
    """
    n, count = len(tree.parents), len(rate)
    mass, first, second = norms_of(theta)
    length = np.linalg.norm(tree.translation, axis=1)
    u, a, s, force, moment = np.zeros((5, n, count))
    for i, parent in enumerate(tree.parents):
        if parent >= 0:
            u[i], a[i] = u[parent], a[parent]
            s[i] = s[parent] + (a[parent] + u[parent] * w[:, parent]) * length[i]
        u[i] = np.hypot(u[i], rate[:, i])
        a[i] = np.hypot(a[i], w[:, i] * rate[:, i])
        force[i] = mass[i] * s[i] + first[i] * (a[i] + u[i] * w[:, i])
        moment[i] = first[i] * s[i] + second[i] * (a[i] + 1.5 * u[i] * w[:, i])
    for i in reversed(range(n)):
        if (parent := tree.parents[i]) >= 0:
            force[parent] += force[i]
            moment[parent] += moment[i] + length[i] * force[i]
    return np.asarray(moment.T * INFLATE)


def inertia_drift(tree: Tree, theta: Array, rate: Array, qd: Array) -> Array:
    """(T, n) bound on |dM/dt x| for sum (x_j / rate_j)^2 <= 1 and joints no faster than qd [N m/s].

    Args:
        tree: the robot; all joints turn.
        theta: (n, 10) magnitudes that cover the true parameters.
        rate: (T, n) half-axes [rad/s2].
        qd: (n,) bound on the joints' speeds [rad/s].
    """
    none, length = np.zeros_like(rate), np.linalg.norm(tree.translation, axis=1)
    alpha, s = rate.copy(), np.zeros_like(rate)
    for i, parent in enumerate(tree.parents):
        if parent >= 0:
            alpha[:, i] = np.hypot(alpha[:, i], alpha[:, parent])
            s[:, i] = s[:, parent] + alpha[:, parent] * length[i]
    weightless = tree._replace(gravity=np.zeros(3))
    size, change = (
        Magnitudes(none, none, alpha * INFLATE, s * INFLATE, none),
        Change(np.broadcast_to(qd, rate.shape), none, none),
    )
    return torque_change(weightless, theta, size, change)


def norms_of(theta: Array) -> tuple[Array, Array, Array]:
    """(n,) masses, norms of the first moments and of the inertia tensors (Frobenius, no less than the 2-norm)."""
    return np.abs(theta[:, 0]), np.linalg.norm(theta[:, 1:4], axis=1), np.linalg.norm(theta[:, TENSOR], axis=1)
