# SPDX-License-Identifier: Apache-2.0
"""Configuration of the processes of the Gen3's demo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import yaml

from sysid_nodes.data.config import read_parameters
from sysid_nodes.data.packaged import required_file
from sysid_nodes.robots import load_robot
from sysid_nodes.simulation.arm import random_dumbbell
from sysid_nodes.simulation.arm.config import START
from sysid_nodes.simulation.payload import Payload, dumbbell

ROBOT = "kinova_gen3"
CONFIG, SCENE, VIEW = "config/kinova_gen3_simulated.yaml", "config/scenes/kinova_demo.yaml", "rviz/kinova.rviz"
GOAL = (0.377, 0.972, -3.605, -0.552, 0.38, -1.664, -0.125)
"""Over the platform, the hand down and the arm stretched out as far as the load of the scene allows [rad]."""

_OFF_CENTRE = 0.02  # of the dumbbell in the hand, as random_dumbbell has it [m]
_PATIENT = 300.0  # of real time that the robot waits for the controller, the catching up at the end included [s]
_PAUSE = 20.0  # of joint states that the machine may make: the robot waits meanwhile, and a lost one takes seconds [s]
_LOAD = 2.1  # cores that all processes take in real time
_SPARE = 0.75  # share of the cores that they may take, so that no plan waits for one
_SLOWEST = 0.2
JITTER = 5e-4  # by which torques may be later than the delay that is simulated [s]
_LATE_GAIN = 2.5  # K_r of a loop with delay [1/s]
_BRIEFEST = 1.0  # of the plans on the way to a goal: round a corner, and at its end [s]
_SOLVES = (
    3  # linear programs a round, half the usual: intervals end as narrow, for three quarters of the processor time
)
_GAP = 0.03  # kept by the guide; base and upper arm are 0.049 m apart in every posture [m]


def payload(seed: int, mass: float | None) -> Payload:
    """The robot's load: a dumbbell somewhat off centre, of random mass unless one is given [kg]."""
    rng = np.random.default_rng(seed)
    return random_dumbbell(rng) if mass is None else dumbbell(mass, offset=rng.uniform(-_OFF_CENTRE, _OFF_CENTRE, 3))


def affordable_speed(cores: int) -> float:
    """The robot's seconds in one of the machine's at which no plan waits for a core.

    On fewer cores a robot as fast as a real one comes to rest again and again, because plans come too late.
    """
    return float(np.clip(_SPARE * cores / _LOAD, _SLOWEST, 1.0))


def parameters(
    seed: int, carried: Payload, identify: float, *, delay: float = 0.0, speed: float = 1.0
) -> dict[str, Any]:
    """Dotted names and values for all nodes: the packaged ones of the simulated Gen3, and what is the demo's own.

    Args:
        seed: of the simulation and of the planner.
        carried: by the robot.
        identify: longest time to identify [s].
        delay: of torques behind the joint states that they answer [s].
        speed: the robot's seconds in one of the machine's, at most.
    """
    robot = load_robot(ROBOT)
    _, inertia = carried.spatial_inertia(robot)
    late = {} if delay == 0.0 else {
        "control.delay": delay + JITTER,
        "control.position_gain": _LATE_GAIN,
        "simulated_arm.torque_delay": delay,
    }  # fmt: skip
    return (
        read_parameters(required_file(CONFIG))
        | late
        | {
            "certified_planner.excite_time": float(identify),
            "certified_planner.goals": [*START, *GOAL],
            "certified_planner.seed": seed % 2**31,
            "planner.briefest": _BRIEFEST,
            "planner.guide.margin": _GAP,
            "set_membership.solves": _SOLVES,
            "controller.silence": _PAUSE,
            "simulated_arm.seed": seed,
            "simulated_arm.speed": speed,
            "simulated_arm.payload": inertia.toDynamicParameters().tolist(),
            "simulated_arm.reply_timeout": _PATIENT,
        }
    )


def parameter_file(values: Mapping[str, Any]) -> str:
    """A ROS parameter file for nodes of any name; what is empty stays away, because ROS gives an empty list no type."""
    tree: dict[str, Any] = {}
    for name, value in values.items():
        *sections, leaf = name.split(".")
        place = tree
        if value not in ("", (), []):
            for section in sections:
                place = place.setdefault(section, {})
            place[leaf] = list(value) if isinstance(value, (tuple, list)) else value
    text = yaml.safe_dump({"/**": {"ros__parameters": tree}}, sort_keys=False, default_flow_style=None, width=110)
    return f"# Written by 'sysid demo': the packaged configuration of the simulated robot with the demo's own.\n{text}"
