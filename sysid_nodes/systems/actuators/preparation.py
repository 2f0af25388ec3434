# SPDX-License-Identifier: Apache-2.0
"""From a log to one problem a joint: an even grid, the filtered motion, and what the rigid body asks for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.exceptions import ConfigError, ExcitationError, LogError
from sysid_nodes.models.actuator import friction_levels
from sysid_nodes.models.held_command import HeldCommand
from sysid_nodes.models.joint_load import joint_load
from sysid_nodes.robots import Robot
from sysid_nodes.systems.actuators.config import ActuatorConfig, MotionConfig
from sysid_nodes.systems.actuators.readings import fresh_samples

Array = npt.NDArray[np.float64]

_LEAST = 50
"""Samples below which a log says nothing."""

_ROUNDED = 1e-4
"""By which gains in messages may differ from those stated: they are in single precision."""

_SHORT = 12
"""Samples between two holes below which there is nothing to filter."""

_PAD = 1.0
"""Time by which a motion is continued beyond its ends before it is filtered [s]."""


@dataclass(frozen=True)
class JointMotion:
    """One joint along a log, on an even grid of S samples and of N = (S - 1) stride steps.

    Attributes:
        name: of the joint.
        t: (S,) [s].
        q: (S,) measured [rad].
        smooth, velocity, acceleration: (S,) filtered, and its derivatives [rad, rad/s, rad/s2].
        measured: (S,) whether there was a measurement.
        breaks: samples at which a segment must begin.
        step: [s].
        stride: steps from sample to sample.
        command, command_rate, command_torque: of the joint; rate and torque may be None.
        stiffness, damping: of its drive.
        inertia, load: (N,) of the rigid body at the steps' middles [kg m2, N m].
        torque: (S,) that the rigid body takes [N m].
        levels: (N, 3) of dry friction, see `friction_levels`.
        middle: of the motion [rad].
    """

    name: str
    t: Array
    q: Array
    smooth: Array
    velocity: Array
    acceleration: Array
    measured: npt.NDArray[np.bool_]
    breaks: tuple[int, ...]
    step: float
    stride: int
    command: HeldCommand
    command_rate: HeldCommand | None
    command_torque: HeldCommand | None
    stiffness: float
    damping: float
    inertia: Array
    load: Array
    torque: Array
    levels: Array
    middle: float

    @property
    def open_loop(self) -> bool:
        """Whether nothing but torques drives the joint: no law holds it where it should be."""
        return self.stiffness == 0.0 and self.damping == 0.0

    @cached_property
    def edges(self) -> Array:
        """(N + 1,) times between which the steps are [s]."""
        return np.asarray(self.t[0] + self.step * np.arange(len(self.load) + 1))


def prepare(log: ActuatorLog, robot: Robot, config: ActuatorConfig) -> tuple[JointMotion, ...]:
    """The log's joints, in the robot's order.

    Raises:
        LogError: joints of the robot are missing, commands and encoders have no time in common, or a joint repeats its
            readings.
        ExcitationError: the log is too short.
        ConfigError: nobody states the drives' gains.
    """
    columns = _columns(log, robot)
    stiffness = _gains(log.stiffness, config.law.stiffness, columns, "stiffness")
    damping = _gains(log.damping, config.law.damping, columns, "damping")
    if log.command_t[0] > log.t[-1] or log.command_t[-1] < log.t[0]:
        raise LogError("commands and encoders have no time in common; are their stamps of one clock?")
    begin = max(float(log.t[0]), float(log.command_t[0]))  # nobody knows what was told before
    told = log.t >= begin
    if told.sum() < _LEAST:
        raise ExcitationError(f"has {int(told.sum())} samples since the first command; at least {_LEAST} are needed")
    new = fresh_samples(log.q[told][:, columns], robot.joint_names)
    _check_repeats(log.t[told], new, config.motion.cutoff)
    t, q, measured, breaks = _resample_evenly(log.t[told][new], log.q[told][new][:, columns], config.motion.gap)
    dt = float(t[1] - t[0])
    smooth, velocity, acceleration = _filter(q, dt, breaks, config.motion)
    load = joint_load(robot, smooth, velocity, acceleration)
    stride = math.ceil(dt / config.motion.step - 1e-2)  # single-precision stamps must not cost a step
    middles = t[0] + dt / stride * (np.arange((len(t) - 1) * stride) + 0.5)
    straight = config.law.command == "straight"
    motions = []
    for j, column in enumerate(columns):
        middle = 0.5 * float(smooth[:, j].min() + smooth[:, j].max())
        torque, position = (np.interp(middles, t, x[:, j]) for x in (load.torque, smooth))
        rate, told_torque = log.command_rate, log.torque
        motions.append(
            JointMotion(
                name=robot.joint_names[j],
                t=t,
                q=q[:, j],
                smooth=smooth[:, j],
                velocity=velocity[:, j],
                acceleration=acceleration[:, j],
                measured=measured,
                breaks=breaks,
                step=dt / stride,
                stride=stride,
                command=HeldCommand(log.command_t, log.command[:, column], straight),
                command_rate=None if rate is None else HeldCommand(log.command_t, rate[:, column], straight),
                command_torque=None
                if told_torque is None
                else HeldCommand(log.command_t, told_torque[:, column], straight),
                stiffness=stiffness[j],
                damping=damping[j],
                inertia=np.interp(middles, t, load.inertia[:, j]),
                load=np.interp(middles, t, load.load[:, j]),
                torque=load.torque[:, j],
                levels=friction_levels(position, torque, middle),
                middle=middle,
            )
        )
    return tuple(motions)


def _columns(log: ActuatorLog, robot: Robot) -> list[int]:
    order = JointOrder(robot.joint_names)
    columns = order.columns(log.names)
    if columns is None:
        fault = order.fault(log.names)
        raise LogError(f"has {fault} of robot '{robot.name}'; it has {', '.join(log.names)}")
    return [int(column) for column in columns]


def _gains(logged: Array | None, chosen: tuple[float, ...], columns: list[int], name: str) -> list[float]:
    if not chosen and logged is None:
        raise ConfigError(f"the log does not state the drives' {name}; give it with law.{name}")
    if len(chosen) not in (0, 1, len(columns)):
        raise ConfigError(f"'law.{name}' must have 1 or {len(columns)} values, got {len(chosen)}")
    stated = chosen if len(chosen) != 1 else chosen * len(columns)
    said = stated if logged is None else tuple(float(logged[column]) for column in columns)
    if stated and not np.allclose(said, stated, rtol=_ROUNDED, atol=0.0):
        j = int(np.argmax(np.abs(np.subtract(said, stated))))
        raise ConfigError(f"the log says {said[j]:g}, 'law.{name}' {stated[j]:g} of joint {j + 1}: which is right?")
    return [float(x) for x in said]


def _check_repeats(t: Array, new: npt.NDArray[np.bool_], cutoff: float) -> None:
    """Whether readings that are sent again leave enough new ones for a filter's cutoff [Hz]."""
    periods = np.diff(t[new])
    again = periods[periods > 1.5 * float(np.median(np.diff(t)))]
    if new.all() or not again.size or (period := float(np.median(again))) < 0.5 / cutoff:
        return
    raise LogError(
        f"readings are sent again and again, new ones come every {1e3 * period:.0f} ms only; "
        f"a filter of {cutoff:g} Hz needs more"
    )


