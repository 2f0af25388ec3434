# SPDX-License-Identifier: Apache-2.0
"""Bounds on changes of torques in plain recursions: a branched arm, unlike bodies and intervals, all terms at once.

By the rules at the head of shift.py, from bodies to their children and back. Roundings are allowed for by some 1e-9.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from sysid_nodes.kernel.tree import Tree
from sysid_nodes.systems.certified.certificate.shift import (
    Change,
    Magnitudes,
    coriolis,
    inertia_drift,
    torque_change,
    torque_rate,
)

Array = npt.NDArray[np.float64]

T, N = 2, 4
PARENTS = [-1, 0, 1, 0]
TREE = Tree(
    np.array(PARENTS), np.tile(np.eye(3), (N, 1, 1)), np.random.default_rng(1).uniform(0.1, 0.4, (N, 3)),
    np.tile([0.0, 1.0, 0.0], (N, 1)), np.ones(N, dtype=bool), np.array([0.0, 3.0, -9.0]),
)  # fmt: skip
THETA = np.random.default_rng(2).uniform(0.1, 1.0, (N, 10))
LENGTH = [float(np.sqrt((x**2).sum())) for x in TREE.translation]
MASS = [float(x[0]) for x in THETA]
FIRST = [float(np.sqrt((x[1:4] ** 2).sum())) for x in THETA]
SECOND = [float(np.sqrt(x[4] ** 2 + x[6] ** 2 + x[9] ** 2 + 2.0 * (x[5] ** 2 + x[7] ** 2 + x[8] ** 2))) for x in THETA]


def draw(seed: int, count: int, size: float) -> list[Array]:
    return list(size * np.random.default_rng(seed).uniform(0.5, 1.5, (count, T, N)))


def back(wrench: list[tuple[float, float]]) -> list[float]:
    """Moments at the joints of forces and moments on the bodies."""
    force, moment = [x for x, _ in wrench], [x for _, x in wrench]
    for i in reversed(range(N)):
        if (p := PARENTS[i]) >= 0:
            force[p] += force[i]
            moment[p] += moment[i] + LENGTH[i] * force[i]
    return moment


def changed(size: Magnitudes, change: Change, t: int, gravity: float) -> list[float]:
    """Differences of w, u, alpha, s of each body, of its force and moment, and of all that is carried by it."""
    dw, du, da, ds = np.zeros((4, N))
    force, moment, d_force, d_moment = np.zeros((4, N))
    for i, p in enumerate(PARENTS):
        turn, dqd, dqd_a = change.q[t, i], change.qd[t, i], change.qd_a[t, i]
        w, u, a, s = size.w[t, i], size.u[t, i], size.alpha[t, i], size.s[t, i]
        swung = 0.0
        if p >= 0:
            wp, up, ap, sp = size.w[t, p], size.u[t, p], size.alpha[t, p], size.s[t, p]
            ds[i] = ds[p] + (da[p] + du[p] * wp + (up + du[p]) * dw[p]) * LENGTH[i]
            ds[i] += turn * (sp + (ap + up * wp) * LENGTH[i])
            swung, du[i], da[i] = dw[p] + turn * wp, du[p] + turn * up, da[p] + turn * ap
        else:
            ds[i] = turn * gravity
        da[i] += swung * (size.qd_a[t, i] + dqd_a) + w * dqd_a
        dw[i], du[i] = swung + dqd, du[i] + dqd_a
        twist = du[i] * w + (u + du[i]) * dw[i]
        force[i], moment[i] = MASS[i] * s + FIRST[i] * (a + u * w), FIRST[i] * s + SECOND[i] * (a + 1.5 * u * w)
        d_force[i] = MASS[i] * ds[i] + FIRST[i] * (da[i] + twist)
        d_moment[i] = FIRST[i] * ds[i] + SECOND[i] * (da[i] + 1.5 * twist)
    for i in reversed(range(N)):
        if (p := PARENTS[i]) >= 0:
            turned = d_force[i] + change.q[t, i] * force[i]
            d_force[p] += turned
            d_moment[p] += d_moment[i] + change.q[t, i] * moment[i] + LENGTH[i] * turned
            force[p] += force[i]
            moment[p] += moment[i] + LENGTH[i] * force[i]
    return list(d_moment)


def test_what_a_change_of_the_state_does_to_torques() -> None:
    size, change = Magnitudes(*draw(3, 5, 2.0)), Change(*draw(4, 3, 0.3))
    found = torque_change(TREE, THETA, size, change)
    for t in range(T):
        np.testing.assert_allclose(found[t], changed(size, change, t, np.sqrt(90.0)), rtol=1e-8)


def test_a_rate_is_the_limit_of_small_changes() -> None:
    size, rate = Magnitudes(*draw(5, 5, 2.0)), Change(*draw(6, 3, 0.3))
    found, step = torque_rate(TREE, THETA, size, rate), 1e-9
    small = torque_change(TREE, THETA, size, Change(*(step * x for x in rate))) / step
    # Never less, and more by what a change adds to itself within a microsecond.
    np.testing.assert_allclose(found, small, rtol=1e-5)
    assert (found >= small * (1.0 - 1e-7)).all()


def test_what_c_r_is_at_most_for_errors_that_fill_an_ellipsoid() -> None:
    w, rate = draw(7, 2, 2.0)
    found = coriolis(TREE, THETA, w, rate)
    for t in range(T):
        u, a, s = np.zeros((3, N))
        wrench = []
        for i, p in enumerate(PARENTS):
            if p >= 0:
                u[i], a[i], s[i] = u[p], a[p], s[p] + (a[p] + u[p] * w[t, p]) * LENGTH[i]
            u[i] = np.sqrt(u[i] ** 2 + rate[t, i] ** 2)
            a[i] = np.sqrt(a[i] ** 2 + (w[t, i] * rate[t, i]) ** 2)
            spun = u[i] * w[t, i]
            wrench.append(
                (MASS[i] * s[i] + FIRST[i] * (a[i] + spun), FIRST[i] * s[i] + SECOND[i] * (a[i] + 1.5 * spun))
            )
        np.testing.assert_allclose(found[t], back(wrench), rtol=1e-8)


@pytest.mark.parametrize("seed", range(2))
def test_what_m_changes_by_is_that_of_accelerations_alone(seed: int) -> None:
    """Without gravity and at rest: accelerations of an ellipsoid, joints that turn at their speeds."""
    (rate,), qd = draw(8 + seed, 1, 2.0), np.random.default_rng(seed).uniform(0.5, 1.5, N)
    found = inertia_drift(TREE, THETA, rate, qd)
    zero = np.zeros((T, N))
    for t in range(T):
        alpha, s = zero.copy(), zero.copy()
        for i, p in enumerate(PARENTS):
            alpha[t, i] = np.sqrt(rate[t, i] ** 2 + (alpha[t, p] ** 2 if p >= 0 else 0.0))
            s[t, i] = s[t, p] + alpha[t, p] * LENGTH[i] if p >= 0 else 0.0
        size = Magnitudes(zero, zero, alpha, s, zero)
        turned = Change(np.tile(qd, (T, 1)), zero, zero)
        np.testing.assert_allclose(found[t], changed(size, turned, t, 0.0), rtol=1e-8)
