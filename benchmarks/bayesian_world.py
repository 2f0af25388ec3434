# SPDX-License-Identifier: Apache-2.0
"""A hidden robot in MuJoCo and its readings.

Inertias are drawn from the prior, friction is anywhere below its upper end. MuJoCo's dry friction is a softened
constraint, its loops are `connect` and `weld` of its own solver, its step is 0.1 ms: nothing of it is the estimator's.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
import numpy.typing as npt
import pinocchio
from scipy.interpolate import CubicSpline

from benchmarks.bayesian_robots import BenchRobot
from sysid_nodes.robots import MotorConstants
from sysid_nodes.rollouts.rigid_body import quaternion
from sysid_nodes.simulation.arm.mujoco_arm import arm_spec
from sysid_nodes.systems.bayesian import Grid, MechanismLog, Series, mechanism_log
from sysid_nodes.systems.bayesian.mechanism import Mechanism, build_mechanism

Array = npt.NDArray[np.float64]

STEP, RATE = 1e-4, 500.0
_STIFF = (2.0 * STEP, 1.0), (0.9999, 0.9999, 1e-3)
_HARMONICS = (1, 2, 3, 5)
_LONGEST = 4.0  # [s] period of the slowest
_NODES = 50.0  # [Hz] at which loops are closed along the motion that is asked for
_ITERATIONS = 20
_LOSS, _IDLE = 0.1, 10.0  # of the power meter: [W/(N m)^2] times a motor's share, [W]


@dataclass(frozen=True)
class Truth:
    """What is hidden.

    Attributes:
        x: all constants, as the mechanism orders them.
        q, v, a: (K, n) of the motion.
        torque: (K, m) of the motors; of a multirotor, of its base's joints.
        gap: largest of the loops along the motion [m, rad].
    """

    x: Array
    q: Array
    v: Array
    a: Array
    torque: Array
    gap: float


def true_mechanism(own: BenchRobot) -> Mechanism:
    """With the constants' layout; a power meter is a matter of the log."""
    return build_mechanism(own.robot, own.config, power=False)


def simulate(own: BenchRobot, seed: int, duration: float) -> Truth:
    """A hidden robot that follows random harmonics.

    Args:
        own: nominal.
        seed: of constants and motion.
        duration: [s].
    """
    rng = np.random.default_rng(seed)
    mechanism = true_mechanism(own)
    x = _draw(own, mechanism, rng)
    model = _model(own, mechanism, x)
    data = mujoco.MjData(model)
    asked = _motion(own, mechanism, duration, rng)
    count, every = round(duration / STEP), round(1.0 / RATE / STEP)
    stamps = STEP * np.arange(count)
    wanted, speed = asked(stamps), asked(stamps, 1)
    (motors,) = np.nonzero(mechanism.parameters.motors)
    gains = own.gains[0] * np.ones(len(motors)), own.gains[1] * np.ones(len(motors))
    data.qpos[:], data.qvel[:] = wanted[0], speed[0]
    rows = []
    for k in range(count):
        data.qfrc_applied[motors] = (
            gains[0] * (wanted[k] - data.qpos)[motors] + gains[1] * (speed[k] - data.qvel)[motors]
        )
        if k % every == 0:
            mujoco.mj_forward(model, data)
            rows.append(np.concatenate([data.qpos, data.qvel, data.qacc, data.qfrc_applied[motors]]))
        mujoco.mj_step(model, data)
    q, v, a, torque = np.split(np.array(rows), np.cumsum([model.nv] * 3), axis=1)
    gap = float(np.abs(mechanism.closures.value(q)).max()) if mechanism.closures.count else 0.0
    return Truth(x, q, v, a, torque, gap)


def readings(own: BenchRobot, truth: Truth, noise: float, seed: int) -> tuple[Array, Array, Array]:
    """Positions (K, n), not numbers where there is no encoder, torques (K, m) and drawn power (K,).

    Args:
        own: the robot.
        truth: its motion.
        noise: of positions [rad, m]; torques' and power's is ten times that, of their root mean squares.
        seed: of the noise.
    """
    rng = np.random.default_rng([seed, 1])
    mechanism = true_mechanism(own)
    motors = mechanism.parameters.motors
    q = truth.q + noise * rng.standard_normal(truth.q.shape)
    if mechanism.closures.count:
        q[:, ~motors] = np.nan
    torque = truth.torque + 10.0 * noise * _rms(truth.torque) * rng.standard_normal(truth.torque.shape)
    losses = _LOSS / np.maximum(_rms(truth.torque), 1.0)
    power = np.sum(truth.torque * truth.v[:, motors] + losses * truth.torque**2, axis=1) + _IDLE
    return q, torque, power + 10.0 * noise * _rms(power) * rng.standard_normal(len(power))


