# SPDX-License-Identifier: Apache-2.0
"""A scripted controller for the simulated G1: quasi-static dancing by whole-body inverse dynamics.

It knows the nominal robot, not the payload, and reads the true state. Tasks: centre of mass, pelvis orientation, both
feet's poses, joint posture (arms, waist). A robot that has fallen goes limp: its motors only damp.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio

from sysid_nodes.data.config import option
from sysid_nodes.robots import Robot
from sysid_nodes.robots.robot import Array
from sysid_nodes.simulation.legged.kinematics import Kinematics, NominalModel, limp_torque, smooth_step
from sysid_nodes.simulation.legged.motion_g1 import DANCE, Figure, Move, Programme, arms, foot_pose
from sysid_nodes.simulation.legged.whole_body import Task, com_task, inverse_dynamics


@dataclass(frozen=True)
class G1ControllerConfig:
    """Gains of the scripted G1."""

    friction: float = option(0.5, "assumed friction coefficient", unit="1", minimum=0.05)
    com_gain: float = option(60.0, "position of the centre of mass", unit="1/s2", minimum=0.0)
    com_rate_gain: float = option(14.0, "velocity of the centre of mass", unit="1/s", minimum=0.0)
    pelvis_gain: float = option(120.0, "orientation of the pelvis", unit="1/s2", minimum=0.0)
    pelvis_rate_gain: float = option(20.0, "angular velocity of the pelvis", unit="1/s", minimum=0.0)
    foot_gain: float = option(400.0, "pose of a foot in the air", unit="1/s2", minimum=0.0)
    foot_rate_gain: float = option(40.0, "velocity of a foot", unit="1/s", minimum=0.0)
    posture_gain: float = option(100.0, "joint positions", unit="1/s2", minimum=0.0)
    posture_rate_gain: float = option(20.0, "joint velocities", unit="1/s", minimum=0.0)
    height: float = option(-0.02, "of the centre of mass against the start", unit="m", maximum=0.05)


_FEET = ("left_ankle_roll_joint", "right_ankle_roll_joint")
_COM_WEIGHT, _PELVIS_WEIGHT, _FOOT_WEIGHT, _POSTURE_WEIGHT = 10.0, 5.0, 30.0, 0.5
_SETTLE = 0.5  # over which height and arms go to their references at the start [s]
_FALLEN_TILT, _FALLEN_HEIGHT = 0.5, 0.4  # cosine of the tilt; height of the pelvis [m]
_LIMP_DAMPING = 3.0  # [N m s/rad]


class G1Controller:
    """Torques for the 29 joints, called at a fixed period.

    Args:
        robot: nominal G1, its contact points heel left, heel right, toe left, toe right of the left, then of the right
            foot.
        moves: what to do.
        period: between calls [s].
    """

    def __init__(
        self, robot: Robot, config: G1ControllerConfig, moves: Sequence[Move] = DANCE, *, period: float
    ) -> None:
        self._nominal = NominalModel(robot)
        self._robot, self._config, self._period = robot, config, period
        self._programme = Programme(moves)
        self._limit = robot.limits.torque
        self._joints = [robot.model.getJointId(name) for name in _FEET]
        self._corners = np.array([point.position for point in robot.contacts]).reshape(2, 2, 2, 3)
        self._lines = self._corners.mean(axis=2)  # (foot, heel or toe, 3)
        self._arm_index = {name: k for k, name in enumerate(robot.joint_names)}
        self._start: _Start | None = None
        self._before: tuple[_Reference, _Reference] | None = None
        self.fallen = False

    def torque(self, time: float, q: Array, v: Array) -> Array:
        """(29,) torques within the motors' limits [N m], at a time [s] and a pinocchio state."""
        now = self._nominal.at(q, v)
        self.fallen = self.fallen or now.rotation[2, 2] < _FALLEN_TILT or now.position[2] < _FALLEN_HEIGHT
        if self.fallen:
            return np.clip(limp_torque(now, _LIMP_DAMPING, self._period), -self._limit, self._limit)
        if self._start is None:
            self._start = self._begin(now, q)
        figure = self._programme.at(time)
        wanted = self._reference(figure, time, self._start)
        first, second = self._before if self._before is not None else (wanted, wanted)
        self._before = (wanted, first)
        rates = _Rates.of(wanted, first, self._period)
        accelerations = _Rates.between(rates, _Rates.of(first, second, self._period), self._period)
        tasks = self._tasks(now, q, wanted, rates, accelerations)
        loads = np.repeat(figure.loads.ravel(), 2)
        torque = inverse_dynamics(now, tasks, loads, self._config.friction)
        return np.clip(torque, -self._limit, self._limit)

    def _begin(self, now: Kinematics, q: Array) -> _Start:
        placements = [self._nominal.data.oMi[joint] for joint in self._joints]
        drop = np.array([0.0, 0.0, now.gaps.min()])  # references are those of standing on the ground
        return _Start(
            feet=np.array([placement.translation for placement in placements]) - drop,
            com=now.com - drop,
            posture=q[7:].copy(),
            yaw=now.yaw,
        )

    def _reference(self, figure: Figure, time: float, start: _Start) -> _Reference:
        settled = smooth_step(time / _SETTLE)[0]
        poses = [
            foot_pose(
                start.feet[k], start.yaw, figure.feet[k], float(figure.rocking[k]), self._lines[k, 1], self._lines[k, 0]
            )
            for k in (0, 1)
        ]
        # The centre of mass is led between the middles of the soles as they stand on the ground.
        turn = pinocchio.rpy.rpyToMatrix(0.0, 0.0, start.yaw)
        soles = start.feet + (np.array([1.0, 1.0, 0.0]) * figure.feet + self._lines.mean(axis=1)) @ turn.T
        com = soles[0] + figure.weight * (soles[1] - soles[0]) + turn @ figure.body
        com[:2] = start.com[:2] + settled * (com[:2] - start.com[:2])
        com[2] = start.com[2] + settled * self._config.height + figure.body[2]
        dance = min(time, self._programme.duration - time)
        posture = start.posture.copy()
        for name, angle in arms(time, smooth_step((dance - 0.3) / 1.0)[0]).items():
            index = self._arm_index[name]
            posture[index] += settled * (angle - posture[index])
        posture[self._arm_index["waist_yaw_joint"]] = figure.waist
        return _Reference(
            com=com,
            pelvis=pinocchio.rpy.rpyToMatrix(*(figure.pelvis + np.array([0.0, 0.0, start.yaw]))),
            feet=np.array([position for position, _ in poses]),
            soles=np.array([rotation for _, rotation in poses]),
            posture=posture,
        )

    def _tasks(self, now: Kinematics, q: Array, wanted: _Reference, rates: _Rates, accelerations: _Rates) -> list[Task]:
        config, data, nv = self._config, self._nominal.data, len(now.bias)
        com = accelerations.com + config.com_gain * (wanted.com - now.com)
        com += config.com_rate_gain * (rates.com - now.com_velocity)
        tasks = [com_task(now, self._nominal.mass, com, _COM_WEIGHT)]
        turning = accelerations.pelvis + config.pelvis_gain * pinocchio.log3(wanted.pelvis @ now.rotation.T)
        turning += config.pelvis_rate_gain * (rates.pelvis - now.angular)
        pelvis = np.zeros((3, nv))
        pelvis[:, 3:6] = now.rotation
        tasks.append(Task(pelvis, turning, _PELVIS_WEIGHT))
        velocity = np.concatenate([now.rotation.T @ now.velocity, now.rotation.T @ now.angular, now.joint_velocity])
        for k, joint in enumerate(self._joints):
            placement = data.oMi[joint]
            jacobian = pinocchio.getJointJacobian(
                self._nominal.model, data, joint, pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED
            )
            error = np.concatenate(
                [wanted.feet[k] - placement.translation, pinocchio.log3(wanted.soles[k] @ placement.rotation.T)]
            )
            motion = accelerations.feet[k] + config.foot_gain * error
            motion += config.foot_rate_gain * (rates.feet[k] - jacobian @ velocity)
            tasks.append(Task(np.array(jacobian), motion, _FOOT_WEIGHT))
        posture = accelerations.posture + config.posture_gain * (wanted.posture - q[7:])
        posture += config.posture_rate_gain * (rates.posture - now.joint_velocity)
        tasks.append(Task(np.eye(nv)[6:], posture, _POSTURE_WEIGHT))
        return tasks


