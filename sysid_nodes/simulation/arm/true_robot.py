# SPDX-License-Identifier: Apache-2.0
"""The true robot behind a simulated arm: off its nominal description, or placed where a test wants it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots import MotorConstants, Robot
from sysid_nodes.robots.robot import Array


class TrueRobot(NamedTuple):
    """The moving bodies and motors that a simulation is run with.

    Attributes:
        bodies: n inertias in their joint frames, without what the arm carries.
        motor: the motor constants.
    """

    bodies: Sequence[pinocchio.Inertia]
    motor: MotorConstants

    @staticmethod
    def from_parameters(parameters: npt.ArrayLike, motor: MotorConstants) -> TrueRobot:
        """Bodies given by their ten numbers each.

        Args:
            parameters: (n, 10) in pinocchio's order, about the joint frames' origins.
            motor: (n,) constants.

        Raises:
            RobotError: wrong shapes, numbers that are not finite, or a mass that is not positive.
        """
        rows, n = np.asarray(parameters, dtype=np.float64), motor.coulomb.size
        if rows.shape != (n, 10) or not np.isfinite(rows).all():
            raise RobotError(f"the bodies' parameters must be ({n}, 10) finite numbers, got shape {rows.shape}")
        if (rows[:, 0] <= 0.0).any():
            raise RobotError(f"body {int(np.argmin(rows[:, 0])) + 1} has no positive mass")
        return TrueRobot([pinocchio.Inertia.FromDynamicParameters(row) for row in rows], motor)


@dataclass(frozen=True)
class GroundTruth:
    """The truth that an identifier is to find, and must not see.

    Attributes:
        body: index of the loaded body, as of Robot.body_index.
        theta: (10,) of the loaded body, hand and payload together, about its joint frame.
        parameters: (n, 10) of all moving bodies.
        motor: the true motor constants.
    """

    body: int
    theta: Array
    parameters: Array
    motor: MotorConstants


def ground_truth(body: int, robot: TrueRobot, load: tuple[int, pinocchio.Inertia] | None) -> GroundTruth:
    """The true parameters of an arm with its load welded to body ``load[0]``."""
    parameters = np.array([inertia.toDynamicParameters() for inertia in robot.bodies])
    if load is not None:
        parameters[load[0]] += load[1].toDynamicParameters()
    return GroundTruth(body, parameters[body].copy(), parameters, robot.motor)


def perturbed_robot(robot: Robot, body: int, error: float, rng: np.random.Generator) -> TrueRobot:
    """Inertias and motors off the nominal ones by at most ``error``, relative; the identified body stays as it is.

    A link keeps its shape and changes its density, so that it stays physical and each of its parameters in its box.
    """
    nominal = robot.model.inertias.tolist()[1:]
    density = 1.0 + error * rng.uniform(-1.0, 1.0, robot.n)
    density[body] = 1.0
    bodies = [
        pinocchio.Inertia(scale * part.mass, part.lever, scale * part.inertia)
        for scale, part in zip(density, nominal, strict=True)
    ]
    scales = 1.0 + error * rng.uniform(-1.0, 1.0, (3, robot.n))
    motor = replace(
        robot.motor,
        coulomb=robot.motor.coulomb * scales[0],
        viscous=robot.motor.viscous * scales[1],
        armature=robot.motor.armature * scales[2],
    )
    return TrueRobot(bodies, motor)
