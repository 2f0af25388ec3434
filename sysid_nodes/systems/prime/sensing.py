# SPDX-License-Identifier: Apache-2.0
"""Measurement residuals: each sensor model on the velocity that its readings were averaged over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel.sensor_rows import Moved, Read, SensorKernel
from sysid_nodes.models.discrete_motion import DiscreteMotion, chain, chain_mean, discrete_motion
from sysid_nodes.robots import Robot
from sysid_nodes.sensors import Linearisation, Samples, Sensor, SensorsConfig, States, sensor_configs
from sysid_nodes.sensors.compiled import compiled_sensor
from sysid_nodes.sensors.late import LateSensor, follow_rates, with_rates
from sysid_nodes.signals.channel_config import Window
from sysid_nodes.solvers.trajectory_least_squares import Blocks, Cauchy
from sysid_nodes.solvers.trajectory_least_squares.problem import Loss
from sysid_nodes.systems.prime.parameters import TORQUE, Parameters
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]


class _Told(NamedTuple):
    """Residuals at a point, and how they change with the readings."""

    point: Trajectory
    residual: Array
    by_reading: Array | None


@dataclass(frozen=True)
class Readings:
    """A sensor's samples at the stages that its window allows.

    Attributes:
        sensor: its model.
        window: part of the signal in a sample; decides which velocity is compared with it.
        samples: with steps counted from the first stage.
        columns: of its parameters.
        loss: robust loss of a sample's residual, or None.
        kernel: that makes the same rows, or None.
    """

    sensor: Sensor
    window: Window
    samples: Samples
    columns: slice
    loss: Loss | None = None
    kernel: SensorKernel | None = None
    _constant: list[Blocks] = field(default_factory=list, init=False, repr=False, compare=False)
    _told: list[_Told] = field(default_factory=list, init=False, repr=False, compare=False)

    def residual(self, point: Trajectory, motion: DiscreteMotion) -> Array:
        """(B, m) whitened."""
        if self.kernel is not None:
            return self.kernel.residual(_moved(point, motion), self._read, point.theta[self.columns])
        return self.sensor.residual(self.samples, self._states(point, motion), point.theta[self.columns])

    def blocks(self, point: Trajectory, motion: DiscreteMotion) -> Blocks:
        """The residual with its derivatives, which for a sensor of `LINEAR` are made once."""
        if self.sensor.name not in LINEAR:
            return self._linearise(point, motion)
        if not self._constant:
            self._constant.append(self._linearise(point, motion))
        return replace(self._constant[0], residual=self.residual(point, motion))

    def by_reading(self, point: Trajectory, step: float) -> tuple[Array, Array | None]:
        """(B, m) residual and (B, m, d) derivative by the readings; of `blocks` where they were made there last."""
        if not self._told or self._told[-1].point is not point:
            self._linearise(point, discrete_motion(point.q, step))
        return self._told[-1].residual, self._told[-1].by_reading

    def between(self, count: int, point: Trajectory, head: Trajectory) -> Readings:
        """The readings at the first stages alone.

        Args:
            count: how many stages.
            point: at which all were linearised last, about.
            head: its first stages.
        """
        part = replace(self, samples=self.samples.between(0, count))
        if self._told and self._told[-1].point is point:
            kept, (_, residual, by) = slice(len(part.samples)), self._told[-1]
            part._told.append(_Told(head, residual[kept], None if by is None else by[kept]))
        return part

    @cached_property
    def _read(self) -> Read:
        own, late = self.samples, isinstance(self.sensor, LateSensor)
        rates = np.ascontiguousarray(own.rates) if late and own.rates is not None else np.zeros((0, 0, 0))
        return Read(own.steps, np.ascontiguousarray(own.values), own.weights, rates)

    def _linearise(self, point: Trajectory, motion: DiscreteMotion) -> Blocks:
        theta, count = point.theta[self.columns], len(point.theta)
        by_reading: Array | None
        if self.kernel is not None:
            residual, jacobian, by_parameter, by_reading = self.kernel.linearise(
                _moved(point, motion), self._read, theta, self.columns.start, count
            )
            first = self.samples.steps if jacobian.shape[2] == motion.mean.shape[1] else self._before
        else:
            found = self.sensor.linearise(self.samples, self._states(point, motion), theta)
            residual, by_reading = found.residual, found.reading
            by_parameter = np.zeros((*residual.shape, 0 if found.parameters is None else count))
            if found.parameters is not None:
                by_parameter[:, :, self.columns] = found.parameters
            first, jacobian = self._jacobian(found, motion)
        self._told[:] = [_Told(point, residual, by_reading)]
        return Blocks(first, residual, jacobian, by_parameter if by_parameter.shape[2] else None, loss=self.loss)

    @cached_property
    def _before(self) -> IntArray:
        """(B,) first stages whose velocity or acceleration a sample is compared with."""
        return self.samples.steps - int(self.window is not Window.AFTER)

    def _jacobian(self, found: Linearisation, motion: DiscreteMotion) -> tuple[IntArray, Array]:
        """First stage and derivatives by the one, two or three stages that the prediction needs."""
        steps, nv = self.samples.steps, motion.mean.shape[1]
        count, rows = found.residual.shape
        if found.v is None and found.a is None:
            return steps, np.zeros((count, rows, nv)) if found.q is None else found.q
        by_velocity = np.zeros((count, rows, nv)) if found.v is None else found.v
        own, first = int(self.window is not Window.AFTER), self._before
        if self.window in (Window.BEFORE, Window.AFTER):
            jacobian = chain_mean(motion, by_velocity, first, own)
        else:
            jacobian = chain(motion, by_velocity, found.a, first)
        if found.q is not None:
            jacobian[:, :, own] += found.q
        return first, jacobian.reshape(count, rows, -1)

    def _states(self, point: Trajectory, motion: DiscreteMotion) -> States:
        steps = self.samples.steps
        if self.window is Window.BEFORE:
            return States(point.q[steps], motion.mean_in(1)[steps - 1])
        if self.window is Window.AFTER:
            return States(point.q[steps], motion.mean_in(0)[steps])
        # A sensor of poses alone may have samples at both ends, where no velocity is defined and none is looked at.
        inner = np.minimum(np.maximum(steps - 1, 0), len(motion.velocity) - 1)
        return States(point.q[steps], motion.velocity[inner], motion.acceleration[inner])


def _moved(point: Trajectory, motion: DiscreteMotion) -> Moved:
    return Moved(point.q, motion.mean, motion.turn_jacobian, motion.velocity, motion.acceleration, motion.rotation)


def build_readings(
    sensors: Sequence[Sensor],
    moving: frozenset[str],
    config: SensorsConfig,
    parameters: Parameters,
    samples: Mapping[str, Samples],
    stages: int,
    step: float,
    kernels: Mapping[str, SensorKernel],
) -> tuple[Readings, ...]:
    """Readings of all sensors but the joint torques, which are the dynamics' other side.

    Args:
        sensors: all of them.
        moving: `moving_sensors`.
        config: of the sensors.
        parameters: layout of theta.
        samples: readings of each sensor by its name.
        stages: N.
        step: between them [s].
        kernels: `sensor_kernels`.
    """
    windows = sensor_windows(config)
    readings = []
    for sensor in sensors:
        if sensor.name == TORQUE or sensor.name not in samples:
            continue
        window = windows[sensor.name]
        moves = sensor.name in moving
        first = 1 if moves and window is not Window.AFTER else 0
        last = stages - 1 - int(moves and window is not Window.BEFORE)
        kept = _samples_between(samples[sensor.name], first, last)
        if len(kept):
            if isinstance(sensor, LateSensor) and kept.rates is None:
                kept = with_rates(kept, sensor.kind, step)
            loss = Cauchy(2.0 * np.sqrt(sensor.rows)) if sensor.name in ROBUST else None
            columns, kernel = parameters.sensors[sensor.name], kernels.get(sensor.name)
            readings.append(Readings(sensor, window, kept, columns, loss, kernel))
    return tuple(readings)


def sensor_windows(config: SensorsConfig) -> dict[str, Window]:
    """Part of the signal in a sample, by sensor."""
    return {name: Window(channel.window) for name, channel in sensor_configs(config).items()}


def sensor_kernels(
    sensors: Sequence[Sensor], config: SensorsConfig, step: float, implementation: str
) -> dict[str, SensorKernel]:
    """Kernels of the sensors' rows, of those that have one."""
    windows = sensor_windows(config)
    found = {
        sensor.name: compiled_sensor(sensor, windows[sensor.name], step, implementation)
        for sensor in sensors
        if sensor.name != TORQUE
    }
    return {name: kernel for name, kernel in found.items() if kernel is not None}


