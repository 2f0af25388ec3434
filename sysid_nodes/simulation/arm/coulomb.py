# SPDX-License-Identifier: Apache-2.0
"""Coulomb friction as the set-valued law it is: F_c sign(qd) in motion, anything in [-F_c, F_c] at rest.

At an instant, which joints at rest stick and which break away is a complementarity problem in the accelerations a:
M a = u - f with f_j = F_c,j sign(qd_j) for a moving joint; for one at rest a_j = 0 and |f_j| <= F_c,j, or
f_j = F_c,j sign(a_j). It is the optimality condition of min a'M a / 2 - u'a + sum over resting joints of F_c,j |a_j|,
strictly convex, so that friction and acceleration are unique.
"""

from __future__ import annotations

import numpy as np

from sysid_nodes.robots.robot import Array

_SLACK = 1e-9
"""Of |f| <= F_c, relative and in N m: rounding must not break a joint away."""


def breakaway(limit: Array) -> Array:
    """(n,) Coulomb friction that a stuck joint may need at most [N m]: F_c and a slack for rounding."""
    return limit * (1.0 + _SLACK) + _SLACK


def sliding_directions(mass: Array, force: Array, limit: Array, qd: Array) -> Array:
    """Direction in which each joint slides.

    Joints at rest start as stuck and change their minds one at a time, the worst first, until none has a reason to.

    Args:
        mass: (n, n) M, positive definite.
        force: (n,) u, all other generalised forces [N m].
        limit: (n,) F_c [N m].
        qd: (n,) exactly zero where a joint is at rest [rad/s].

    Returns:
        (n,) -1 or 1, and 0 where a joint sticks.
    """
    direction, resting = np.sign(qd), qd == 0.0
    for _ in range(20 * qd.size):
        acceleration, friction = solve(mass, force, limit, direction)
        excess = np.where(direction == 0.0, np.abs(friction) - breakaway(limit), 0.0)
        back = np.where(resting, -direction * acceleration, 0.0)
        if excess.max() > 0.0:
            worst = int(np.argmax(excess))
            direction[worst] = np.sign(friction[worst])
        elif back.max() > 0.0:
            direction[int(np.argmax(back))] = 0.0
        else:
            break
    return direction


def solve(mass: Array, force: Array, limit: Array, direction: Array) -> tuple[Array, Array]:
    """Acceleration [rad/s2] and Coulomb friction [N m], (n,) each, with stuck joints held and the others sliding."""
    stuck = direction == 0.0
    friction, acceleration = limit * direction, np.zeros(force.size)
    if not stuck.all():
        free = np.flatnonzero(~stuck)
        acceleration[free] = np.linalg.solve(mass[np.ix_(free, free)], (force - friction)[free])
    if stuck.any():
        friction = np.where(stuck, force - mass @ acceleration, friction)
    return acceleration, friction
