# SPDX-License-Identifier: Apache-2.0
"""A simulated legged robot that stands in for hardware, seen through its sensors only."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import pinocchio

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.robots.robot import Array
from sysid_nodes.rollouts.legged_model import build_legged_mujoco
from sysid_nodes.rollouts.shells import shell
from sysid_nodes.rollouts.state import rotation_of
from sysid_nodes.simulation.legged.commanded import CommandedController
from sysid_nodes.simulation.legged.faults import Fault
from sysid_nodes.simulation.legged.load import loaded_bodies
from sysid_nodes.simulation.legged.plant import LeggedPlant, Torque
from sysid_nodes.simulation.legged.programme import build_controller, standing_configuration
from sysid_nodes.simulation.legged.scenario import COMMANDED, LeggedSimulationConfig
from sysid_nodes.simulation.legged.sensors import Observed, Reading
from sysid_nodes.simulation.legged.set_point_drive import SetPointDrive, with_friction
from sysid_nodes.simulation.legged.streams import SensorSuite
from sysid_nodes.simulation.legged.truth import LeggedTruth, TruthSample, TruthSeries, stack


class Controller(Protocol):
    """The robot's own controller: it knows the nominal robot and the true state."""

    fallen: bool

    def torque(self, time: float, q: Array, v: Array) -> Array:
        """(n,) torques within the motors' limits [N m], at a time [s] and a pinocchio state."""


