# SPDX-License-Identifier: Apache-2.0
"""Bounds in norms on changes of the torque and on C r, against real differences."""

import numpy as np
import pinocchio
import pytest
from shared.certified_arm import draw_in_ball, robot

from sysid_nodes.kernel.tree import Tree
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.passivity import passive_inverse_dynamics
from sysid_nodes.systems.certified.certificate.shift import Change, Magnitudes, coriolis, inertia_drift, torque_change

CHAIN = Chain.from_robot(robot())
THETA = robot().inertial_parameters()


def norms(q, qd, qd_a, qdd_a):
    """(1, n) norms of each body's w, u, alpha, s in one state, by the recursion in pinocchio's frames."""
    model, data = robot().model, robot().model.createData()
    pinocchio.forwardKinematics(model, data, q)
    tree, out = CHAIN.tree, np.zeros((4, 7))
    states = []
    for i, parent in enumerate(tree.parents):
        w, u, a, s = states[parent] if parent >= 0 else (*np.zeros((3, 3)), -tree.gravity)
        place = data.oMi[i + 1]
        before = data.oMi[int(parent) + 1].translation if parent >= 0 else np.zeros(3)
        r, z = place.translation - before, place.rotation @ tree.axis[i]
        s = s + np.cross(a, r) + np.cross(u, np.cross(w, r))
        w, u = w + z * qd[i], u + z * qd_a[i]
        a = a + z * qdd_a[i] + np.cross(w, z) * qd_a[i]
        states.append((w, u, a, s))
        out[:, i] = [np.linalg.norm(x) for x in (w, u, a, s)]
    return Magnitudes(*(x[None] for x in out), np.abs(qd_a)[None])


@pytest.mark.parametrize("size", [1e-4, pytest.param(1e-2, marks=pytest.mark.slow), 0.3])
def test_no_change_of_the_torque_exceeds_its_bound(size):
    rng = np.random.default_rng(1)
    used = 0.0
    for _ in range(60):
        q, qd, qd_a, qdd = rng.uniform(-2.0, 2.0, (4, 7))
        limits = Change(*(size * rng.random((1, 7)) * scale for scale in (1.0, 2.0, 2.0)))
        bound = torque_change(CHAIN.tree, THETA, norms(q, qd, qd_a, qdd), limits)[0]
        signs = rng.choice([-1.0, 0.0, 1.0], (3, 200, 7))
        moved = [np.broadcast_to(x, (200, 7)) + s * d for x, s, d in zip((q, qd, qd_a), signs, limits, strict=True)]
        acceleration = np.broadcast_to(qdd, (200, 7))
        here = passive_inverse_dynamics(CHAIN, THETA.ravel(), *(x[None] for x in (q, qd, qd_a, qdd)))
        there = passive_inverse_dynamics(CHAIN, THETA.ravel(), *moved, acceleration)
        assert (np.abs(there - here) <= bound + 1e-11).all()
        used = max(used, float((np.abs(there - here) / bound).max()))
    assert used > 0.05


def test_coriolis_torque_is_within_its_bound():
    rng = np.random.default_rng(2)
    model, data = robot().model, robot().model.createData()
    for _ in range(200):
        q, qd = rng.uniform(-2.0, 2.0, (2, 7))
        rate = rng.random(7)
        matrix = pinocchio.computeCoriolisMatrix(model, data, q, qd)
        bound = coriolis(CHAIN.tree, np.abs(THETA), norms(q, qd, qd, qd).w, rate[None])[0]
        for r in (rng.choice([-1.0, 1.0], 7) * rate, draw_in_ball(rng, 1, 7)[0] * rate, *(np.eye(7) * rate)):
            assert (np.abs(matrix @ r) <= bound + 1e-11).all()


def test_drift_of_the_inertia_by_hand_and_against_the_truth() -> None:
    """Two parallel joints 1 m apart, 1 kg at 0.1 m from the second: what is bounded in norms, worked out on paper."""
    tree = Tree(
        np.array([-1, 0]), np.stack([np.eye(3)] * 2), np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]),
        np.array([[0.0, 0.0, 1.0]] * 2), np.array([True, True]), np.array([0.0, 0.0, -9.81]),
    )  # fmt: skip
    theta = np.zeros((2, 10))
    theta[1, [0, 1]] = 1.0, 0.1
    found = inertia_drift(tree, theta, np.array([[1.0, 0.0]]), np.array([0.0, 1.0]))[0]
    # The far joint: 0.1 |ds| with |ds| = 1; the near one adds what it carries: 0.1 + 2 (1 + 0.1) with its 1 m.
    np.testing.assert_allclose(found, [0.1 + 0.1 + 2.2, 0.1], rtol=1e-6)
    # M_11 = 1.01 + 0.2 cos q_2 and M_12 = 0.01 + 0.1 cos q_2 change by at most 0.2 and 0.1; gravity has no part in it.
    assert (found >= [0.2, 0.1 * (1.0 - 1e-9)]).all()
    # x of the far joint reaches it alone, and both together as an ellipsoid.
    both = inertia_drift(tree, theta, np.array([[3.0, 4.0]]), np.array([0.0, 1.0]))[0]
    assert both[1] == pytest.approx(0.1 * 3.0, rel=1e-6)
