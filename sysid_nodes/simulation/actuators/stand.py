# SPDX-License-Identifier: Apache-2.0
"""A robot with a fixed base in MuJoCo, coupled, each joint driven by an actuator with parameters of its own.

Everything is MuJoCo's: armature, damping, dry friction as its softened constraint (`frictionloss`), the PD law as a
position actuator evaluated within every stage of the Runge-Kutta integrator. What the fit is not told comes on top:
friction at rest (Stribeck), friction that grows with position or with the load, torque ripple, and bodies that weigh
more or less than the robot's description says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import mujoco
import numpy as np
import numpy.typing as npt
import pinocchio
from mujoco import rollout

from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.models.held_command import HeldCommand
from sysid_nodes.models.joint_load import joint_load
from sysid_nodes.robots import MotorConstants, Robot
from sysid_nodes.rollouts.arm_model import arm_spec

Array = npt.NDArray[np.float64]

_STEP = 5e-4
_ROUNDING = 1e-6  # of the sign of a velocity, its square [rad2/s2]
_DRY = 2.0  # time constant of the constraint that dry friction is, in steps; it is critically damped


@dataclass(frozen=True)
class Drives:
    """True parameters of the n drives and joints; (n,) each.

    Attributes:
        stiffness, damping: gains [N m/rad, N m s/rad].
        armature, viscous, coulomb: [kg m2, N m s/rad, N m].
        delay: of each drive [s].
        encoder_bias: position that the drive sees, less the one it reports [rad].
        stribeck: friction at rest beyond Coulomb's [N m].
        stribeck_speed, stribeck_power: it fades as exp(-(|qd| / speed)^power) [rad/s, 1].
        position_friction: growth of dry friction with position [N m/rad].
        load_friction: dry friction per torque that the rigid bodies take [1].
        ripple: amplitude of the torque ripple [N m].
        ripples: of it over a turn of the joint [1].
        mass_error: by which every body is heavier than described [1].
    """

    stiffness: Array
    damping: Array
    armature: Array
    viscous: Array
    coulomb: Array
    delay: Array
    encoder_bias: Array
    stribeck: Array
    stribeck_speed: Array
    stribeck_power: Array
    position_friction: Array
    load_friction: Array
    ripple: Array
    ripples: Array
    mass_error: float = 0.0

    @classmethod
    def draw(cls, n: int, rng: np.random.Generator) -> Drives:
        """Drives of about the shared Go2 logs' size, none like another."""

        def between(low: float, high: float) -> Array:
            return rng.uniform(low, high, n)

        return cls(
            stiffness=np.full(n, 20.0),
            damping=np.full(n, 1.0),
            armature=between(0.01, 0.03),
            viscous=between(0.1, 0.4),
            coulomb=between(0.15, 0.5),
            delay=between(0.002, 0.008),
            encoder_bias=between(-0.01, 0.01),
            stribeck=np.zeros(n),
            stribeck_speed=np.full(n, 0.1),
            stribeck_power=np.full(n, 2.0),
            position_friction=np.zeros(n),
            load_friction=np.zeros(n),
            ripple=np.zeros(n),
            ripples=np.full(n, 24.0),
        )

    def with_unknowns(self, rng: np.random.Generator, *, friction: float = 0.1, ripple: float = 0.05) -> Drives:
        """The same with friction at rest and torque ripple, relative to Coulomb's, and bodies half a percent off."""
        n = len(self.coulomb)
        return replace(
            self,
            stribeck=friction * self.coulomb * rng.uniform(0.5, 1.5, n),
            ripple=ripple * self.coulomb * rng.uniform(0.5, 1.5, n),
            mass_error=float(rng.uniform(-0.005, 0.005)),
        )

    def with_load_friction(self, rng: np.random.Generator) -> Drives:
        """The same with friction that grows with the load by 1 to 5 % of it, as gears have it."""
        return replace(self, load_friction=rng.uniform(0.01, 0.05, len(self.coulomb)))

    def with_other_shapes(self, rng: np.random.Generator) -> Drives:
        """The same with friction at rest and ripple of shapes that nobody guesses."""
        n = len(self.coulomb)
        return replace(
            self,
            stribeck_speed=0.1 * 3.0 ** rng.uniform(-1.0, 1.0, n),
            stribeck_power=rng.uniform(0.7, 2.0, n),
            ripples=24.0 * 2.0 ** rng.uniform(-1.0, 1.0, n),
        )


@dataclass(frozen=True)
class StandMotion:
    """A robot's motion on the stand, at the N beginnings of the simulation's steps.

    Attributes:
        robot, drives: that moved.
        t, q, qd: (N,), (N, n) [s, rad, rad/s].
        wanted: (N, n) positions that the drives see as theirs to reach [rad].
        command_t, command: (M,) [s], (M, n) [rad]; each holds until the next.
    """

    robot: Robot
    drives: Drives
    t: Array
    q: Array
    qd: Array
    wanted: Array
    command_t: Array
    command: Array

    def read(
        self, *, noise: float, rng: np.random.Generator, rate: float = 200.0, efforts: bool = False
    ) -> ActuatorLog:
        """Encoder readings beside the commands.

        Args:
            noise: standard deviation of the encoders [rad].
            rate: of the encoders [Hz].
            efforts: the log that there is without commands: the drives' own torques, measured with the positions.
        """
        kept, drives, names = self._kept(rate), self.drives, self.robot.joint_names
        at, q = self.t[kept], self.q[kept]
        read = q + noise * rng.standard_normal(q.shape)
        if efforts:
            nothing = np.zeros(self.robot.n)
            torque = drives.stiffness * (self.wanted[kept] - q) - drives.damping * self.qd[kept]
            return ActuatorLog(names, at, read, at, read, None, nothing, nothing, torque)
        return ActuatorLog(names, at, read, self.command_t, self.command, None, drives.stiffness, drives.damping)

    def body_torque(self, rate: float = 200.0) -> Array:
        """(S, n) torque that the rigid bodies take, the mean from half a sample before each to half a sample after."""
        kept = self._kept(rate)
        half = kept.step // 2
        padded = np.pad(self.qd, ((half, half), (0, 0)), mode="edge")
        acceleration = ((padded[2 * half :] - padded[: -2 * half]) / (2 * half * (self.t[1] - self.t[0])))[kept]
        taken = joint_load(self.robot, self.q[kept], self.qd[kept], acceleration).torque
        return np.asarray((1.0 + self.drives.mass_error) * taken)

    def _kept(self, rate: float) -> slice:
        return slice(None, None, round(1.0 / (rate * (self.t[1] - self.t[0]))))


