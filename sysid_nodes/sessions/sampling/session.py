# SPDX-License-Identifier: Apache-2.0
"""Gathers readings and set-points and identifies from them, for a live node and a replay alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.readings import Readings as SensorReadings
from sysid_nodes.exceptions import LogError
from sysid_nodes.results.sampling import SamplingResult
from sysid_nodes.robots import Robot
from sysid_nodes.rollouts.rotations import from_matrix, inverse, product
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig
from sysid_nodes.systems.sampling import MotionLog, Readings, Stream, identify, motion_log
from sysid_nodes.systems.sampling.gauss_newton import Progress
from sysid_nodes.systems.sampling.log import Sound, sound_imu, sound_joints, sound_pose, while_moving

Array = npt.NDArray[np.float64]

_TIDY = 1.0  # readings of a stream that are forgotten at a time [s]


class _Heard:
    """Readings of one stream, and the stamps of the first and of the newest, which may not have been kept."""

    def __init__(self) -> None:
        self.rows: list[tuple[float, Array]] = []
        self.first, self.newest, self._trimmed = np.inf, -np.inf, -np.inf

    def take(self, stamp: float, row: Array, *, kept: bool) -> None:
        self.first, self.newest = min(self.first, stamp), stamp
        if kept:
            self.rows.append((stamp, row))

    def forget(self, begin: float, end: float) -> None:
        """Forgets what lies between two stamps [s], but for the last of it: a set-point goes on."""
        last = max((stamp for stamp, _ in self.rows if begin < stamp < end), default=np.inf)
        self.rows = [row for row in self.rows if row[0] == last or not begin < row[0] < end]

    def trim(self, begin: float, kept: float) -> None:
        """Forgets what came after a stamp [s] but the newest seconds, by its own clock, once it is worth while."""
        if abs(self.newest - self._trimmed) >= _TIDY:
            self._trimmed = self.newest
            self.forget(begin, self.newest - kept)


class SamplingSession:
    """Readings of a walking robot until someone asks what they say.

    Args:
        robot: nominal.
    """

    def __init__(self, robot: Robot, config: SamplingSessionConfig) -> None:
        self.robot, self.config = robot, config
        self._joints, self._imu, self._pose, self._set_points = self._streams = tuple(_Heard() for _ in range(4))
        self._left_out: list[tuple[float, float]] = []
        self._since = -np.inf
        placement = robot.model.frames[robot.model.getFrameId(robot.imu)].placement
        self._imu_matrix = np.array(placement.rotation)
        self._imu_turn = from_matrix(self._imu_matrix)

    def take(self, reading: SensorReadings) -> None:
        """A message of the joints, the inertial sensor or motion capture; others are left alone.

        Raises:
            LogError: a joint state lacks a joint.
        """
        values, stamp = reading.values, reading.stamp
        if reading.joints is not None:
            self._joints.take(stamp, self._joint_row(reading), kept=self._is_wanted(stamp))
        elif "gyroscope" in values and "imu_orientation" in values:
            turned = product(_scalar_first(values["imu_orientation"]), inverse(self._imu_turn))
            row = np.concatenate([turned, self._imu_matrix @ values["gyroscope"]])
            self._imu.take(stamp, row, kept=self._is_wanted(stamp))
        elif "mocap_pose" in values:
            pose = values["mocap_pose"]
            row = np.concatenate([pose[:3], _scalar_first(pose[3:])])
            self._pose.take(stamp, row, kept=self._is_wanted(stamp))

    def take_set_point(self, stamp: float, names: tuple[str, ...], position: Array) -> None:
        """Set-points of all joints, in any order [rad].

        Raises:
            LogError: a joint is missing.
        """
        row = position[_columns(names, self.robot.joint_names, "command")]
        self._set_points.take(stamp, row, kept=self._is_wanted(stamp))

    def forget(self, before: float) -> None:
        """Forgets motion before a stamp [s]; identifications say so."""
        self._since = before
        self.leave_out(-np.inf, before)

    def leave_out(self, begin: float, end: float) -> None:
        """Forgets what was heard between two stamps [s], and does not listen to it any more; a set-point goes on.

        What lies in the same time and was left out before is part of it.
        """
        self._left_out = [(a, b) for a, b in self._left_out if a < begin or b > end] + [(begin, end)]
        for stream in self._streams:
            stream.forget(begin, end)

    def trim(self, begin: float, kept: float) -> None:
        """Forgets of every stream what came after a stamp [s] but its own newest seconds.

        One stream's clock, wrong once or always, takes nothing away from the others.
        """
        for stream in self._streams:
            stream.trim(begin, kept)

    def _is_wanted(self, stamp: float) -> bool:
        return not any(begin < stamp < end for begin, end in self._left_out[-2:])

    def readings(self, until: float = np.inf) -> Readings:
        """Everything gathered up to a stamp [s], by stream.

        Raises:
            LogError: a stream is missing or too short.
        """

        def stream(heard: _Heard, name: str, sound: Sound | None = None, *, noisy: bool = False) -> Stream:
            # A stamp that is not a number is for the stream to count.
            return Stream.of([row for row in heard.rows if not row[0] > until], name, sound, noisy=noisy)

        config = self.config
        return Readings(
            joints=stream(self._joints, "joint states", sound_joints),
            set_points=stream(self._set_points, f"set-points on '{config.commands}'"),
            imu=stream(self._imu, f"the inertial sensor with its orientation on '{config.imu}'", sound_imu, noisy=True),
            pose=stream(self._pose, f"motion capture on '{config.pose}'", sound_pose, noisy=True),
            left_out=tuple(self._left_out),
        )

    def log(self, until: float = np.inf) -> MotionLog:
        """The same on the grid of the simulations, as far as the robot moves and up to a stamp [s].

        Raises:
            LogError: a stream is missing or too short, the streams have no time in common, or the robot hardly moves.
        """
        config = self.config.sampling
        return while_moving(motion_log(self.readings(until), config.step, delay=config.drive.delay))

    def identify(self, progress: Progress | None = None, *, until: float = np.inf) -> SamplingResult:
        """Identifies from everything gathered up to a stamp [s].

        Raises:
            LogError: see `log` and `systems.sampling.identify`.
            ConfigError: a list does not fit the robot.
            RobotError: the robot cannot walk, or has no such link.
            InputError: the cluster that is to simulate cannot be used.
        """
        found = identify(self.log(until), self.robot, self.config.sampling, progress)
        if self._since == -np.inf:
            return found
        words = f"motion before {self._since:.1f} s is forgotten: 'memory' is {self.config.memory:g} s"
        return replace(found, findings=(*found.findings, words))

    @property
    def common_end(self) -> float:
        """Stamp up to which every stream has been heard [s]."""
        return min(stream.newest for stream in self._streams)

    @property
    def common_start(self) -> float:
        """Stamp from which on every stream has been heard [s]; infinite before."""
        return max(stream.first for stream in self._streams)

    def _joint_row(self, reading: SensorReadings) -> Array:
        names, n = reading.joints or (), self.robot.n
        columns = _columns(names, self.robot.joint_names, "joint state")
        parts = []
        for stream in ("joint_position", "joint_velocity", "joint_torque"):
            value = reading.values.get(stream, np.zeros(0))
            parts.append(value[columns] if len(value) == len(names) else np.zeros(n))
        return np.concatenate(parts)


def _columns(names: Iterable[str], wanted: tuple[str, ...], what: str) -> npt.NDArray[np.intp]:
    place = {name: k for k, name in enumerate(names)}
    if missing := [name for name in wanted if name not in place]:
        raise LogError(f"a {what} has no joint '{missing[0]}'")
    return np.array([place[name] for name in wanted], dtype=np.intp)


def _scalar_first(quaternion: Array) -> Array:
    return quaternion[[3, 0, 1, 2]]