class LeggedRobotSim:
    """A legged robot under its scripted controller, with sensors and hidden truth.

    Args:
        rng: source of all sensor noise, and of the heights of footholds; else the motion is deterministic.
        start: stamp of simulated time zero [s].
        faults: what goes wrong with the sensors' streams.

    Attributes:
        robot: nominal.
        commanded: the controller that obeys commands, where the motion is that.
        set_points: stamps [s] and positions (n,) [rad] that the drives were told, where they follow set-points.
        truth: what stays the same.

    Raises:
        ConfigError: control period, tick and integrator's step are not multiples of one another, a vector does not have
            three numbers, the robot does not know the motion, or commands need drives that follow set-points.
    """

    def __init__(
        self,
        config: LeggedSimulationConfig,
        rng: np.random.Generator,
        *,
        start: float = 0.0,
        faults: Sequence[Fault] = (),
    ) -> None:
        steps = _multiple(config.tick, config.timestep, "'tick'", "'timestep'")
        if len(config.push.force) != 3:
            raise ConfigError(f"'push.force' must be three numbers, got {len(config.push.force)}")
        self.robot: Robot = load_robot(config.robot)
        robot = self.robot
        self._config, self._start, self._ticks = config, start, 0
        body, bodies = loaded_bodies(robot, config.load)
        model = build_legged_mujoco(
            with_friction(robot, config.drive),
            bodies,
            shell(robot),
            config.ground,
            timestep=config.timestep,
            footholds=config.footholds > 0.0,
        )
        q = standing_configuration(robot)
        q[2] += config.drop
        heights = rng.spawn(1)[0]
        self._plant = LeggedPlant(model, robot.contacts, q, steps=steps, footholds=config.footholds, rng=heights)
        self._torque = np.zeros(robot.n)
        self._law: Torque = lambda q, _: np.zeros(len(q))
        self._drive = SetPointDrive(robot, config.drive, config.timestep) if config.drive.enabled else None
        self.set_points: list[tuple[float, Array]] = []
        self.commanded = _commanded_controller(robot, config, self._drive) if config.motion == COMMANDED else None
        period, name = config.control_period, "'control_period'"
        if self.commanded:
            period, name = self.commanded.period, "the policy's period"
        self._control_ticks = _multiple(period, config.tick, name, "'tick'")
        self._controller: Controller | CommandedController = self.commanded or build_controller(robot, config)
        published = robot.motor_order if config.vendor_order else robot.joint_names
        self._sensors = SensorSuite(config.sensors, robot.joint_names, published, rng, start=start, faults=faults)
        self._imu = robot.model.frames[robot.model.getFrameId(robot.imu)].placement
        parameters = np.array([inertia.toDynamicParameters() for inertia in bodies])
        self.truth = LeggedTruth(
            body=body,
            theta=parameters[body].copy(),
            parameters=parameters,
            total_mass=float(parameters[:, 0].sum()),
            friction=config.ground.friction,
            contacts=tuple(point.name for point in robot.contacts),
            gyro_bias=self._sensors.imu.gyro_bias,
            accelerometer_bias=self._sensors.imu.accelerometer_bias,
            mocap_bias=self._sensors.mocap.bias,
        )
        self._recorded: deque[TruthSample] = deque(maxlen=max(1, round(config.history / config.tick)))

    @property
    def elapsed(self) -> float:
        """Simulated time since the start [s]."""
        return self._ticks * self._config.tick

    @property
    def fallen(self) -> bool:
        """Whether the robot has fallen and its motors only damp."""
        return self._controller.fallen

    @property
    def last(self) -> TruthSample:
        """Truth of the last tick.

        Raises:
            IndexError: no tick has been made.
        """
        return self._recorded[-1]

    def series(self) -> TruthSeries:
        """Truth of all ticks that are kept (``history``).

        Raises:
            InputError: no tick has been made.
        """
        return stack(self._recorded)

    def step(self) -> tuple[Reading, ...]:
        """Moves on by one tick; the readings that arrived by its end, in order of arrival."""
        config, time = self._config, self.elapsed
        if self._ticks % self._control_ticks == 0:
            self._command(time)
        pushed = config.push.start <= time < config.push.start + config.push.duration
        push = np.array(config.push.force) if pushed else np.zeros(3)
        self._recorded.append(self._plant.advance(time, self._law, push))
        self._torque = self._recorded[-1].torque
        self._ticks += 1
        self._sensors.observe(self._observe())
        return self._sensors.take_arrived(self._start + self.elapsed)

    def run(self, duration: float) -> Iterator[Reading]:
        """Readings of the next ``duration`` seconds in order of arrival, computed as they are asked for."""
        for _ in range(round(duration / self._config.tick)):
            yield from self.step()

    def _command(self, time: float) -> None:
        q, v = self._plant.state
        if isinstance(self._controller, CommandedController):
            self._obey(self._controller.set_points(time, q, v), time)
            return
        torque = self._controller.torque(time, q, v)
        if self._drive is None:
            self._law = lambda _q, _w: torque
        else:
            self._obey(self._drive.set_point(torque, q[7:], v[6:]), time)

    def _obey(self, target: Array, time: float) -> None:
        """The drives follow set-points from a time on [s]."""
        assert self._drive is not None  # nothing else has set-points
        drive = self._drive
        self.set_points.append((self._start + time, target))
        self._law = lambda q, w: drive.torque(target, q, w)

    def _observe(self) -> Observed:
        q, _ = self._plant.state
        v = self._plant.instant
        rotation = rotation_of(q[3:7])
        imu: pinocchio.SE3 = self._imu
        return Observed(
            time=self.elapsed,
            joint_position=q[7:],
            joint_velocity=v[6:],
            torque=self._torque,
            imu_rotation=rotation @ imu.rotation,
            gyro=imu.rotation.T @ v[3:6],
            specific_force=self._plant.specific_force,
            base_position=q[:3],
            base_rotation=rotation,
            base_velocity=v[:3],
        )


def _commanded_controller(
    robot: Robot, config: LeggedSimulationConfig, drive: SetPointDrive | None
) -> CommandedController:
    if drive is None:
        raise ConfigError("the motion 'commanded' needs 'drive.enabled'")
    return CommandedController(robot, drive.drive, config.walking)


def _multiple(long: float, short: float, long_name: str, short_name: str) -> int:
    count = round(long / short)
    if count < 1 or abs(count * short - long) > 1e-9:
        raise ConfigError(f"{long_name} ({long:g} s) must be a multiple of {short_name} ({short:g} s)")
    return count
