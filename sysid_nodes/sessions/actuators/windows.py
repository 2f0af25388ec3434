# SPDX-License-Identifier: Apache-2.0
"""Joint states and commands, in whatever order they arrive, cut into windows of motion."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.logs.command_reader import RawSetPoints
from sysid_nodes.robots import Robot
from sysid_nodes.sessions.actuators.command_series import CommandSeries
from sysid_nodes.sessions.actuators.commands import CommandBuffer
from sysid_nodes.signals.stream import JointStream
from sysid_nodes.systems.actuators.online import MotionWindow, OnlineConfig
from sysid_nodes.systems.actuators.online.memory import REACH

Array = npt.NDArray[np.float64]


class WindowCutter:
    """Windows of one length, counted in the encoders' stamps; one with a hole in it, or without commands, is not used.

    A window is cut once both encoders and commands have got past its end, or the encoders by `wait` [s]. What is in it
    is decided by stamps alone: neither the order in which the two topics' messages arrive nor the machine's speed makes
    a difference, unless a command comes later than `wait`.

    Args:
        robot: names and wraps of the joints.
        gap: silence of the encoders that is a hole [s].

    Attributes:
        stream: of the encoders.
        commands: that wait.
        dropped: stretches of motion not used, by reason.
    """

    def __init__(self, robot: Robot, config: OnlineConfig, gap: float) -> None:
        self._config, self._gap = config, gap
        self.stream = JointStream(robot.joint_names, robot.wraps)
        self.commands = CommandBuffer(robot.joint_names)
        self.dropped: Counter[str] = Counter()
        self._t: list[float] = []
        self._q: list[Array] = []
        self._hole = self._joins = False
        self._number = 0
        self._restarts = 0

    def take_state(self, raw: RawJointState) -> list[MotionWindow]:
        """Takes a joint state; the windows that are complete then."""
        # Velocity and effort are not needed, and drivers leave them out.
        blank = np.zeros(len(raw.names))
        velocity = raw.velocity if len(raw.velocity) == len(raw.names) else blank
        sample = self.stream.push(raw.names, raw.stamp, raw.position, velocity, blank)
        if sample is None:
            return []
        if (restarts := sum(self.stream.restarts.values())) != self._restarts:
            self._restarts = restarts
            self.interrupt("the clock was set")
        self._hole |= bool(self._t) and sample.t - self._t[-1] > self._gap
        self._t.append(sample.t)
        self._q.append(sample.q)
        return self._cut()

    def take_command(self, raw: RawSetPoints) -> list[MotionWindow]:
        """Takes a command; the windows that are complete then."""
        self.commands.push(raw)
        found = self._cut()
        # Encoders that are silent leave commands without a window to go to.
        oldest = self.commands.newest - self._config.window - self._config.wait
        if self._t and self._t[-1] < oldest:
            self._drop(len(self._t), "a hole")
        if not self._t:
            self.commands.forget(oldest - REACH)
        return found

    def interrupt(self, reason: str) -> None:
        """Forgets samples and commands of the window that is under way: messages may have been lost."""
        self._drop(len(self._t), reason)
        self.commands.clear()

    def _cut(self) -> list[MotionWindow]:
        found = []
        while self._t:
            begin = self._t[0]
            end = begin + self._config.window
            if self._hole and self._drop_before_hole(end):
                continue
            newest = self._t[-1]
            if newest < end or (self.commands.newest < end and newest < end + self._config.wait):
                break
            given = self.commands.between(begin - REACH, end)
            inside = int(np.searchsorted(self._t, end))
            if given is None:
                self._drop(inside, "no command")
            elif given.t[0] > begin:  # nobody knows what was told before
                self._drop(min(int(np.searchsorted(self._t, given.t[0])), inside), "before the first command")
            elif given.gains is not None and (given.gains != given.gains[0]).any():
                self._drop(inside, "the drives' gains change")
            else:
                found.append(self._window(inside, given))
                self.commands.forget(end - REACH)
        return found

    def _window(self, count: int, told: CommandSeries) -> MotionWindow:
        stiffness, damping = (None, None) if told.gains is None else told.gains[0]
        t, q = np.array(self._t[:count]), np.array(self._q[:count])
        log = ActuatorLog(self.stream.names, t, q, told.t, told.q, told.qd, stiffness, damping, told.torque)
        window = MotionWindow(self._number, log, self._joins)
        self._number += 1
        self._joins = True
        del self._t[:count], self._q[:count]
        return window

    def _drop_before_hole(self, end: float) -> bool:
        """Drops what is before a hole that begins before a time; whether there was one."""
        t = np.array(self._t)
        holes = np.flatnonzero(np.diff(t) > self._gap)
        self._hole = bool(holes.size)
        if not holes.size or t[holes[0]] >= end:
            return False
        self._drop(int(holes[0]) + 1, "a hole")
        return True

    def _drop(self, count: int, reason: str) -> None:
        if count:
            self.dropped[reason] += 1
            del self._t[:count], self._q[:count]
        self._joins = False
