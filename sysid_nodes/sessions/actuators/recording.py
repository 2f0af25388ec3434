# SPDX-License-Identifier: Apache-2.0
"""From recorded messages to an actuator log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.exceptions import LogError, SamplesError
from sysid_nodes.logs.command_reader import RawSetPoints
from sysid_nodes.robots import Robot
from sysid_nodes.sessions.actuators.command_series import CommandSeries, select_joints, single_points
from sysid_nodes.signals.set_points import SetPoints
from sysid_nodes.signals.stream import JointStream

Array = npt.NDArray[np.float64]

SAMPLED = 2e-3
"""Spacing at which trajectories of several points are sampled, as the controllers that join them do [s]."""


def recorded_log(robot: Robot, states: Iterable[RawJointState], commands: Iterable[RawSetPoints]) -> ActuatorLog:
    """The log of a robot's joints.

    Single points hold until the next; trajectories of several are sampled as a joint trajectory controller joins them.
    Commands that state gains are used as long as these stay the same, for the longest time that they do.

    Raises:
        LogError: commands lack a joint or a stamp, or there is nothing usable.
    """
    t, q, _ = _encoders(robot, states, with_effort=False)
    told = _commands(robot, commands)
    log = ActuatorLog(robot.joint_names, t, q, told.t, told.q, told.qd, None, None, told.torque)
    return log if told.gains is None else with_constant_gains(log, told.gains)


def torque_log(robot: Robot, states: Iterable[RawJointState]) -> ActuatorLog:
    """The log of joints of which there is no command, driven by the efforts that were measured with the positions.

    Raises:
        LogError: there is nothing usable, or there are no efforts.
    """
    t, q, effort = _encoders(robot, states, with_effort=True)
    if not effort.any():
        raise LogError("the joint states hold no effort to drive the joints with")
    nothing = np.zeros(robot.n)
    return ActuatorLog(robot.joint_names, t, q, t, q, None, nothing, nothing, effort)


def with_constant_gains(log: ActuatorLog, gains: Array) -> ActuatorLog:
    """The longest part of a log in which gains (M, 2, n) of stiffness and damping are the same.

    Raises:
        LogError: fewer than two samples fall into it.
    """
    changes = np.flatnonzero((np.diff(gains, axis=0) != 0.0).any(axis=(1, 2))) + 1
    ends = np.append(log.command_t[changes], max(float(log.t[-1]), float(log.command_t[-1])))
    begins = np.append(log.command_t[0], log.command_t[changes])
    best = int(np.argmax(ends - begins))
    begin, end = float(begins[best]), float(ends[best])
    used = (log.command_t >= begin) & (log.command_t <= end if best == len(changes) else log.command_t < end)
    notes = log.notes
    if len(changes):
        notes += (
            f"the drives' gains change; {end - begin:.1f} s of {ends[-1] - begins[0]:.1f} s with one set are used",
        )
    stiffness, damping = gains[int(np.argmax(used))]
    rate, torque = (None if x is None else x[used] for x in (log.command_rate, log.torque))
    try:
        part = log.between(begin, end)
    except SamplesError as error:
        raise LogError(f"the drives' gains never stay the same: {error}") from None
    return replace(
        part, command_t=log.command_t[used], command=log.command[used], command_rate=rate, torque=torque,
        stiffness=stiffness, damping=damping, notes=notes,
    )  # fmt: skip


def _encoders(robot: Robot, states: Iterable[RawJointState], *, with_effort: bool) -> tuple[Array, Array, Array]:
    """Times, positions and efforts; these are zero where drivers leave them out."""
    stream, samples = JointStream(robot.joint_names, robot.wraps), []
    for state in states:
        # Drivers leave velocities and efforts out.
        blank = np.zeros(len(state.names))
        velocity = state.velocity if len(state.velocity) == len(state.names) else blank
        effort = state.effort if with_effort and len(state.effort) == len(state.names) else blank
        sample = stream.push(state.names, state.stamp, state.position, velocity, effort)
        if sample is not None:
            samples.append(sample)
    if not samples:
        reasons = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in sorted(stream.rejected.items()))
        raise LogError(f"holds no usable joint state (rejected: {reasons})")
    if stream.restarts:
        raise LogError("the clock of the joint states was set back")
    t, q, effort = (np.array([getattr(sample, name) for sample in samples]) for name in ("t", "q", "tau"))
    return t, q, effort


def _commands(robot: Robot, commands: Iterable[RawSetPoints]) -> CommandSeries:
    order, taken = JointOrder(robot.joint_names), []
    for k, raw in enumerate(commands):
        columns = order.columns(raw.names)
        if columns is None:
            raise LogError(f"command {k} has {order.fault(raw.names)}")
        if not raw.stamped:
            raise LogError(f"command {k} has no stamp: when it was given is what a delay is counted from")
        if len(raw.t):
            taken.append(select_joints(raw, order.names, columns))
    if not taken:
        raise LogError("holds no command with a point")
    if all(len(raw.t) == 1 for raw in taken):
        points = {float(raw.t[0]): raw for raw in taken}  # of two with one stamp the later holds
        return single_points([points[t] for t in sorted(points)])
    wanted = SetPoints(robot.n)
    for k, raw in enumerate(taken):
        try:
            wanted.take(raw.begin, raw.t, raw.q, raw.qd)
        except SamplesError as error:
            raise LogError(f"command {k}: {error}") from None
    end = max(float(raw.t[-1]) for raw in taken)
    grid = np.arange(wanted.begin, end + SAMPLED, SAMPLED)
    q, qd = wanted.at(grid)
    return CommandSeries(grid, q, qd if all(raw.qd is not None for raw in taken) else None)
