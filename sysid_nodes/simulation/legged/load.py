# SPDX-License-Identifier: Apache-2.0
"""Load of a simulated robot's body, and the displacement of its mass: an estimator is to find both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio

from sysid_nodes.data.config import option
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots import Robot
from sysid_nodes.robots.robot import Array
from sysid_nodes.simulation.payload import Payload


@dataclass(frozen=True)
class LoadConfig:
    """A box fixed to a link, and a shift of the centre of mass of the body that moves the link."""

    link: str = option("", "that carries it; empty for the robot's default body")
    mass: float = option(0.0, "of the box", unit="kg", minimum=0.0)
    position: tuple[float, ...] = option((0.0, 0.0, 0.08), "of the box's centre, in the link's frame", unit="m")
    size: tuple[float, ...] = option((0.2, 0.15, 0.06), "of the box: full lengths", unit="m", minimum=0.0)
    com_shift: tuple[float, ...] = option(
        (0.0, 0.0, 0.0), "of the body's own centre of mass, in the body's frame", unit="m"
    )


def loaded_bodies(robot: Robot, load: LoadConfig) -> tuple[int, list[pinocchio.Inertia]]:
    """The inertias of all moving bodies, and the index of the loaded one, as of Robot.body_index.

    Raises:
        ConfigError: a vector does not have three numbers.
        RobotError: the robot has no such link.
    """
    position, size, shift = (_vector(getattr(load, key), f"load.{key}") for key in ("position", "size", "com_shift"))
    bodies: list[pinocchio.Inertia] = robot.model.inertias.tolist()[1:]
    body = robot.body_index(load.link)
    own = bodies[body]
    bodies[body] = pinocchio.Inertia(own.mass, own.lever + shift, own.inertia)
    if load.mass > 0.0:
        box = pinocchio.Inertia.FromBox(load.mass, *size).inertia
        bodies[body] += Payload(load.mass, position, box, load.link).spatial_inertia(robot)[1]
    return body, bodies


def _vector(numbers: tuple[float, ...], name: str) -> Array:
    if len(numbers) != 3:
        raise ConfigError(f"'{name}' must be three numbers, got {len(numbers)}")
    return np.array(numbers)