def bench_log(own: BenchRobot, q: Array, torque: Array, power: Array | None) -> MechanismLog:
    """The readings on the identification's grid."""
    t = np.arange(len(q)) / RATE
    meter = None if power is None else Series(t, power[:, None])
    return mechanism_log(Series(t, q), Series(t, torque), meter, Grid.over(t, own.config.step))


def _rms(values: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(values**2, axis=0)))


def _draw(own: BenchRobot, mechanism: Mechanism, rng: np.random.Generator) -> Array:
    layout = mechanism.parameters
    x = layout.mean.copy()
    bodies = layout.free[layout.free < 10 * layout.n]
    x[bodies] += layout.sigma[bodies] * rng.standard_normal(len(bodies))
    x -= layout.symmetry.T @ (layout.symmetry @ x)
    for name, highest in zip(("coulomb", "viscous"), own.friction, strict=True):
        x[layout.joint(name)] = np.where(layout.motors, highest * rng.uniform(0.2, 1.0, layout.n), 0.0)
    return x


def _model(own: BenchRobot, mechanism: Mechanism, x: Array) -> mujoco.MjModel:
    layout, none = mechanism.parameters, np.zeros(own.robot.n)
    bodies = [pinocchio.Inertia.FromDynamicParameters(theta) for theta in layout.inertia(x)]
    motor = MotorConstants(none, layout.constants(x, "viscous"), layout.constants(x, "armature"), none)
    spec = arm_spec(own.robot, bodies, motor, None)
    spec.option.timestep, spec.option.integrator = STEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    for name, coulomb in zip(own.robot.joint_names, layout.constants(x, "coulomb"), strict=True):
        joint = spec.joint(name)
        joint.frictionloss, joint.solref_friction[:2] = coulomb, (2.0 * STEP, 1.0)
    for word in own.config.mechanism.loops:
        first, second, kind = word.split(":")
        for link in (first, second):
            frame = own.robot.model.frames[own.robot.model.getFrameId(link)]
            part = spec.body(own.robot.joint_names[frame.parentJoint - 1]) if frame.parentJoint else spec.worldbody
            part.add_site(name=link, pos=frame.placement.translation, quat=quaternion(frame.placement.rotation))
        held = spec.add_equality(
            type=mujoco.mjtEq.mjEQ_CONNECT if kind == "point" else mujoco.mjtEq.mjEQ_WELD,
            objtype=mujoco.mjtObj.mjOBJ_SITE,
            name1=first,
            name2=second,
        )
        held.solref[:2], held.solimp[:3] = _STIFF
        held.data[10] = 1.0  # torque scale of a weld
    return spec.compile()


def _motion(own: BenchRobot, mechanism: Mechanism, duration: float, rng: np.random.Generator) -> CubicSpline:
    """Positions over time: harmonics of all joints, or of some with the others following as loops lead them."""
    count = round((duration + 0.2) * _NODES)
    t = np.arange(count) / _NODES
    wave = np.zeros((count, len(own.reach)))
    for harmonic in _HARMONICS:
        phase = rng.uniform(0.0, 2.0 * np.pi, len(own.reach))
        wave += np.sin(2.0 * np.pi * harmonic / _LONGEST * t[:, None] + phase) / (len(_HARMONICS) * np.sqrt(0.5))
    q = np.tile(own.rest, (count, 1))
    q += own.reach * wave
    led = own.reach == 0.0
    for _ in range(_ITERATIONS if mechanism.closures.count else 0):
        value, jacobian = mechanism.closures.linearise(q)
        q[:, led] -= (np.linalg.pinv(jacobian[:, :, led]) @ value[:, :, None])[:, :, 0]
    if mechanism.closures.count and np.abs(mechanism.closures.value(q)).max() > 1e-9:
        raise ValueError(f"the {own.name}'s loops do not reach as far as it is to move")
    return CubicSpline(t, q)
