# SPDX-License-Identifier: Apache-2.0
"""Knowledge of a robot before any data: nominal parameters, their uncertainty, and the prior of the body.

Identifier, certified planner and robust controller read the same, so that none of them trusts a model that another
doubts. The physical parameters of a robot of n joints are

    p = [theta_1 .. theta_n (10 each), F_c (n), F_v (n), I_a (n), beta (n), gain (n)]          (15 n numbers)

(the paper's theta of sec. III-B plus a constant factor between torque reading and torque).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.bounds import PARAMETER_NAMES, Bounds
from sysid_nodes.data.config import option
from sysid_nodes.data.joint_vector import Numbers as Numbers
from sysid_nodes.data.joint_vector import per_joint as per_joint
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots.robot import Robot

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class KnownRobotConfig:
    """Errors of everything but the identified body, relative to the nominal value."""

    inertia_relative: float = option(
        0.05, "uncertainty of every inertial parameter of every other link", unit="1", minimum=0.0, maximum=10.0
    )
    inertia_scale: str = option(
        "value",
        "what inertia_relative refers to: value (each parameter's own) or body (the link's mass and size)",
        choices=("value", "body"),
    )
    friction_relative: float = option(
        0.05, "uncertainty of Coulomb and viscous friction", unit="1", minimum=0.0, maximum=10.0
    )
    armature_relative: float = option(0.05, "uncertainty of the armature", unit="1", minimum=0.0, maximum=10.0)
    offset_absolute: Numbers = option((0.0,), "uncertainty of the torque offset", unit="N m", minimum=0.0)
    gain_relative: Numbers = option(
        (0.0,), "uncertainty of the constant factor from torque reading to torque", unit="1", minimum=0.0, maximum=0.9
    )
    calibration_gain: Numbers = option(
        (0.05,),
        "uncertainty of that factor that a calibration with noise model window assumes of joints for which "
        "gain_relative states none: nothing in runs without a load tells it",
        unit="1",
        minimum=0.0,
        maximum=0.9,
    )
    load_friction: Numbers = option(
        (0.0,),
        "largest share of its transmitted torque that a drive loses; found by calibration, with noise model window",
        unit="1",
        minimum=0.0,
        maximum=0.5,
    )
    gain: Numbers = option((1.0,), "nominal factor from torque reading to torque", unit="1", minimum=1e-6)
    coulomb: Numbers = option((), "Coulomb friction; empty takes the robot's", unit="N m", minimum=0.0)
    viscous: Numbers = option((), "viscous friction; empty takes the robot's", unit="N m s/rad", minimum=0.0)
    viscous_power: Numbers = option(
        (1.0,),
        "power of the speed that viscous friction grows with, below 1 where a lubricant thins; other than 1 with "
        "noise model window",
        unit="1",
        minimum=0.2,
        maximum=1.0,
    )
    armature: Numbers = option((), "armature; empty takes the robot's", unit="kg m2", minimum=0.0)
    offset: Numbers = option((), "torque offset; empty takes the robot's", unit="N m")


@dataclass(frozen=True)
class PriorConfig:
    """Knowledge of the body before any data (Table I of the paper), in pinocchio's order and the joint frame."""

    lower: Numbers = option(
        (1.2, -0.4, -0.4, -1.0, -0.2, -0.2, -0.2, -0.2, -0.2, -0.2),
        "lower ends of " + ", ".join(PARAMETER_NAMES),
        unit="kg, kg m, kg m2",
    )
    upper: Numbers = option(
        (5.2, 0.4, 0.4, -0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2),
        "upper ends of " + ", ".join(PARAMETER_NAMES),
        unit="kg, kg m, kg m2",
    )

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            if len(getattr(self, name)) != len(PARAMETER_NAMES):
                raise ConfigError(f"'prior.{name}' needs {len(PARAMETER_NAMES)} numbers")
        if not np.isfinite([*self.lower, *self.upper]).all():
            raise ConfigError("'prior' must be finite")
        _ = self.bounds

    @property
    def bounds(self) -> Bounds:
        return Bounds(np.array(self.lower), np.array(self.upper))


def nominal_parameters(robot: Robot, known: KnownRobotConfig) -> Array:
    """(15 n,) nominal physical parameters: the robot's, where the configuration does not replace them."""
    n = robot.n
    motor = [
        per_joint(override, n, f"known_robot.{name}") if override else default
        for name, override, default in (
            ("coulomb", known.coulomb, robot.motor.coulomb),
            ("viscous", known.viscous, robot.motor.viscous),
            ("armature", known.armature, robot.motor.armature),
            ("offset", known.offset, robot.motor.offset),
        )
    ]
    gain = per_joint(known.gain, n, "known_robot.gain")
    return np.concatenate([robot.inertial_parameters().ravel(), *motor, gain])


def known_box(robot: Robot, known: KnownRobotConfig) -> tuple[Array, Array]:
    """Nominal parameters (15 n,) of the whole robot and the half-widths (15 n,) of their intervals (Assumption 3)."""
    n = robot.n
    centre = nominal_parameters(robot, known)
    radius = np.abs(centre)
    if known.inertia_scale == "body":
        radius[: 10 * n] = _body_scale(centre[: 10 * n].reshape(n, 10)).ravel()
    radius[: 10 * n] *= known.inertia_relative
    radius[10 * n : 12 * n] *= known.friction_relative
    radius[12 * n : 13 * n] *= known.armature_relative
    radius[13 * n : 14 * n] = per_joint(known.offset_absolute, n, "known_robot.offset_absolute")
    radius[14 * n :] *= per_joint(known.gain_relative, n, "known_robot.gain_relative")
    return centre, radius


def _body_scale(theta: Array) -> Array:
    """(n, 10) mass, mass times length and mass times length squared of each link, length its rms radius."""
    mass = theta[:, 0]
    second = 0.5 * (theta[:, 4] + theta[:, 6] + theta[:, 9])  # trace of the pseudo-inertia's upper block
    length = np.sqrt(np.maximum(second, 0.0) / np.maximum(mass, 1e-9))
    power = np.array([0] + [1] * 3 + [2] * 6)
    return np.asarray(mass[:, None] * length[:, None] ** power)
