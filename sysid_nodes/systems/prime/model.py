# SPDX-License-Identifier: Apache-2.0
"""A robot's estimation model: its rigid bodies, sensors, unknown constants and settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from sysid_nodes.kernel.sensor_rows import SensorKernel
from sysid_nodes.kernel.window import WindowKernel
from sysid_nodes.models.floating_base import FloatingBase
from sysid_nodes.robots import Robot
from sysid_nodes.sensors import Sensor, build_sensors
from sysid_nodes.systems.prime.config import PrimeConfig
from sysid_nodes.systems.prime.contacts import ContactLaw
from sysid_nodes.systems.prime.inner import build_kernel
from sysid_nodes.systems.prime.parameters import Parameters, build_parameters
from sysid_nodes.systems.prime.sensing import moving_sensors, sensor_kernels


@dataclass(frozen=True)
class Model:
    """Constants shared by all windows.

    Attributes:
        robot: as loaded.
        base: its rigid-body model.
        sensors: measurement models.
        parameters: layout and prior of theta.
        config: all settings.
        kernel: compiled, of dynamics and contacts; or None.
        moving: names of the sensors whose predictions need velocities.
        sensor_kernels: of sensors' rows, by name, of those that have one.
    """

    robot: Robot
    base: FloatingBase
    sensors: tuple[Sensor, ...]
    parameters: Parameters
    config: PrimeConfig
    kernel: WindowKernel | None
    moving: frozenset[str]
    sensor_kernels: Mapping[str, SensorKernel]

    @cached_property
    def law(self) -> ContactLaw:
        """The contact model at the configured smoothing."""
        return contact_law(self.config)


def contact_law(config: PrimeConfig) -> ContactLaw:
    """The contact model at the configured smoothing."""
    return ContactLaw(config.contact, config.contact.smoothing, config.step)


def build_model(robot: Robot, config: PrimeConfig, *, implementation: str = "") -> Model:
    """A robot's estimation model; `implementation` as for `kernel.implementation`.

    Raises:
        RobotError: the robot has a fixed base or no contact points, or a link named in the configuration is unknown.
    """
    base = FloatingBase.from_robot(robot, implementation=implementation)
    sensors = build_sensors(robot, config.sensors)
    return Model(
        robot,
        base,
        sensors,
        build_parameters(robot, sensors, config),
        config,
        build_kernel(base, contact_law(config)),
        moving_sensors(robot, sensors),
        sensor_kernels(sensors, config.sensors, config.step, base.implementation),
    )
