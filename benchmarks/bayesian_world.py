# SPDX-License-Identifier: Apache-2.0
"""A hidden robot in MuJoCo and its readings.

Inertias are drawn from the prior, friction is anywhere below its upper end. MuJoCo's dry friction is a softened
constraint, its loops are `connect` and `weld` of its own solver, its step is 0.1 ms: nothing of it is the estimator's.
Who stands is held by its weight alone: points under its feet, which a floor pushes and rubs, and nothing pulls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import mujoco
import numpy as np
import numpy.typing as npt
import pinocchio
from scipy.interpolate import CubicSpline

from benchmarks.bayesian_robots import BenchRobot
from sysid_nodes.robots import MotorConstants
from sysid_nodes.rollouts.arm_model import arm_spec
from sysid_nodes.rollouts.rigid_body import quaternion
from sysid_nodes.systems.bayesian import Grid, MechanismLog, Series, mechanism_log
from sysid_nodes.systems.bayesian.mechanism import Mechanism, Motion, build_mechanism

Array = npt.NDArray[np.float64]

STEP, RATE = 1e-4, 500.0
_HARD = (0.9999, 0.9999, 1e-3)
"""MuJoCo's solimp, of what holds."""
_HELD = 100.0  # how much harder floors hold feet along than across
_NO_SLIP = 10  # iterations against creeping
_HARMONICS = (1, 2, 3, 5)
_LONGEST = 4.0  # [s] period of the slowest
_NODES = 50.0  # [Hz] at which loops are closed along the motion that is asked for
_ITERATIONS = 20
_SHARES = (1.0, 0.6, 0.36)  # of a motion's reach, one after the other until the robot stays on its feet
_STANDS = 2e-4  # [m, rad] by which they may slip and tip
_FOOT = 1e-5  # radius of a point under a foot [m]: one that rolled would not stay where it is
_SOLE = 0.03  # of a foot's half width, over which its weight may wander [m]
_GIVES = 5e-3  # time in which a floor gives way [s]: a harder one rattles
_RUBS = 1.0  # friction of floor and feet
_LOSS, _IDLE = 0.1, 10.0  # of the power meter: [W/(N m)^2] times a motor's share, [W]


@dataclass(frozen=True)
class Truth:
    """The hidden truth.

    Attributes:
        x: all constants, as the mechanism orders them.
        q, v, a: (K, n) of the motion.
        torque: (K, m) of the motors; of a multirotor, of its base's joints.
        gap: largest of the loops along the motion [m, rad].
        lifted: share of the samples at which the floor did not push a foot.
    """

    x: Array
    q: Array
    v: Array
    a: Array
    torque: Array
    gap: float
    lifted: float = 0.0


def true_mechanism(own: BenchRobot) -> Mechanism:
    """With the constants' layout; a power meter is a matter of the log."""
    return build_mechanism(own.robot, own.config, power=False)


def simulate(own: BenchRobot, seed: int, duration: float) -> Truth:
    """A hidden robot that follows random harmonics, smaller ones where it would not stay on its feet.

    Args:
        own: nominal.
        seed: of constants and motion.
        duration: [s].
    """
    mechanism = true_mechanism(own)
    x, phases = _draw(own, mechanism, seed)
    for share in _SHARES:
        asked = _motion(replace(own, reach=share * own.reach), mechanism, duration, phases)
        found = _follow(own, mechanism, x, asked, round(duration / STEP))
        if not own.feet or found.gap < _STANDS:
            return found
    raise ValueError(f"the {own.name} of seed {seed} does not stay on its feet")


def move(own: BenchRobot, seed: int, asked: CubicSpline) -> Truth:
    """The hidden robot of `simulate`, with a fixed base, along positions (n,) over time that are asked of it."""
    mechanism = true_mechanism(own)
    return _follow(own, mechanism, _draw(own, mechanism, seed)[0], asked, round(float(asked.x[-1]) / STEP))


def same_equations(own: BenchRobot, seed: int, duration: float) -> Truth:
    """A hidden robot that stands and moves just as it is asked to, by the identification's own equations."""
    mechanism = true_mechanism(own)
    x, phases = _draw(own, mechanism, seed)
    asked, t = _motion(own, mechanism, duration, phases), np.arange(round(duration * RATE)) / RATE
    return Truth(x, asked(t), asked(t, 1), asked(t, 2), _carrying(own, mechanism, asked, x)(t), 0.0)


def _follow(own: BenchRobot, mechanism: Mechanism, x: Array, asked: CubicSpline, count: int) -> Truth:
    """So many steps of the robot with its constants, positions held to those that are asked for."""
    model = true_model(own, mechanism, x)
    data, every = mujoco.MjData(model), round(1.0 / RATE / STEP)
    stamps = STEP * np.arange(count)
    wanted, speed = asked(stamps), asked(stamps, 1)
    ahead = _carrying(own, mechanism, asked, x)(stamps)
    (motors,) = np.nonzero(mechanism.parameters.motors)
    data.qpos[:], data.qvel[:] = wanted[0], speed[0]
    rows, lifted = [], 0
    for k in range(count):
        behind, slow = (wanted[k] - data.qpos)[motors], (speed[k] - data.qvel)[motors]
        data.qfrc_applied[motors] = ahead[k] + own.gains[0] * behind + own.gains[1] * slow
        if k % every == 0:
            mujoco.mj_forward(model, data)
            rows.append(np.concatenate([data.qpos, data.qvel, data.qacc, data.qfrc_applied[motors]]))
            lifted += _least_push(model, data, own) <= 0.0
        mujoco.mj_step(model, data)
    q, v, a, torque = np.split(np.array(rows), np.cumsum([model.nv] * 3), axis=1)
    gap = float(np.abs(mechanism.closures.value(q)).max()) if mechanism.closures.count else 0.0
    return Truth(x, q, v, a, torque, gap, float(lifted) / len(q))


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


