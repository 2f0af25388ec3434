"""How much the fed-forward torque differs between the true state now and the measured one it was computed from.

The controller reads the state with errors and its torque acts for up to h seconds. Both move the arguments of the nominal
torque by a little; what that changes is bounded here in norms, body by body, along the recursion of models/passivity.py:
|x y - x' y'| <= |dx| |y| + |x'| |dy| with |x'| <= |x| + |dx|, and |R(q + dq) - R(q)| <= |dq|.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sysid_nodes.kernel.tree import Tree
from sysid_nodes.planners.tracking import INFLATE
from sysid_nodes.robots.robot import Array


class Magnitudes(NamedTuple):
    """(T, n) bounds on the norms of each body's w, u, alpha, s, and on |qd|, |qd_a| of each joint."""

    w: Array
    u: Array
    alpha: Array
    s: Array
    qd: Array
    qd_a: Array


class Change(NamedTuple):
    """(T, n) bounds on how far position, velocity and reference velocity of each joint are off."""

    q: Array
    qd: Array
    qd_a: Array


def torque_change(tree: Tree, theta: Array, size: Magnitudes, change: Change) -> Array:
    """(T, n) bound on the change of M0 qdd_a + C0 qd_a + g0, qdd_a itself unchanged [N m].

    Args:
        tree: the robot.
        theta: (n, 10) nominal parameters.
        size: norms for the true state.
        change: differences of the arguments.
    """
    n = len(tree.parents)
    mass, first = np.abs(theta[:, 0]), np.linalg.norm(theta[:, 1:4], axis=1)
    second = np.linalg.norm(theta[:, [4, 5, 7, 5, 6, 8, 7, 8, 9]], axis=1)  # Frobenius, no less than the 2-norm
    length = np.linalg.norm(tree.translation, axis=1)
    count = len(size.w)
    dw, du, da, ds = np.zeros((4, n, count))
    force, moment, d_force, d_moment = np.zeros((4, n, count))
    reach = np.empty((n, count))
    for i, parent in enumerate(tree.parents):
        dq, dqd, dqd_a = (x[:, i] for x in change)
        w, u, a, s = size.w[:, i], size.u[:, i], size.alpha[:, i], size.s[:, i]
        turns = dq if tree.revolute[i] else np.zeros(count)
        slides = np.zeros(count) if tree.revolute[i] else dq
        reach[i] = length[i] + slides
        if parent >= 0:
            wp, up, ap, sp = size.w[:, parent], size.u[:, parent], size.alpha[:, parent], size.s[:, parent]
            dwp, dup, dap, dsp = dw[parent], du[parent], da[parent], ds[parent]
            there = sp + (ap + up * wp) * reach[i]
            dw[i], du[i] = dwp + turns * wp, dup + turns * up
            da[i] = dap + turns * ap
            twist = dup * wp + (up + dup) * dwp
            ds[i] = dsp + (dap + twist) * reach[i] + (ap + up * wp) * slides + turns * there
        else:
            ds[i] = turns * np.linalg.norm(tree.gravity)
        rate, rate_a = size.qd[:, i] + dqd, size.qd_a[:, i] + dqd_a
        if tree.revolute[i]:
            da[i] += dw[i] * rate_a + (w + size.qd[:, i]) * dqd_a
            dw[i] += dqd
            du[i] += dqd_a
        else:
            ds[i] += dw[i] * rate_a + w * dqd_a + du[i] * rate + u * dqd
        m, c, tensor = mass[i], first[i], second[i]
        twist = du[i] * w + (u + du[i]) * dw[i]
        force[i] = m * s + c * (a + u * w)
        d_force[i] = m * ds[i] + c * (da[i] + twist)
        moment[i] = c * s + tensor * (a + 1.5 * u * w)
        d_moment[i] = c * ds[i] + tensor * (da[i] + 1.5 * twist)
    out = np.empty((count, n))
    for i in reversed(range(n)):
        parent = tree.parents[i]
        out[:, i] = d_moment[i] if tree.revolute[i] else d_force[i]
        if parent < 0:
            continue
        dq = change.q[:, i]
        turns = dq if tree.revolute[i] else np.zeros(count)
        slides = np.zeros(count) if tree.revolute[i] else dq
        carried = d_force[i] + turns * force[i]
        d_force[parent] += carried
        d_moment[parent] += d_moment[i] + turns * moment[i] + reach[i] * carried + slides * force[i]
        force[parent] += force[i]
        moment[parent] += moment[i] + reach[i] * force[i]
    return np.asarray(out * INFLATE)


def coriolis(tree: Tree, theta: Array, size: Magnitudes, rate: Array) -> Array:
    """(T, n) bound on |C(q, qd) r| for |r| <= rate (T, n) [N m].

    Args:
        tree: the robot.
        theta: (n, 10) magnitudes that cover the true parameters.
        size: norms of the bodies' velocities, of which w and qd are used.
        rate: (T, n) bound on |r| [rad/s].
    """
    n, count = len(tree.parents), len(rate)
    mass, first = np.abs(theta[:, 0]), np.linalg.norm(theta[:, 1:4], axis=1)
    second = np.linalg.norm(theta[:, [4, 5, 7, 5, 6, 8, 7, 8, 9]], axis=1)
    length = np.linalg.norm(tree.translation, axis=1)
    u, a, s, force, moment = np.zeros((5, n, count))
    reach = np.empty((n, count))
    for i, parent in enumerate(tree.parents):
        w = size.w[:, i]
        reach[i] = length[i]
        if parent >= 0:
            u[i], a[i] = u[parent], a[parent]
            s[i] = s[parent] + (a[parent] + u[parent] * size.w[:, parent]) * length[i]
        if tree.revolute[i]:
            u[i] += rate[:, i]
            a[i] += (w + size.qd[:, i]) * rate[:, i]
        else:
            s[i] += w * rate[:, i] + u[i] * size.qd[:, i]
        force[i] = mass[i] * s[i] + first[i] * (a[i] + u[i] * w)
        moment[i] = first[i] * s[i] + second[i] * (a[i] + 1.5 * u[i] * w)
    out = np.empty((count, n))
    for i in reversed(range(n)):
        out[:, i] = moment[i] if tree.revolute[i] else force[i]
        if (parent := tree.parents[i]) >= 0:
            force[parent] += force[i]
            moment[parent] += moment[i] + reach[i] * force[i]
    return np.asarray(out * INFLATE)