def follow_late_streams(
    sensors: Sequence[Sensor], samples: Mapping[str, Samples], before: Mapping[str, Samples], step: float
) -> dict[str, Samples]:
    """A window's samples of all sensors, late ones' with their rates, from those before others came."""
    late = {sensor.name: sensor for sensor in sensors if isinstance(sensor, LateSensor)}
    return {
        name: follow_rates(own, before.get(name), late[name].kind, step) if name in late else own
        for name, own in samples.items()
    }


def torque_rows(
    robot: Robot, sensors: Sequence[Sensor], samples: Mapping[str, Samples], stages: int, step: float
) -> tuple[Array, Array, Array]:
    """Measured torques (K, n) at the K = stages - 2 inner stages, 1/sigma of each, by a drive without gain error, and
    their first derivatives by time (K, r, n), none where they are not late.

    A stage without a reading has zero torque, give or take the motors' limits: little, but with it a stage that only a
    slower stream has reached does not leave the whole log undetermined. Without any reading the scale is zero.
    """
    torque, scale = np.zeros((2, max(stages - 2, 0), robot.n))
    rates = np.zeros((len(torque), 0, robot.n))
    for sensor in sensors:
        if sensor.name == TORQUE and TORQUE in samples:
            kept = _samples_between(samples[TORQUE], 1, stages - 2)
            if isinstance(sensor, LateSensor) and kept.rates is None:
                kept = with_rates(kept, sensor.kind, step)
            rest = _states_at_rest(robot, len(kept))
            found = sensor.linearise(kept, rest, np.zeros(_prior_mean(sensor).shape))
            if len(kept):
                scale[:] = 1.0 / robot.limits.torque
            torque[kept.steps - 1] = kept.values
            scale[kept.steps - 1] = np.diagonal(np.asarray(found.tau), axis1=1, axis2=2)
            if kept.rates is not None:
                rates = np.zeros((len(torque), *kept.rates.shape[1:]))
                rates[kept.steps - 1] = kept.rates
    return torque, scale, rates


