# SPDX-License-Identifier: Apache-2.0
"""A scripted controller for the simulated Go2: body wrench by force distribution over the feet, swing feet by PD.

It knows the nominal robot, not the payload, and reads the true state, as it is the robot's own. Body errors give a
wanted force and moment; the feet on the ground share it within their friction pyramids; joint torques are -J' f plus
the legs' own gravity and Coriolis torque. Feet in the air follow a Cartesian PD. Trot footholds: Raibert's heuristic. A
robot that has fallen goes limp: its motors only damp.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.config import option
from sysid_nodes.robots import Robot
from sysid_nodes.robots.robot import Array
from sysid_nodes.simulation.legged.body_wrench import BodyGains, BodyReference, BodyWrench
from sysid_nodes.simulation.legged.force_distribution import distribute
from sysid_nodes.simulation.legged.hop_go2 import Hop, HopShape
from sysid_nodes.simulation.legged.kinematics import Kinematics, NominalModel, heading_rotation, limp_torque
from sysid_nodes.simulation.legged.motion_go2 import SHOW, Phase, phase_at, sway_at
from sysid_nodes.simulation.legged.trot_go2 import STANCE, Stride, Trot


@dataclass(frozen=True)
class Go2ControllerConfig:
    """Gains and gait of the scripted Go2."""

    height: float = option(0.30, "of the base above the ground", unit="m", minimum=0.15, maximum=0.4)
    friction: float = option(0.5, "assumed friction coefficient", unit="1", minimum=0.05)
    position_gain: float = option(120.0, "body position", unit="1/s2", minimum=0.0)
    velocity_gain: float = option(18.0, "body velocity", unit="1/s", minimum=0.0)
    rotation_gain: float = option(180.0, "body orientation", unit="1/s2", minimum=0.0)
    rate_gain: float = option(22.0, "body angular velocity", unit="1/s", minimum=0.0)
    integral_gain: float = option(150.0, "height and orientation", unit="1/s3", minimum=0.0)
    swing_position_gain: float = option(1600.0, "of a foot in the air", unit="1/s2", minimum=0.0)
    swing_velocity_gain: float = option(60.0, "of a foot in the air", unit="1/s", minimum=0.0)
    trot_period: float = option(0.42, "of a stride", unit="s", minimum=0.2)
    trot_duty: float = option(0.58, "part of the stride a foot is on the ground", unit="1", minimum=0.5, maximum=0.9)
    trot_lift: float = option(0.06, "height of a swing", unit="m", minimum=0.0)
    hop_crouch: float = option(0.23, "base height before take-off", unit="m", minimum=0.15)
    hop_extend: float = option(0.33, "base height at take-off", unit="m", minimum=0.15, maximum=0.38)
    hop_speed: float = option(1.1, "vertical speed at take-off", unit="m/s", minimum=0.1, maximum=2.0)


_TOUCH_GAP = 2e-3
_WEIGHTS = np.array([1.0, 1.0, 2.0, 20.0, 20.0, 10.0])
_INERTIA = np.array([0.19, 0.45, 0.50])  # of the whole standing robot about its centre of mass [kg m2]
_SETTLE = 0.15  # time constant of the height after a change of motion [s]
_LEAD = 0.06  # the walking reference goes no further ahead of the body [m]
_COMMAND_RATE = 1.2  # of the trot's speed [m/s2, rad/s2]
_REACH = 0.08  # the feet land this much of the flight's speed ahead [s]
_FALLEN_TILT, _FALLEN_HEIGHT = 0.5, 0.10  # cosine of the tilt; height of the base [m]
_LIMP_DAMPING = 2.0  # [N m s/rad]
_EVEN = np.full(4, 1e-3)
_STEP_OUT = Phase("trot", np.inf)
"""Phase after a trot's time is over, until all feet are on the ground."""


