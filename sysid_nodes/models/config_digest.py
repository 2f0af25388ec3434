# SPDX-License-Identifier: Apache-2.0
"""The digest by which planner and controller check that they use the same robot, law, uncertainties and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sysid_nodes import __version__
from sysid_nodes.data.digest import digest
from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.models.robust_control import RobustControlConfig
from sysid_nodes.robots.robot import Primitive, Robot

ESTIMATED = "estimated-"
"""Beginning of a config_id whose certificates may rest on bounds that are estimates and prove nothing about the arm."""


def config_digest(
    robot: Robot, shapes: Sequence[Primitive], known: KnownRobotConfig, control: RobustControlConfig, certifier: Any
) -> str:
    """Digest of all that a certificate rests on but bounds, obstacles and trajectory: its config_id.

    The version of the software is among it: what another version proves may mean something else.

    Args:
        robot: kinematics, limits, motors and sensors.
        shapes: that cover robot and load.
        known: uncertainty of everything but the identified body.
        certifier: the certifier's configuration, a dataclass.
    """
    return digest(
        __version__,
        robot.name,
        robot.urdf,
        robot.joint_names,
        robot.inertial_parameters(),
        robot.model.gravity.vector,
        robot.limits,
        robot.motor,
        robot.encoder_step,
        "nothing listed" if robot.may_overlap is None else robot.may_overlap,
        list(shapes),
        known,
        control,
        certifier,
    )