def _draw(own: BenchRobot, mechanism: Mechanism, seed: int) -> tuple[Array, Array]:
    """Constants (P,), and phases of its motion."""
    layout, rng = mechanism.parameters, np.random.default_rng(seed)
    x = layout.mean.copy()
    bodies = layout.free[layout.free < 10 * layout.n]
    x[bodies] += layout.sigma[bodies] * rng.standard_normal(len(bodies))
    x -= layout.symmetry.T @ (layout.symmetry @ x)
    for name, highest in zip(("coulomb", "viscous"), own.friction, strict=True):
        x[layout.joint(name)] = np.where(layout.motors, highest * rng.uniform(0.2, 1.0, layout.n), 0.0)
    return x, rng.uniform(0.0, 2.0 * np.pi, (len(_HARMONICS), len(own.reach)))


def robot_spec(own: BenchRobot, mechanism: Mechanism, x: Array, step: float) -> mujoco.MjSpec:
    """The robot with its constants in MuJoCo, but for what closes its loops and holds its feet."""
    layout, none = mechanism.parameters, np.zeros(own.robot.n)
    bodies = [pinocchio.Inertia.FromDynamicParameters(theta) for theta in layout.inertia(x)]
    motor = MotorConstants(none, layout.constants(x, "viscous"), layout.constants(x, "armature"), none)
    spec = arm_spec(own.robot, bodies, motor, None)
    spec.option.timestep, spec.option.integrator = step, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    for name, coulomb in zip(own.robot.joint_names, layout.constants(x, "coulomb"), strict=True):
        joint = spec.joint(name)
        joint.frictionloss, joint.solref_friction[:2] = coulomb, (2.0 * step, 1.0)
    return spec


def close(spec: mujoco.MjSpec, own: BenchRobot, step: float) -> None:
    """Holds the ends of its loops together."""
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
        held.solref[:2], held.solimp[:3] = (2.0 * step, 1.0), _HARD
        held.data[10] = 1.0  # torque scale of a weld


def true_model(own: BenchRobot, mechanism: Mechanism, x: Array) -> mujoco.MjModel:
    """With loops closed; who has feet stands on a floor."""
    spec = robot_spec(own, mechanism, x, STEP)
    if not own.feet:
        close(spec, own, STEP)
        return spec.compile()
    data = own.robot.model.createData()
    pinocchio.forwardKinematics(own.robot.model, data, own.rest)
    joints = own.robot.joint_names
    heights = [data.oMi[joints.index(joint) + 1].act(np.array(place))[2] for joint, place in own.feet]
    spec.option.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    spec.option.cone, spec.option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, _HELD
    spec.option.noslip_iterations = _NO_SLIP
    floor = spec.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1.0, 1.0, 0.1])
    floor.pos[2] = max(heights) - _FOOT
    for k, (joint, place) in enumerate(own.feet):
        point = spec.body(joint).add_geom(name=f"foot {k}", pos=place, density=0.0)
        point.type, point.size[0] = mujoco.mjtGeom.mjGEOM_SPHERE, _FOOT
        floor.contype = floor.conaffinity = point.contype = point.conaffinity = 0
        pair = spec.add_pair(geomname1="floor", geomname2=point.name, condim=3, gap=_FOOT)
        pair.friction[:2], pair.solimp[:3] = _RUBS, _HARD
        pair.solref[:2], pair.solreffriction[:2] = (_GIVES, 1.0), (2.0 * STEP, 1.0)
    return spec.compile()


def _carrying(own: BenchRobot, mechanism: Mechanism, asked: CubicSpline, x: Array) -> CubicSpline:
    """(m,) torques over time by which motors carry a robot that stands, none of another."""
    t, motors = asked.x, mechanism.parameters.motors
    if not own.feet:
        return CubicSpline(t, np.zeros((len(t), motors.sum())))
    q = asked(t)
    bare = Motion(q, asked(t, 1), asked(t, 2), np.zeros((len(t), mechanism.closures.count)))
    carried, jacobian = mechanism.torque(bare, x), mechanism.closures.linearise(q)[1]
    directions = mechanism.closures.directions
    loops = len(own.config.mechanism.loops)
    cheap = np.array([1.0, 1.0, 1.0, *[_SOLE] * 3])[: directions.shape[1] // loops]  # N, and N m
    across = (jacobian.swapaxes(1, 2) @ directions) * np.tile(cheap, loops)
    pushed = np.linalg.pinv(across[:, ~motors]) @ carried[:, ~motors, None]
    return CubicSpline(t, (carried - (across @ pushed)[:, :, 0])[:, motors])


def _least_push(model: mujoco.MjModel, data: mujoco.MjData, own: BenchRobot) -> float:
    """Of the floor on a foot, all its points together [N]; infinite where nothing stands."""
    joints = [joint for joint, _ in own.feet]
    pushes, force = dict.fromkeys(joints, 0.0), np.zeros(6)
    for k in range(data.ncon if own.feet else 0):
        mujoco.mj_contactForce(model, data, k, force)
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_GEOM, int(data.contact.geom[k].max()))
        pushes[joints[int(name.split()[1])]] += force[0]
    return min(pushes.values(), default=np.inf)


def _motion(own: BenchRobot, mechanism: Mechanism, duration: float, phases: Array) -> CubicSpline:
    """Positions over time: harmonics of all joints, or of some with the others following as loops lead them."""
    count = round((duration + 0.2) * _NODES)
    t = np.arange(count) / _NODES
    wave = np.zeros((count, len(own.reach)))
    for harmonic, phase in zip(_HARMONICS, phases, strict=True):
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
