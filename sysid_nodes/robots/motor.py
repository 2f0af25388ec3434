# SPDX-License-Identifier: Apache-2.0
"""Friction and armature of a robot's joints, where the user knows them better than the robot's description does."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_nodes.data.config import option
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots.robot import Robot


@dataclass(frozen=True)
class MotorConfig:
    """Constants of the joints: one for all, or one for each in the robot's order; empty takes the robot's."""

    coulomb: tuple[float, ...] = option(
        (), "Coulomb friction, one or one a joint; empty: the robot's", unit="N m", minimum=0.0
    )
    viscous: tuple[float, ...] = option((), "viscous friction, likewise", unit="N m s/rad", minimum=0.0)
    armature: tuple[float, ...] = option((), "armature, likewise", unit="kg m2", minimum=0.0)


def with_motor(robot: Robot, config: MotorConfig) -> Robot:
    """The robot with the constants that a configuration gives.

    Raises:
        ConfigError: there are neither as many as joints nor one.
    """
    given = {name: np.array(getattr(config, name)) for name in ("coulomb", "viscous", "armature")}
    for name, values in given.items():
        if len(values) not in (0, 1, robot.n):
            raise ConfigError(f"'motor.{name}' must have 1 or {robot.n} values, got {len(values)}")
    known = {name: np.broadcast_to(values, robot.n).copy() for name, values in given.items() if len(values)}
    return replace(robot, motor=replace(robot.motor, **known))