ROBUST = ("mocap_pose",)
"""Sensors with a robust loss, which good readings (norm about sqrt(rows)) hardly feel. Markers get swapped and the pose
jumps, while feet and IMU carry the motion over; where every sensor has such a loss, it is the good ones that yield."""


LINEAR = ("joint_position", "joint_velocity")
"""Sensors whose derivatives are the same wherever they are taken."""


def _samples_between(samples: Samples, first: int, last: int) -> Samples:
    """Usable samples at steps first..last."""
    kept = (samples.steps >= first) & (samples.steps <= last) & samples.usable
    return samples.take(kept)


def moving_sensors(robot: Robot, sensors: Sequence[Sensor]) -> frozenset[str]:
    """Names of the sensors whose predictions change with velocity or acceleration."""
    others = (sensor for sensor in sensors if sensor.name != TORQUE)
    return frozenset(sensor.name for sensor in others if _needs_velocity(robot, sensor))


def _needs_velocity(robot: Robot, sensor: Sensor) -> bool:
    """Whether a sensor's prediction changes with velocity or acceleration, and so needs neighbouring stages."""
    reading = np.zeros((1, sensor.width))
    reading[:, -1] = 1.0  # a unit quaternion, if it is one
    probe = Samples(np.zeros(1, dtype=np.int64), reading, np.ones(1))
    found = sensor.linearise(probe, _states_at_rest(robot, 1), _prior_mean(sensor))
    return found.v is not None or found.a is not None


def _prior_mean(sensor: Sensor) -> Array:
    return np.concatenate([np.zeros(0), *(entry.mean for entry in sensor.parameters)])


def _states_at_rest(robot: Robot, count: int) -> States:
    q = np.zeros((count, robot.model.nq))
    q[:, 6] = 1.0
    rest = np.zeros((count, robot.model.nv))
    return States(q, rest, rest, np.zeros((count, robot.n)))