def _resample_evenly(t: Array, q: Array, gap: float) -> tuple[Array, Array, npt.NDArray[np.bool_], tuple[int, ...]]:
    """Samples on a grid of the median spacing; straight lines between stamps, nothing measured within gaps."""
    dt, mean = float(np.median(np.diff(t))), float(t[-1] - t[0]) / (len(t) - 1)
    if abs(mean - dt) < 1e-3 * dt:
        dt = mean  # stamps that are rounded, as to single precision, must not add up
    grid = t[0] + dt * np.arange(int((t[-1] - t[0]) / dt + 1e-6) + 1)
    if len(grid) == len(t) and np.abs(grid - t).max() < 0.02 * dt:
        return grid, q, np.ones(len(t), dtype=np.bool_), ()
    even = np.stack([np.interp(grid, t, column) for column in q.T], axis=1)
    after = np.clip(np.searchsorted(t, grid), 1, len(t) - 1)
    near = np.minimum(np.abs(grid - t[after]), np.abs(grid - t[after - 1])) <= dt
    inside = (t[after] - t[after - 1] > gap) & ~near
    breaks = np.flatnonzero(inside[:-1] & ~inside[1:]) + 1
    return grid, even, near | ~inside, tuple(int(k) for k in breaks)


def _filter(q: Array, dt: float, breaks: tuple[int, ...], config: MotionConfig) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations without delay; what comes before a hole says nothing of what follows."""
    from scipy import signal  # with all statistics behind it: half a second that other commands need not wait

    b, a = signal.butter(2, min(config.cutoff, 0.45 / dt), fs=1.0 / dt)
    smooth, velocity, acceleration = np.empty_like(q), np.empty_like(q), np.empty_like(q)
    for begin, end in pairwise([0, *breaks, len(q)]):
        part = slice(begin, end)
        if end - begin < _SHORT:
            smooth[part], velocity[part], acceleration[part] = q[part], 0.0, 0.0
            continue
        pad = min(int(_PAD / dt), end - begin - 2)
        smooth[part] = signal.filtfilt(b, a, q[part], axis=0, padlen=pad)
        velocity[part] = np.gradient(smooth[part], dt, axis=0)
        acceleration[part] = np.gradient(velocity[part], dt, axis=0)
    return smooth, velocity, acceleration
