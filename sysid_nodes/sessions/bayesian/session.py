# SPDX-License-Identifier: Apache-2.0
"""Joint states and power of a robot until someone asks what they say."""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from sysid_nodes.data import RawJointState
from sysid_nodes.exceptions import ConfigError, LogError
from sysid_nodes.logs.power_reader import power_topics
from sysid_nodes.results.bayesian import BayesianResult
from sysid_nodes.robots import Robot
from sysid_nodes.sessions.bayesian.config import BayesianSessionConfig
from sysid_nodes.systems.bayesian import Grid, MechanismLog, Progress, Series, identify, mechanism_log
from sysid_nodes.systems.bayesian.mechanism import build_mechanism

Array = npt.NDArray[np.float64]


class BayesianSession:
    """Readings of a robot.

    Args:
        robot: nominal, with a fixed base.

    Raises:
        ConfigError: a joint or link that is named does not exist, the torque factors do not fit the motors, or more
            topics are named than a power meter has.
        RobotError: the base floats, or a loop cannot be closed.
    """

    def __init__(self, robot: Robot, config: BayesianSessionConfig) -> None:
        mechanism = build_mechanism(robot, config.bayesian, power=False)  # what is wrong is said before a log is read
        power_topics(config.power)
        self._cuts = mechanism.contacts.cuts
        self.robot, self.config = robot, config
        passive = config.bayesian.mechanism.passive
        self._motors = [name for name in robot.joint_names if name not in passive]
        if len(config.torque_factor) not in (1, len(self._motors)):
            raise ConfigError(
                f"'torque_factor' must be one number, or {len(self._motors)} for {', '.join(self._motors)}"
            )
        self._factor = np.broadcast_to(np.array(config.torque_factor), len(self._motors))
        self._joints: deque[tuple[float, Array, Array]] = deque()
        self._power: deque[tuple[float, float]] = deque()

    def take(self, state: RawJointState) -> None:
        """A joint state; joints that the robot does not have are left alone, joints without a motor may be missing.

        Raises:
            LogError: a joint with a motor is missing, or has no position.
        """
        place = {name: k for k, name in enumerate(state.names)}
        if missing := [name for name in self._motors if name not in place]:
            raise LogError(
                f"a joint state has no joint '{missing[0]}'; if it does not move, name in 'joints' those that do"
            )
        if len(state.position) != len(state.names):
            raise LogError(f"a joint state has {len(state.position)} positions for {len(state.names)} joints")
        position = np.full(self.robot.n, np.nan)
        for j, name in enumerate(self.robot.joint_names):
            if name in place:
                position[j] = state.position[place[name]]
        torque = np.full(len(self._motors), np.nan)
        if len(state.effort) == len(state.names):
            read = self._factor * np.array([state.effort[place[name]] for name in self._motors])
            torque = np.where(self._factor == 0.0, np.nan, read)
        self._joints.append((state.stamp, position, torque))

    def take_power(self, stamp: float, voltage: float, current: float) -> None:
        """A reading of the power meter [V, A]; a current out of the battery is negative, as BatteryState has it."""
        self._power.append((stamp, -voltage * current))

    def forget(self, before: float, *, power_alone: bool = False) -> None:
        """Drops readings of before a stamp [s]."""
        while not power_alone and self._joints and self._joints[0][0] < before:
            self._joints.popleft()
        while self._power and self._power[0][0] < before:
            self._power.popleft()

    def begin_anew(self) -> None:
        """Drops all joint states but the newest."""
        while len(self._joints) > 1:
            self._joints.popleft()

    @property
    def newest_stamps(self) -> tuple[float, float]:
        """Newest stamps of joint states and power [s]; minus infinity before there is one."""
        newest = [rows[-1][0] if rows else -np.inf for rows in (self._joints, self._power)]
        return newest[0], newest[1]

    def log(self, grid: Grid | None = None) -> MechanismLog:
        """Readings gathered and not forgotten: all of them, or as far as a grid reaches.

        Raises:
            LogError: there is too little of it, stamps go back, or a reading is not a number.
        """
        end = np.inf if grid is None else grid.start + (grid.count - 0.5) * grid.step
        begin = -np.inf if grid is None else grid.start - 0.5 * grid.step
        joints = [row for row in self._joints if begin <= row[0] < end]
        if not joints:
            raise LogError("holds no joint state")
        t = np.array([row[0] for row in joints])
        position, torque = (np.array([row[k] for row in joints]) for k in (1, 2))
        power = None
        if drawn := [row for row in self._power if begin <= row[0] < end]:
            table = np.array(drawn)
            power = Series(table[:, 0], table[:, 1:])
        grid = grid or Grid.over(t, self.config.bayesian.step)
        return mechanism_log(Series(t, position), Series(t, torque), power, grid, self._cuts)

    def identify(self, progress: Progress | None = None) -> BayesianResult:
        """The posterior from everything gathered so far.

        Raises:
            LogError: see `log` and `systems.bayesian.identify`.
            ExcitationError: nothing moves.
        """
        return identify(self.log(), self.robot, self.config.bayesian, progress)
