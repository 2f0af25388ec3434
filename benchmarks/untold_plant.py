# SPDX-License-Identifier: Apache-2.0
"""An arm in MuJoCo with effects that no identifier is told of, and what it carries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
import numpy.typing as npt
import pinocchio

from benchmarks.untold_effects import Untold
from sysid_nodes.robots import MotorConstants, Robot
from sysid_nodes.rollouts.arm_model import arm_spec

Array = npt.NDArray[np.float64]

STEP = 0.0005
"""Of the simulation [s]."""
HOLD = np.array([60.0, 60.0, 25.0, 6.0, 6.0, 6.0])
"""Torques that effects are measured by: what holds a UR5 stretched with a few kilograms, about [N m]."""
_RIGID = 2e-4
_TOUCHED, _TOUCH, _ASIDE = 13.5, 2.0, np.array([0.6, -0.48, 0.64])
"""When a hand touches the load, a moment after bounds are first claimed, and for how long [s]; in which direction."""


@dataclass(frozen=True)
class Load:
    """Attributes: mass [kg]; com (3,) [m] and inertia (3, 3) about it [kg m2], in the last joint's frame."""

    mass: float
    com: Array
    inertia: Array

    @property
    def theta(self) -> Array:
        """(10,) inertial parameters."""
        about = self.inertia + self.mass * (self.com @ self.com * np.eye(3) - np.outer(self.com, self.com))
        return np.concatenate([[self.mass], self.mass * self.com, about[np.tril_indices(3)]])


def draw_load(rng: np.random.Generator) -> Load:
    """1 to 5 kg a hand's breadth off the flange."""
    mass = rng.uniform(1.0, 5.0)
    com = rng.uniform(-0.05, 0.05, 3) + np.array([0.0, 0.0, 0.12])
    size = rng.uniform(0.02, 0.06, 3) ** 2
    return Load(mass, com, np.diag(mass * (size.sum() - size)))


@dataclass(frozen=True)
class Frame:
    """Attributes: robot, nominal; bodies, true inertias of its links; motor, true constants of its drives."""

    robot: Robot
    bodies: Sequence[pinocchio.Inertia]
    motor: MotorConstants


class Plant:
    """The arm in MuJoCo, with effects; friction is a share of its own."""

    def __init__(self, frame: Frame, untold: Untold, load: Load | None, friction: float) -> None:
        robot, motor = frame.robot, frame.motor
        self._untold, names = untold, robot.joint_names
        self._coulomb = motor.coulomb * friction
        bare = MotorConstants(np.zeros(robot.n), motor.viscous * friction, motor.armature, motor.offset)
        spec = arm_spec(robot, frame.bodies, bare, None)
        spec.option.integrator, spec.option.timestep = mujoco.mjtIntegrator.mjINT_IMPLICITFAST, STEP
        turn = pinocchio.exp3(untold.tilt * np.array([np.cos(1.3), np.sin(1.3), 0.0]))
        spec.option.gravity = turn @ robot.model.gravity.linear
        self._stiff = HOLD / max(untold.bend, _RIGID)
        elastic = untold.bend > 0.0 or untold.backlash > 0.0
        for k, name in enumerate(names):
            joint = spec.joint(name)
            joint.frictionloss = self._coulomb[k]
            if elastic:
                flex = spec.body(name).add_joint(name=f"{name}_flex", type=joint.type, axis=joint.axis)
                flex.damping[0] = 1e-3 * self._stiff[k]
                flex.stiffness[0] = 0.0 if untold.backlash else self._stiff[k]
            if untold.cable and k:
                joint.stiffness[0], joint.springref = untold.cable * HOLD[k], 0.3
        if load is not None:
            _hang(spec.body(names[-1]), load, swing=untold.swing)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self._own = np.array([self.model.joint(name).dofadr[0] for name in names])
        self._load = None if load is None else self.model.body("payload").id
        self._flex = np.array([self.model.joint(f"{name}_flex").dofadr[0] for name in names]) if elastic else None

    @property
    def state(self) -> tuple[Array, Array]:
        """Positions and velocities of the drives, where the encoders are."""
        return self.data.qpos[self._own].copy(), self.data.qvel[self._own].copy()

    def place(self, q: Array, v: Array) -> None:
        """Begins there."""
        self.data.qpos[self._own], self.data.qvel[self._own] = q, v

    def step(self, torque: Array, angles: Array) -> None:
        """Half a millisecond under the commanded torque; ripple begins at these angles."""
        untold, data = self._untold, self.data
        self.model.dof_frictionloss[self._own] = self._coulomb + untold.load_friction * np.abs(torque)
        ripple = untold.ripple * HOLD * np.sin(40.0 * data.qpos[self._own] + angles)
        data.qfrc_applied[self._own] = torque + ripple
        if untold.backlash:
            give = data.qpos[self._flex]
            push = np.sign(give) * np.maximum(np.abs(give) - 0.5 * untold.backlash, 0.0)
            data.qfrc_applied[self._flex] = -self._stiff * push
        if untold.touch and self._load is not None:
            since = (data.time - _TOUCHED) / _TOUCH
            data.xfrc_applied[self._load, :3] = untold.touch * np.sin(np.pi * np.clip(since, 0.0, 1.0)) * _ASIDE
        mujoco.mj_step(self.model, data)


def _hang(flange: mujoco.MjsBody, load: Load, *, swing: bool) -> None:
    body, com = flange.add_body(name="payload"), load.com
    if swing:  # 5 cm beside its centre, on a damped hinge that holds it about as it is
        body.pos, com = load.com + np.array([0.05, 0.0, 0.0]), np.array([-0.05, 0.0, 0.0])
        hinge = body.add_joint(name="swing", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0])
        hinge.damping[0], hinge.stiffness[0] = 0.05, load.mass * 9.81 * 0.05 * 2.0
    body.explicitinertial, body.mass, body.ipos = True, load.mass, com
    body.fullinertia = [*np.diag(load.inertia), 0.0, 0.0, 0.0]