class Go2Controller:
    """Torques for the twelve joints, called at a fixed period.

    Args:
        robot: nominal Go2, its contact points the feet FL, FR, RL, RR.
        config: gains and gait.
        phases: what to do.
        period: between calls [s].
    """

    def __init__(
        self,
        robot: Robot,
        config: Go2ControllerConfig,
        phases: Sequence[Phase] = SHOW,
        *,
        period: float,
    ) -> None:
        self._nominal = NominalModel(robot)
        self._config, self._phases, self._period = config, tuple(phases), period
        self._radius = robot.contacts[0].radius
        self._limit = robot.limits.torque
        gains = BodyGains(
            config.position_gain, config.velocity_gain, config.rotation_gain, config.rate_gain, config.integral_gain
        )
        self._body = BodyWrench(gains, self._nominal.mass, _INERTIA, period=period)
        self._kind, self._clock, self._from = "", 0.0, config.height
        self._anchor = np.zeros(3)  # x, y, yaw of the reference
        self._command = np.zeros(3)
        self._trot, self._hop = self._new_trot(), self._new_hop()
        self.fallen = False

    def torque(self, time: float, q: Array, v: Array) -> Array:
        """(12,) torques within the motors' limits [N m], at a time [s] and a pinocchio state."""
        now = self._nominal.at(q, v)
        self.fallen = self.fallen or now.rotation[2, 2] < _FALLEN_TILT or now.position[2] < _FALLEN_HEIGHT
        if self.fallen:
            return self._limit_torque(limp_torque(now, _LIMP_DAMPING, self._period))
        phase, elapsed = phase_at(self._phases, time)
        if phase.kind != self._kind:
            if self._kind == "trot" and self._trot.swinging:
                phase = _STEP_OUT
            else:
                self._enter(phase.kind, now)
        self._clock += self._period
        act = {"stand": self._stand, "trot": self._walk, "hop": self._jump}[phase.kind]
        return self._limit_torque(act(phase, elapsed, now))

    def _limit_torque(self, torque: Array) -> Array:
        return np.clip(torque, -self._limit, self._limit)

    def _enter(self, kind: str, now: Kinematics) -> None:
        self._kind, self._clock, self._from = kind, 0.0, float(now.position[2])
        middle = now.position if kind == "trot" else now.feet.mean(axis=0)
        self._anchor = np.array([middle[0], middle[1], now.yaw])
        self._command = np.zeros(3)
        self._trot, self._hop = self._new_trot(), self._new_hop()

    def _new_trot(self) -> Trot:
        config = self._config
        return Trot(Stride(config.trot_period, config.trot_duty, config.trot_lift), self._radius)

    def _new_hop(self) -> Hop:
        config = self._config
        shape = HopShape(config.height, config.hop_crouch, config.hop_extend, config.hop_speed)
        return Hop(shape, self._anchor, self._from)

    def _height(self) -> float:
        return self._config.height + (self._from - self._config.height) * float(np.exp(-self._clock / _SETTLE))

    def _stand(self, phase: Phase, elapsed: float, now: Kinematics) -> Array:
        offset, rate = sway_at(phase, elapsed)
        turn = heading_rotation(self._anchor[2])
        reference = BodyReference(
            position=turn @ offset[:3] + np.array([*self._anchor[:2], self._height()]),
            velocity=turn @ rate[:3],
            acceleration=np.zeros(3),
            rpy=offset[3:] + np.array([0.0, 0.0, self._anchor[2]]),
            rates=rate[3:],
        )
        # A foot in the air, as after a drop, has nothing to push against.
        stance = _touching_feet(now) if self._clock < 0.5 else np.ones(4, dtype=bool)
        return self._load(stance, _EVEN, reference, now) + self._reach(~stance, np.zeros(3), now)

    def _walk(self, phase: Phase, _elapsed: float, now: Kinematics) -> Array:
        step = _COMMAND_RATE * self._period
        self._command += np.clip(np.array(phase.velocity) - self._command, -step, step)
        velocity = heading_rotation(now.yaw) @ np.array([self._command[0], self._command[1], 0.0])
        self._anchor += self._period * np.array([velocity[0], velocity[1], self._command[2]])
        lead = self._anchor[:2] - now.position[:2]
        self._anchor[:2] = now.position[:2] + lead * min(1.0, _LEAD / max(float(np.linalg.norm(lead)), 1e-9))
        reference = BodyReference(
            position=np.array([self._anchor[0], self._anchor[1], self._height()]),
            velocity=velocity,
            acceleration=np.zeros(3),
            rpy=np.array([0.0, 0.0, self._anchor[2]]),
            rates=np.array([0.0, 0.0, self._command[2]]),
        )
        step_ = self._trot.step(self._clock, velocity, now, _touching_feet(now))
        torque = self._load(step_.stance, step_.regularisation, reference, now)
        for foot, motion in step_.targets.items():
            torque += self._swing_torque(foot, motion, now)
        return torque

    def _jump(self, phase: Phase, elapsed: float, now: Kinematics) -> Array:
        velocity = np.array([phase.velocity[0], phase.velocity[1], 0.0])
        touching = _touching_feet(now)
        reference = self._hop.step(self._period, velocity, phase.duration - elapsed, now, touching)
        if self._hop.flying:
            along = heading_rotation(self._anchor[2]) @ velocity
            return now.bias[6:] + self._reach(np.ones(4, dtype=bool), along, now)
        stance = touching if self._hop.just_landed else np.ones(4, dtype=bool)
        return self._load(stance, _EVEN, reference, now) + self._reach(~stance, np.zeros(3), now)

    def _load(self, stance: npt.NDArray[np.bool_], penalty: Array, reference: BodyReference, now: Kinematics) -> Array:
        """Torques with which the feet in stance give the body's wrench, and the bias of all legs."""
        feet = np.flatnonzero(stance)
        if not feet.size:  # in the air; the integral waits
            return now.bias[6:]
        wrench = self._body(reference, now)
        points = now.feet[feet] - np.array([0.0, 0.0, self._radius]) - now.com
        forces = distribute(points, wrench, self._config.friction, weights=_WEIGHTS, regularisation=penalty[feet])
        torque: Array = now.bias[6:] - np.einsum("kij,ki->j", now.jacobians[feet, :, 6:], forces)
        return torque

    def _reach(self, air: npt.NDArray[np.bool_], velocity: Array, now: Kinematics) -> Array:
        """Torques that hold feet below the hips, ready to land at a horizontal velocity; without the bias."""
        torque = np.zeros(len(self._limit))
        turn = heading_rotation(self._anchor[2])
        for foot in np.flatnonzero(air):
            below = np.array([*STANCE[foot], self._radius - self._config.height])
            target = now.position + turn @ below + _REACH * velocity
            torque += self._swing_torque(int(foot), np.array([target, now.velocity, np.zeros(3)]), now)
        return torque

    def _swing_torque(self, foot: int, motion: Array, now: Kinematics) -> Array:
        """Torques that give a foot the acceleration of a PD about its (3, 3) wanted motion; without the bias."""
        position, velocity, acceleration = motion
        wanted = acceleration + self._config.swing_position_gain * (position - now.feet[foot])
        wanted += self._config.swing_velocity_gain * (velocity - now.feet_velocity[foot])
        leg = slice(6 + 3 * foot, 9 + 3 * foot)
        jacobian = now.jacobians[foot, :, leg]
        # Damped, for a leg that is stretched out.
        rates = jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + 1e-4 * np.eye(3), wanted)
        torque = np.zeros(len(self._limit))
        torque[3 * foot : 3 * foot + 3] = now.mass_matrix[leg, leg] @ rates
        return torque


def _touching_feet(now: Kinematics) -> npt.NDArray[np.bool_]:
    touching: npt.NDArray[np.bool_] = now.gaps < _TOUCH_GAP
    return touching
