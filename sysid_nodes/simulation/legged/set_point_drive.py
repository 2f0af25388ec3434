# SPDX-License-Identifier: Apache-2.0
"""Motors that follow set-points, as the real robots' do: the controller's torque becomes a position for a PD law."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_nodes.data.config import option
from sysid_nodes.robots import Robot
from sysid_nodes.robots.kinds import spread
from sysid_nodes.robots.robot import Array
from sysid_nodes.rollouts.drive import Drive
from sysid_nodes.simulation.legged.lugre import LuGre


@dataclass(frozen=True)
class SetPointDriveConfig:
    """One number for all joints, one for each kind (Go2: hip, thigh, calf), or one for each joint."""

    enabled: bool = option(False, "whether the motors follow set-points; otherwise they give the controller's torque")
    stiffness: tuple[float, ...] = option((40.0,), "k_p", unit="N m/rad", minimum=1e-3)
    damping: tuple[float, ...] = option((1.0,), "k_d", unit="N m s/rad", minimum=0.0)
    strength: tuple[float, ...] = option((0.0,), "torque at which tanh saturates; 0: none", unit="N m", minimum=0.0)
    coulomb: float = option(0.0, "dry friction of every joint", unit="N m", minimum=0.0)
    friction: str = option(
        "mujoco",
        "law of the dry friction: MuJoCo's own constraint, or LuGre's bristles, which take half as much again to come "
        "loose and are part of the recorded torque",
        choices=("mujoco", "lugre"),
    )


class SetPointDrive:
    """The drives of a simulated robot.

    Args:
        robot: that they move.
        step: of the integrator [s].

    Attributes:
        drive: their PD law.

    Raises:
        ConfigError: a list does not fit the robot.
    """

    def __init__(self, robot: Robot, config: SetPointDriveConfig, step: float) -> None:
        stiffness, damping = (
            spread(getattr(config, name), robot, f"drive.{name}") for name in ("stiffness", "damping")
        )
        strength = spread(config.strength, robot, "drive.strength")
        self.drive, self._gain, self._dry = Drive(stiffness, damping), np.ones(robot.n), np.zeros(robot.n)
        self._bristles = LuGre(np.full(robot.n, config.coulomb), step) if config.friction == "lugre" else None
        self._weakness = np.where(strength > 0.0, 1.0 / np.maximum(strength, 1e-9), 0.0)
        self._before: tuple[Array, Array] | None = None

    def set_point(self, torque: Array, q: Array, w: Array) -> Array:
        """(n,) positions at which motors without saturation would give a torque at once [rad]."""
        return self.drive.target(torque, q, w)

    def torque(self, target: Array, q: Array, w: Array) -> Array:
        """(n,) torques that they do give over the integrator's next step [N m]; to be called once a step.

        Velocities of semi-implicit Euler belong half a step before their configurations, and a step's force acts from
        there to half a step after them. Of a step of 0.5 ms, 1 N m s/rad of damping that lags by that takes 6 % of the
        armature from a Go2's hip; hence velocities at the instant, and the mean of set-points over the step's time.
        """
        told, before = self._before or (target, w)
        self._before = target, w.copy()
        middle, instant = 0.5 * (told + target), 1.5 * w - 0.5 * before
        given = self.drive.torque(middle, q, instant, self._gain, self._weakness, self._dry)
        return given if self._bristles is None else given - self._bristles.torque(w)


def with_friction(robot: Robot, config: SetPointDriveConfig) -> Robot:
    """The robot with the drives' dry friction, where that is MuJoCo's."""
    if config.friction != "mujoco":
        return robot
    return replace(robot, motor=replace(robot.motor, coulomb=robot.motor.coulomb + config.coulomb))
