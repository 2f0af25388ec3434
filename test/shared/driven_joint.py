# SPDX-License-Identifier: Apache-2.0
"""A joint whose law has any terms, along steps eight times as fine as a fit's, with noisy encoders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sysid_nodes.models.actuator import friction_levels
from sysid_nodes.models.held_command import HeldCommand
from sysid_nodes.systems.actuators import ActuatorConfig
from sysid_nodes.systems.actuators.joint_problem import JointProblem
from sysid_nodes.systems.actuators.preparation import JointMotion

DURATION, DT, FINE = 10.0, 5e-3, 8
BASE = {"armature": 0.02, "delay": 0.003, "viscous": 0.2, "coulomb": 0.2}
NOISE = 1e-4


def motion_of(law: np.ndarray, config: ActuatorConfig) -> JointMotion:
    """A joint with a weight on it, told a chirp and steps; what it then does at steps of an eighth of a millisecond."""
    t = DT * np.arange(round(DURATION / DT) + 1)
    command = 0.3 * np.sin(2.0 * np.pi * (0.2 + 0.2 * t) * t) + 0.15 * np.sign(np.sin(2.3 * t))
    ticks = round(DT / 1e-3)

    def along(stride: int) -> JointMotion:
        count = (len(t) - 1) * stride
        load = 1.5 * np.sin(0.9 * (np.arange(count) + 0.5) * DT / stride)
        return JointMotion(
            name="joint", t=t, q=command, smooth=command, velocity=0.0 * t, acceleration=0.0 * t,
            measured=np.ones(len(t), dtype=np.bool_), breaks=(), step=DT / stride, stride=stride,
            command=HeldCommand(t, command), command_rate=None, command_torque=None, stiffness=20.0, damping=1.0,
            inertia=np.full(count, 0.03), load=load, torque=0.0 * t,
            levels=friction_levels(np.zeros(count), load, 0.0), middle=0.0,
        )  # fmt: skip

    fine = JointProblem(along(ticks * FINE), config, law, ())
    found = fine.simulate(np.zeros(0), np.array([0]), np.array([[command[0], 0.0]]))
    q = found.position + NOISE * np.random.default_rng(0).standard_normal(len(t))
    return replace(along(ticks), q=q, smooth=found.position, velocity=found.velocity)