@dataclass(frozen=True)
class _Start:
    feet: Array
    com: Array
    posture: Array
    yaw: float


@dataclass(frozen=True)
class _Reference:
    """Centre of mass, pelvis and feet in the world, joint positions."""

    com: Array
    pelvis: Array
    feet: Array
    soles: Array
    posture: Array


@dataclass(frozen=True)
class _Rates:
    """Rates of a reference (or rates of its rates); ``feet`` (2, 6) linear and angular."""

    com: Array
    pelvis: Array
    feet: Array
    posture: Array

    @staticmethod
    def of(now: _Reference, before: _Reference, period: float) -> _Rates:
        turns = [pinocchio.log3(a @ b.T) for a, b in zip(now.soles, before.soles, strict=True)]
        return _Rates(
            com=(now.com - before.com) / period,
            pelvis=pinocchio.log3(now.pelvis @ before.pelvis.T) / period,
            feet=np.concatenate([now.feet - before.feet, turns], axis=1) / period,
            posture=(now.posture - before.posture) / period,
        )

    @staticmethod
    def between(now: _Rates, before: _Rates, period: float) -> _Rates:
        return _Rates(
            com=(now.com - before.com) / period,
            pelvis=(now.pelvis - before.pelvis) / period,
            feet=(now.feet - before.feet) / period,
            posture=(now.posture - before.posture) / period,
        )
