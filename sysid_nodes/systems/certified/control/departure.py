# SPDX-License-Identifier: Apache-2.0
"""From where a robot may begin a trajectory that continues no other."""

from __future__ import annotations

import numpy as np

from sysid_nodes.models.robust_control import RobustControlConfig, gains
from sysid_nodes.results.trajectory_record import TrajectoryRecord
from sysid_nodes.robots.robot import Array, Robot
from sysid_nodes.signals.stream import TURN
from sysid_nodes.systems.certified.control.joint_watch import Seen

_ROUNDING = 1e-12
"""Of whole turns in a position [rad]."""


class Departure:
    """One robot's.

    Args:
        robot, control: with the errors of its sensors.
        rest_speed: largest joint speed the certifier takes for rest [rad/s].
        rest_distance: how far from the start it lets a robot rest, measurement's error apart [rad].

    Raises:
        ConfigError: the control does not fit the robot.
    """

    def __init__(self, robot: Robot, control: RobustControlConfig, rest_speed: float, rest_distance: float) -> None:
        found = gains(robot, control)
        self._wraps = robot.wraps
        self._apart = found.position_error + rest_distance + _ROUNDING
        self._velocity_error, self._rest_speed = found.velocity_error, rest_speed

    def turns(self, record: TrajectoryRecord, seen: Seen) -> Array | None:
        """(n,) whole turns between measured positions and the trajectory's [rad]; None where it may not begin."""
        turns = TURN * np.where(self._wraps, np.rint((record.q0 - seen.q) / TURN), 0.0)
        apart = np.abs(record.q0 - seen.q - turns) > self._apart
        moving = np.abs(seen.qd) + self._velocity_error > self._rest_speed
        return None if (apart | moving).any() else np.asarray(turns)
