# SPDX-License-Identifier: Apache-2.0
"""A UR5 in MuJoCo with effects that no identifier is told of; its drives' readings are the torques commanded.

The truth shares the rigid-body equations with nothing of the suite but the parameters: MuJoCo integrates at half a
millisecond, a controller that knows neither load nor effects tracks sines at 500 Hz, and a log is kept at 125 Hz.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
import numpy.typing as npt
import pinocchio

from benchmarks.truth import SineMotion
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.known_robot import KnownRobotConfig, PriorConfig
from sysid_nodes.robots import MotorConstants, Robot, load_robot
from sysid_nodes.robots.example_robots import example_urdf
from sysid_nodes.rollouts.arm_model import arm_spec
from sysid_nodes.systems.interval.config import (
    IntervalIdentifierConfig,
    NoiseConfig,
    SetMembershipConfig,
    WindowConfig,
)

Array = npt.NDArray[np.float64]

CONFIG = IntervalIdentifierConfig(
    robot="urdf",
    target="payload",
    window=WindowConfig(duration=0.25, max_gap=0.05),
    noise=NoiseConfig(
        model="window",
        torque_relative=(0.0,),
        position_error=(1e-4,),
        velocity_error=(1e-3,),
        acceleration=(10.0,),
    ),
    known_robot=KnownRobotConfig(
        inertia_relative=0.3,
        inertia_scale="body",
        coulomb=(10.0, 10.0, 10.0, 4.0, 4.0, 4.0),
        viscous=(8.0, 8.0, 8.0, 3.0, 3.0, 3.0),
        friction_relative=0.8,
        armature=(1.0, 1.0, 1.0, 0.3, 0.3, 0.3),
        armature_relative=0.8,
        offset_absolute=(1.0,),
    ),
    prior=PriorConfig(
        lower=(0.0, -3.0, -3.0, -3.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0),
        upper=(8.0, 3.0, 3.0, 3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    ),
    set_membership=SetMembershipConfig(max_rows=800),
)
"""Everything that is stated of the arm."""

_STEP, _CONTROL, _LOG = 0.0005, 4, 16
_BANDWIDTH = 2.0 * np.pi * 6.0
_SETTLING = 1.0
"""Of the controller, not logged [s]."""
_HOLD = np.array([60.0, 60.0, 25.0, 6.0, 6.0, 6.0])
"""Torques that effects are measured by: what holds a UR5 stretched with a few kilograms, about [N m]."""
_RIGID = 2e-4


@dataclass(frozen=True)
class Untold:
    """Effects, none by default.

    Attributes:
        bend: joints' elasticity [rad] at the torques of `_HOLD`. backlash: play of gears [rad].
        tilt: of the base [rad]. load_friction: share of the torque that drives lose.
        ripple: of the torque by position, share of `_HOLD`. delay: of efforts after positions [s].
        step: of encoders [rad]. drift: share of friction that is gone once the arm is loaded.
        gain: by how much readings of torque are too large. cable: springs across joints, share of `_HOLD` a radian.
        swing: whether the load hangs on a hinge.
    """

    bend: float = 0.0
    backlash: float = 0.0
    tilt: float = 0.0
    load_friction: float = 0.0
    ripple: float = 0.0
    delay: float = 0.0
    step: float = 0.0
    drift: float = 0.0
    gain: float = 0.0
    cable: float = 0.0
    swing: bool = False


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


class Arm:
    """A UR5 whose parameters are drawn once, within what `CONFIG` states, and its runs."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.robot: Robot = load_robot("urdf", urdf_text=example_urdf("ur_description/urdf/ur5_robot.urdf"))
        n, known = self.robot.n, CONFIG.known_robot
        scale = 1.0 + 0.6 * known.inertia_relative * rng.uniform(-1.0, 1.0, n)
        nominal = [self.robot.model.inertias[k + 1] for k in range(n)]
        self._bodies = [
            pinocchio.Inertia(b.mass * s, b.lever, b.inertia * s) for b, s in zip(nominal, scale, strict=True)
        ]

        def draw(centre: object, relative: float) -> Array:
            return np.asarray(np.array(centre) * (1.0 + 0.9 * relative * rng.uniform(-1.0, 1.0, n)))

        self._motor = MotorConstants(
            0.7 * draw(known.coulomb, known.friction_relative),
            0.7 * draw(known.viscous, known.friction_relative),
            draw(known.armature, known.armature_relative),
            0.9 * known.offset_absolute[0] * rng.uniform(-1.0, 1.0, n),
        )
        self._noise = rng.uniform(0.2, 0.5, n) * np.where(np.arange(n) < 3, 1.0, 0.3)
        self._rng = rng

    def run(self, untold: Untold, load: Load | None, duration: float) -> JointSamples:
        """A log of random sines [s]. Raises RuntimeError where the simulation runs away."""
        rng, friction = self._rng, 1.0 - (untold.drift if load is not None else 0.0)
        plant = _Plant(self, untold, load, friction)
        t: Array = np.arange(int(duration / _STEP), dtype=np.float64) * _STEP
        q, qd, qdd = SineMotion.random(rng, self.robot.n)(t[::_CONTROL])
        angles = rng.uniform(0.0, 2.0 * np.pi, self.robot.n)
        plant.place(q[0], qd[0])
        kept = []
        for k in range(len(t)):
            if k % _CONTROL == 0:
                at = k // _CONTROL
                torque = self._control(*plant.state, q[at], qd[at], qdd[at])
            if k % _LOG == 0:
                kept.append((*plant.state, torque + self._motor.offset))
            plant.step(torque, angles)
        read = [np.array(part) for part in zip(*kept, strict=True)]
        return self._log(untold, t[::_LOG], *read)

    def _control(self, q: Array, v: Array, to: Array, speed: Array, rate: Array) -> Array:
        a = rate + 2.0 * _BANDWIDTH * (speed - v) + _BANDWIDTH**2 * (to - q)
        model = self.robot.model
        rigid = pinocchio.rnea(model, model.createData(), q, v, a)
        motor = self._motor
        return np.asarray(rigid + motor.armature * a + motor.coulomb * np.tanh(speed / 0.05) + motor.viscous * v)

    def _log(self, untold: Untold, t: Array, q: Array, v: Array, effort: Array) -> JointSamples:
        rng = self._rng
        if not np.isfinite(q).all() or np.abs(v).max() > 5.0:
            raise RuntimeError("the simulation ran away")
        effort = effort * (1.0 + untold.gain)
        if untold.delay:
            effort = np.column_stack([np.interp(t - untold.delay, t, column) for column in effort.T])
        if untold.step:
            q = np.round(q / untold.step) * untold.step
        q, v = q + 1e-5 * rng.uniform(-1.0, 1.0, q.shape), v + 5e-4 * rng.uniform(-1.0, 1.0, v.shape)
        effort = effort + self._noise * rng.uniform(-1.0, 1.0, effort.shape)
        settled = t >= _SETTLING
        return JointSamples(self.robot.joint_names, t[settled], q[settled], v[settled], effort[settled])