def move_on_stand(
    robot: Robot, drives: Drives, command_t: Array, command: Array, *, step: float = _STEP
) -> StandMotion:
    """The robot's motion while it is commanded, from rest at the first command.

    Args:
        robot: with a fixed base.
        drives: of its joints.
        command_t, command: (M,) [s], (M, n) [rad]; each holds until the next.
        step: of the simulation [s]. MuJoCo's dry friction is true to a step: half a ms moves a delay by 0.1 ms.

    Raises:
        RobotError: see `arm_spec`.
    """
    model = _model(robot, drives, step)
    begins = np.arange(command_t[0], command_t[-1] + 1e-9, step)
    told = [HeldCommand(command_t, column) for column in command.T]
    means = [
        held.means(np.append(begins, begins[-1] + step), float(delay))[0]
        for held, delay in zip(told, drives.delay, strict=True)
    ]
    wanted = np.stack(means, axis=1) - drives.encoder_bias
    middle = 0.5 * (command.min(axis=0) + command.max(axis=0))
    q, qd = _motion(model, drives, command[0], wanted, middle)
    return StandMotion(robot, drives, begins, q, qd, wanted, command_t, command)


def _motion(model: mujoco.MjModel, drives: Drives, start: Array, wanted: Array, middle: Array) -> tuple[Array, Array]:
    """Positions and velocities (N, n) at the beginnings of steps with commands (N, n), from rest."""
    data = mujoco.MjData(model)
    data.qpos[:] = start
    if not any(
        unknown.any() for unknown in (drives.stribeck, drives.position_friction, drives.load_friction, drives.ripple)
    ):
        first = np.concatenate([[0.0], data.qpos, data.qvel])
        after, _ = rollout.rollout(model, data, first[None], wanted[None, :-1])
        states = np.concatenate([first[None], after[0]])
        return states[:, 1 : 1 + model.nq], states[:, 1 + model.nq :]
    q, qd = np.empty_like(wanted), np.empty_like(wanted)
    position, speed, control, applied = data.qpos, data.qvel, data.ctrl, data.qfrc_applied
    loaded, taken = bool(drives.load_friction.any()), np.zeros(len(start))
    # Of a few joints, plain numbers are faster than arrays.
    joints = np.stack(
        [
            drives.stribeck, drives.stribeck_speed, drives.stribeck_power, drives.position_friction, middle,
            drives.load_friction, drives.ripple, drives.ripples,
        ],
        axis=1,
    ).tolist()  # fmt: skip
    for k, told in enumerate(wanted):
        q[k], qd[k] = position, speed
        control[:] = told
        applied[:] = [
            _unknown_torque(x, v, load, *joint)
            for x, v, load, joint in zip(position.tolist(), speed.tolist(), taken.tolist(), joints, strict=True)
        ]
        mujoco.mj_step(model, data)
        if loaded:  # of the step that has just been made
            taken = data.qfrc_actuator + data.qfrc_passive + data.qfrc_constraint + applied
            taken -= model.dof_armature * data.qacc
    return q, qd


def _unknown_torque(
    q: float, w: float, load: float, stribeck: float, fading: float, power: float, growth: float, middle: float,
    by_load: float, ripple: float, ripples: float,
) -> float:  # fmt: skip
    """Torque of friction at rest and of friction that grows with position or load, and of ripple [N m]."""
    dry = stribeck * math.exp(-((abs(w) / fading) ** power)) + growth * (q - middle) + by_load * abs(load)
    return ripple * math.sin(ripples * q) - dry * w / math.sqrt(w * w + _ROUNDING)


def _model(robot: Robot, drives: Drives, step: float) -> mujoco.MjModel:
    bodies = [
        pinocchio.Inertia((1.0 + drives.mass_error) * i.mass, i.lever, (1.0 + drives.mass_error) * i.inertia)
        for i in robot.model.inertias.tolist()[1:]
    ]
    zero = np.zeros(robot.n)
    motor = MotorConstants(coulomb=zero, viscous=drives.viscous, armature=drives.armature, offset=zero)
    spec = arm_spec(robot, bodies, motor, None)
    spec.option.timestep = step
    for name, stiffness, damping, coulomb in zip(
        robot.joint_names, drives.stiffness, drives.damping, drives.coulomb, strict=True
    ):
        joint = spec.joint(name)
        joint.frictionloss = coulomb
        # MuJoCo's own values turn friction over within 0.1 rad/s on joints as light as these: viscous, not dry.
        joint.solref_friction = (_DRY * step, 1.0)
        drive = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        drive.set_to_position(kp=stiffness, kv=damping)
    return spec.compile()
