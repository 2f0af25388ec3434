# SPDX-License-Identifier: Apache-2.0
"""Identifies whenever a motion has ended, from all that was heard up to then: live, and the same on a recording.

Stamps alone decide when that is and which readings count, so that it does not matter when they arrive. Readings from
when the robot stood still tell nothing and are forgotten, and so is all but the newest motion (`memory`): what is kept
does not grow with time. Without the former an estimate is the same to the last bit.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.config import to_flat
from sysid_nodes.data.digest import digest
from sysid_nodes.data.readings import Readings
from sysid_nodes.exceptions import InputError
from sysid_nodes.results.sampling import SamplingResult
from sysid_nodes.robots import Robot
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig
from sysid_nodes.sessions.sampling.session import SamplingSession
from sysid_nodes.systems.sampling.log import MOVING, MOVING_WINDOW

Array = npt.NDArray[np.float64]

_LOOK = 0.1  # between two looks at whether the robot moves [s]
_TIDY = 1.0  # readings that are forgotten at a time [s]
_PATIENCE = 5.0  # with a stream that has fallen silent [s]


@dataclass(frozen=True)
class SamplingUpdate:
    """State of knowledge.

    Attributes:
        t: stamp of the newest data behind it [s]; minus infinity before there are any.
        number: identifications so far.
        result: of the last; None before there is one, or where the data gave none.
        fault: why they gave none; empty otherwise.
        config_id: digest of robot and configuration.
    """

    t: float
    number: int
    result: SamplingResult | None
    fault: str
    robot: str
    config_id: str


class OnlineSampling:
    """Gathers, and identifies when the robot has come to rest.

    Args:
        robot: nominal.
    """

    def __init__(self, robot: Robot, config: SamplingSessionConfig) -> None:
        self.robot, self.config = robot, config
        self.config_id = sampling_config_id(robot, config)
        self.reset()

    def reset(self) -> SamplingUpdate:
        """Forgets everything."""
        self.session = SamplingSession(self.robot, self.config)
        self._recent: deque[tuple[float, Array]] = deque()
        self._moving: deque[float] = deque()  # stamps of looks at a robot that moved
        self._due, self._looked, self._moved, self._still = np.inf, -np.inf, 0.0, 0.0
        self._stood, self._forgotten = -np.inf, -np.inf
        self.update = SamplingUpdate(-np.inf, 0, None, "", self.robot.name, self.config_id)
        return self.update

    def take(self, reading: Readings) -> SamplingUpdate | None:
        """A reading; an update if it ends what an identification waits for.

        Raises:
            LogError: a joint state lacks a joint.
        """
        self.session.take(reading)
        if reading.joints is not None and "joint_position" in reading.values:
            self._watch(reading.stamp, reading.values["joint_position"])
        self._tidy()
        return self._identify()

    def take_set_point(self, stamp: float, names: tuple[str, ...], position: Array) -> SamplingUpdate | None:
        """Set-points of all joints, likewise.

        Raises:
            LogError: a joint is missing.
        """
        self.session.take_set_point(stamp, names, position)
        self._tidy()
        return self._identify()

    def _watch(self, stamp: float, q: Array) -> None:
        """Counts motion and rest, and notes when the one has been followed by the other."""
        recent = self._recent
        recent.append((stamp, q))
        # All that is in any window that ended since the last look, on the grid of the simulations too: the whole
        # recording tells every motion, and none may be forgotten that lay between two looks.
        while recent and recent[0][0] < self._looked - MOVING_WINDOW - self.config.sampling.step:
            recent.popleft()
        if stamp < self._looked + _LOOK:
            return
        if -np.inf < self._looked < stamp - _PATIENCE:
            self.session.leave_out(self._looked, stamp - _PATIENCE)
        self._looked = stamp
        rows = np.array([row for _, row in recent])
        if (np.ptp(rows, axis=0) > MOVING).any():
            self._moved, self._still = self._moved + _LOOK, 0.0
            self._moving.append(stamp)
        else:
            self._stood = self._stood if self._still else stamp
            self._still += _LOOK
        if self._still >= self.config.rest and self._moved >= self.config.least and self._due == np.inf:
            self._due, self._moved = stamp, 0.0

    def _tidy(self) -> None:
        """Forgets what no identification will need."""
        session = self.session
        if session.common_start > self._looked:  # the streams have no time in common yet
            session.trim(-np.inf, _PATIENCE)
            return
        session.trim(self._looked, _PATIENCE)  # where joints are silent nobody knows whether the robot moves
        if self._due < np.inf:  # what an identification is made from is not to depend on how long it waits
            return
        if self._still:
            self._forget(max(self._stood, session.common_start + MOVING_WINDOW), self._looked - MOVING_WINDOW)
        elif len(self._moving) > (self.config.memory + _TIDY) / _LOOK:
            while len(self._moving) > self.config.memory / _LOOK:
                oldest = self._moving.popleft()
            session.forget(oldest)

    def _forget(self, begin: float, end: float) -> None:
        """Lets go of readings between two stamps [s], once it is worth while."""
        if end >= max(begin, self._forgotten) + _TIDY:
            self._forgotten = end
            self.session.leave_out(begin, end)

    def _identify(self) -> SamplingUpdate | None:
        if self.session.common_end < self._due and self._looked < self._due + _PATIENCE:
            return None
        stamp, self._due = self._due, np.inf
        found, fault = None, ""
        try:
            found = self.session.identify(until=stamp)
        except InputError as error:
            fault = str(error)
        self.update = SamplingUpdate(stamp, self.update.number + 1, found, fault, self.robot.name, self.config_id)
        return self.update


def sampling_config_id(robot: Robot, config: SamplingSessionConfig) -> str:
    """Digest of what an estimate depends on besides the data: two nodes that agree on it speak of the same numbers."""
    flat = {
        key: value for key, value in to_flat(config).items() if key.startswith(("sampling.", "motor.", "robot", "urdf"))
    }
    return digest(robot.urdf, {key: str(value) for key, value in flat.items()})