class _Plant:
    """The arm in MuJoCo, with effects; friction is a share of its own."""

    def __init__(self, arm: Arm, untold: Untold, load: Load | None, friction: float) -> None:
        self._untold, names = untold, arm.robot.joint_names
        motor = arm._motor
        self._coulomb = motor.coulomb * friction
        bare = MotorConstants(np.zeros(arm.robot.n), motor.viscous * friction, motor.armature, motor.offset)
        spec = arm_spec(arm.robot, arm._bodies, bare, None)
        spec.option.integrator, spec.option.timestep = mujoco.mjtIntegrator.mjINT_IMPLICITFAST, _STEP
        turn = pinocchio.exp3(untold.tilt * np.array([np.cos(1.3), np.sin(1.3), 0.0]))
        spec.option.gravity = turn @ arm.robot.model.gravity.linear
        self._stiff = _HOLD / max(untold.bend, _RIGID)
        elastic = untold.bend > 0.0 or untold.backlash > 0.0
        for k, name in enumerate(names):
            joint = spec.joint(name)
            joint.frictionloss = self._coulomb[k]
            if elastic:
                flex = spec.body(name).add_joint(name=f"{name}_flex", type=joint.type, axis=joint.axis)
                flex.damping[0] = 1e-3 * self._stiff[k]
                flex.stiffness[0] = 0.0 if untold.backlash else self._stiff[k]
            if untold.cable and k:
                joint.stiffness[0], joint.springref = untold.cable * _HOLD[k], 0.3
        if load is not None:
            _hang(spec.body(names[-1]), load, swing=untold.swing)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self._own = np.array([self.model.joint(name).dofadr[0] for name in names])
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
        ripple = untold.ripple * _HOLD * np.sin(40.0 * data.qpos[self._own] + angles)
        data.qfrc_applied[self._own] = torque + ripple
        if untold.backlash:
            give = data.qpos[self._flex]
            push = np.sign(give) * np.maximum(np.abs(give) - 0.5 * untold.backlash, 0.0)
            data.qfrc_applied[self._flex] = -self._stiff * push
        mujoco.mj_step(self.model, data)


def _hang(flange: mujoco.MjsBody, load: Load, *, swing: bool) -> None:
    body, com = flange.add_body(name="payload"), load.com
    if swing:  # 5 cm beside its centre, on a damped hinge that holds it about as it is
        body.pos, com = load.com + np.array([0.05, 0.0, 0.0]), np.array([-0.05, 0.0, 0.0])
        hinge = body.add_joint(name="swing", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0])
        hinge.damping[0], hinge.stiffness[0] = 0.05, load.mass * 9.81 * 0.05 * 2.0
    body.explicitinertial, body.mass, body.ipos = True, load.mass, com
    body.fullinertia = [*np.diag(load.inertia), 0.0, 0.0, 0.0]
