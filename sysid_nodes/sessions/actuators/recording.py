# SPDX-License-Identifier: Apache-2.0
"""From recorded messages to an actuator log."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.exceptions import LogError, SamplesError
from sysid_nodes.logs.command_reader import RawSetPoints
from sysid_nodes.robots import Robot
from sysid_nodes.signals.set_points import SetPoints
from sysid_nodes.signals.stream import JointStream

Array = npt.NDArray[np.float64]

SAMPLED = 2e-3
"""Spacing at which trajectories of several points are sampled, as the controllers that join them do [s]."""


def recorded_log(robot: Robot, states: Iterable[RawJointState], commands: Iterable[RawSetPoints]) -> ActuatorLog:
    """The log of a robot's joints.

    Single points hold until the next; trajectories of several are sampled as a joint trajectory controller joins them.

    Raises:
        LogError: commands lack a joint or a stamp, or there is nothing usable.
    """
    t, q = _encoders(robot, states)
    command_t, command, rate = _commands(robot, commands)
    return ActuatorLog(robot.joint_names, t, q, command_t, command, rate)


def _encoders(robot: Robot, states: Iterable[RawJointState]) -> tuple[Array, Array]:
    stream, samples = JointStream(robot.joint_names, robot.wraps), []
    for state in states:
        # Velocity and effort are not needed, and drivers leave them out.
        blank = np.zeros(len(state.names))
        velocity = state.velocity if len(state.velocity) == len(state.names) else blank
        sample = stream.push(state.names, state.stamp, state.position, velocity, blank)
        if sample is not None:
            samples.append(sample)
    if not samples:
        reasons = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in sorted(stream.rejected.items()))
        raise LogError(f"holds no usable joint state (rejected: {reasons})")
    if stream.restarts:
        raise LogError("the clock of the joint states was set back")
    return np.array([sample.t for sample in samples]), np.array([sample.q for sample in samples])


def _commands(robot: Robot, commands: Iterable[RawSetPoints]) -> tuple[Array, Array, Array | None]:
    """Times, positions and, where every command has them, velocities."""
    taken: list[tuple[RawSetPoints, list[int]]] = []
    for k, raw in enumerate(commands):
        if missing := [name for name in robot.joint_names if name not in raw.names]:
            raise LogError(f"command {k} has no joint '{missing[0]}'")
        if not raw.stamped:
            raise LogError(f"command {k} has no stamp: when it was given is what a delay is counted from")
        if len(raw.t):
            taken.append((raw, [raw.names.index(name) for name in robot.joint_names]))
    if not taken:
        raise LogError("holds no command with a point")
    moving = all(raw.qd is not None for raw, _ in taken)
    if all(len(raw.t) == 1 for raw, _ in taken):
        points: dict[float, tuple[Array, Array | None]] = {}
        for raw, columns in taken:  # of two with one stamp the later holds
            points[float(raw.t[0])] = raw.q[0, columns], None if raw.qd is None else raw.qd[0, columns]
        times = sorted(points)
        rate = np.array([points[t][1] for t in times]) if moving else None
        return np.array(times), np.array([points[t][0] for t in times]), rate
    wanted = SetPoints(robot.n)
    for k, (raw, columns) in enumerate(taken):
        try:
            wanted.take(raw.begin, raw.t, raw.q[:, columns], None if raw.qd is None else raw.qd[:, columns])
        except SamplesError as error:
            raise LogError(f"command {k}: {error}") from None
    end = max(float(raw.t[-1]) for raw, _ in taken)
    grid = np.arange(wanted.begin, end + SAMPLED, SAMPLED)
    q, qd = wanted.at(grid)
    return grid, q, qd if moving else None
