# SPDX-License-Identifier: Apache-2.0
"""The torque oracle of coupled joints against the torque that the simulated bodies took."""

from __future__ import annotations

import numpy as np
from shared.actuator_session import run

from sysid_nodes.models.joint_load import inertia_matrices, joint_load
from sysid_nodes.systems.actuators import ActuatorConfig, identify_actuators
from sysid_nodes.systems.actuators.methods import smooth_joint
from sysid_nodes.systems.actuators.methods.smoothed_robot import smooth_robot
from sysid_nodes.systems.actuators.preparation import prepare


def test_bands_of_coupled_joints_hold_the_torque() -> None:
    """A calf's own band holds it for 70 %: thigh and hip move it, as suddenly as their friction turns over."""
    of, config = run(seed=11), ActuatorConfig()
    log, true = of.logs[0], of.torques[0]
    motions = prepare(log, of.robot, config)
    laws = [joint.law for joint in identify_actuators(log, of.robot, config).joints]
    found = smooth_robot(motions, of.robot, laws, config)
    inside, alone = [], []
    for j, (motion, law, own) in enumerate(zip(motions, laws, found, strict=True)):
        truth = true[: len(motion.t), j]
        error = own.torque - truth
        assert np.sqrt(np.mean(error**2)) < 0.05 * np.sqrt(np.mean(truth**2))
        inside.append(np.mean(np.abs(error) < 1.96 * own.sigma))
        by_itself = smooth_joint(motion, law, config)
        alone.append(np.mean(np.abs(by_itself.torque - truth) < 1.96 * by_itself.sigma))
        assert own.motion is motion  # an oracle drives the log that it was made of
    assert min(inside) > 0.9
    assert min(alone) < 0.85


def test_inertia_matrices_are_those_of_the_inverse_dynamics() -> None:
    robot = run().robot
    rng = np.random.default_rng(1)
    q, qdd = rng.uniform(-1.0, 1.0, (5, 3)), rng.standard_normal((5, 3))
    zero = np.zeros_like(q)
    moved = joint_load(robot, q, zero, qdd).torque - joint_load(robot, q, zero, zero).torque
    np.testing.assert_allclose(np.einsum("kij,kj->ki", inertia_matrices(robot, q), qdd), moved, atol=1e-12)
