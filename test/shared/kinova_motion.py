# SPDX-License-Identifier: Apache-2.0
"""Joint measurements of a simulated Gen3 that carries a known payload: what the node's tests feed it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.data import JointSamples
from sysid_nodes.robots.robot import Robot

Array = npt.NDArray[np.float64]

PAYLOAD = np.array(
    [
        4.00641849,
        -4.25e-05,
        8.7586e-05,
        -0.602690557,
        0.114456235,
        -4.1051e-06,
        0.104605998,
        -8.2576e-07,
        5.9793e-06,
        0.0135901159,
    ]
)
"""Gripper and a six pound dumbbell, in the last joint's frame."""

START = 1000.0
"""First stamp [s]: not the time of day, so that a test sees it when arrival times are taken instead."""


def measure(robot: Robot, count: int, rate: float) -> JointSamples:
    """Noise-free samples of a motion in which every joint swings by itself; torques by the rigid-body equations.

    Args:
        robot: the Gen3; its last body is replaced by PAYLOAD.
        count: samples.
        rate: samples a second [Hz].
    """
    model = robot.model.copy()
    model.inertias[model.njoints - 1] = pinocchio.Inertia.FromDynamicParameters(PAYLOAD)
    data = model.createData()
    elapsed = np.arange(count) / rate
    frequency = 2.0 * np.pi * np.linspace(0.1, 0.2, robot.n)
    amplitude = 0.8
    phase = elapsed[:, None] * frequency + np.arange(robot.n)
    q = amplitude * np.sin(phase)
    qd = amplitude * frequency * np.cos(phase)
    qdd = -amplitude * frequency**2 * np.sin(phase)
    motor = robot.motor
    friction = motor.coulomb * np.sign(qd) + motor.viscous * qd + motor.armature * qdd + motor.offset
    rigid = np.array([pinocchio.rnea(model, data, *row) for row in zip(q, qd, qdd, strict=True)])
    return JointSamples(robot.joint_names, START + elapsed, q, qd, rigid + friction)
