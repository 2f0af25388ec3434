# SPDX-License-Identifier: Apache-2.0
"""Controller, motion and initial configuration of a simulated robot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pinocchio

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots import Robot
from sysid_nodes.robots.robot import Array
from sysid_nodes.simulation.legged.controller_g1 import G1Controller
from sysid_nodes.simulation.legged.controller_go2 import Go2Controller
from sysid_nodes.simulation.legged.motion_g1 import DANCE, Move
from sysid_nodes.simulation.legged.motion_go2 import SHOW, Phase, Sway
from sysid_nodes.simulation.legged.scenario import LeggedSimulationConfig

_FOREVER = 1e9
GO2_MOTIONS: dict[str, tuple[Phase, ...]] = {
    "show": SHOW,
    "stand": (Phase("stand", _FOREVER),),
    "sway": (Phase("stand", _FOREVER, sway=Sway()),),
    "trot": (Phase("stand", 0.4), Phase("trot", _FOREVER, velocity=(0.3, 0.0, 0.1))),
    "hop": (Phase("stand", 0.4), Phase("hop", _FOREVER)),
}
G1_MOTIONS: dict[str, tuple[Move, ...]] = {
    "show": DANCE,
    "stand": (Move("stand", _FOREVER),),
    "sway": (Move("stand", 0.4), Move("sway", 1200.0, amplitude=0.05, cycles=1000.0)),
}


def build_controller(robot: Robot, config: LeggedSimulationConfig) -> Any:
    """The scripted controller of a run.

    Raises:
        ConfigError: the robot does not know the motion.
    """
    motions: Mapping[str, object] = GO2_MOTIONS if robot.name == "go2" else G1_MOTIONS
    if config.motion not in motions:
        raise ConfigError(f"robot '{robot.name}' has no motion '{config.motion}'; it has {', '.join(motions)}")
    if robot.name == "go2":
        return Go2Controller(robot, config.go2, GO2_MOTIONS[config.motion], period=config.control_period)
    return G1Controller(robot, config.g1, G1_MOTIONS[config.motion], period=config.control_period)


_STANDING = {
    "go2": {"thigh": 0.8, "calf": -1.6},
    "g1": {"hip_pitch": -0.312, "knee": 0.669, "ankle_pitch": -0.357},
}


def standing_configuration(robot: Robot) -> Array:
    """(nq,) the configuration at the start: on its feet, which just touch the ground, heading along x."""
    q = pinocchio.neutral(robot.model)
    for number, name in enumerate(robot.joint_names):
        q[7 + number] = next((angle for part, angle in _STANDING[robot.name].items() if part in name), 0.0)
    data = robot.model.createData()
    pinocchio.forwardKinematics(robot.model, data, q)
    lowest = min(
        data.oMi[robot.model.getJointId(point.joint)].act(point.position)[2] - point.radius for point in robot.contacts
    )
    q[2] -= lowest
    return np.array(q)
