# SPDX-License-Identifier: Apache-2.0
"""A walking robot that obeys commands: the very controller that exploration is planned with, on the simulated robot."""

from __future__ import annotations

import numpy as np

from sysid_nodes.results.exploration import COMMANDS
from sysid_nodes.robots import Robot
from sysid_nodes.robots.robot import Array
from sysid_nodes.rollouts import GAITS, Command, Drive, WalkingConfig, commanded_policy
from sysid_nodes.rollouts.state import rotation_of
from sysid_nodes.systems.sampling.exploration.curves import CommandCurves

_REST = 1.2  # standing before the first motion [s]


def first_motion(height: float) -> CommandCurves:
    """Eight seconds before anything is known: leaning, trotting, turning and pronking, each gently."""
    gaits = ("stand", "trot", "trot", "pronk")
    points = np.zeros((len(gaits), len(COMMANDS), 6))
    points[0, 3] = [0.0, 0.6, -0.6, -0.6, 0.6, 0.0]
    points[0, 4] = [0.0, -0.5, -0.5, 0.5, 0.5, 0.0]
    points[1, 0] = [0.0, 0.5, 0.5, -0.3, -0.3, 0.0]
    points[1, 3] = [0.0, 0.3, -0.3, 0.3, -0.3, 0.0]
    points[2, 1] = [0.0, 0.2, 0.2, -0.2, -0.2, 0.0]
    points[2, 2] = [0.0, 0.8, 0.8, -0.8, -0.8, 0.0]
    points[3, 0] = [0.0, 0.2, 0.2, 0.0, 0.0, 0.0]
    return CommandCurves(points[None], np.array([[GAITS.index(name) for name in gaits]]), 2.0, height)


class CommandedController:
    """Set-points for one robot; it stands where it has nothing to follow.

    Args:
        robot: nominal.
        drive: its PD law.

    Attributes:
        period: between two set-points [s].

    Raises:
        RobotError: the robot does not walk on four legs or two.
        ConfigError: a trained policy cannot be used.
    """

    def __init__(self, robot: Robot, drive: Drive, config: WalkingConfig) -> None:
        self._policy = commanded_policy(robot, drive, config)
        self.period = self._policy.period
        self._begin, self._curves = _REST, first_motion(self._policy.walking_height)

    @property
    def policy(self) -> str:
        """Digest of what moves it: a plan made for another is not for it."""
        return self._policy.id

    @property
    def fallen(self) -> bool:
        """Whether it has fallen; its drives only damp then."""
        return self._policy.memory is not None and bool(self._policy.memory.fallen[0])

    def busy(self, time: float) -> bool:
        """Whether it follows commands at a time [s], or is about to."""
        return time < self._begin + self._curves.duration

    def follow(self, curves: CommandCurves, begin: float) -> None:
        """Takes commands of one robot, from a time on [s]; those it follows are broken off."""
        self._begin, self._curves = begin, curves

    def set_points(self, time: float, q: Array, v: Array) -> Array:
        """(n,) positions [rad] at a time [s] and a pinocchio state."""
        command: Command = self._curves.at(time - self._begin)
        state = np.concatenate([q[:3], q[[6, 3, 4, 5]], q[7:], rotation_of(q[3:7]) @ v[:3], v[3:]])
        return np.asarray(self._policy.set_points(state[None], command)[0])
