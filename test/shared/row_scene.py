# SPDX-License-Identifier: Apache-2.0
"""Exact momentum balances of rough motions, on robots of every kind, against which rows and radii are tested."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from shared.rough_motion import RoughMotion

from sysid_nodes.data import Bounds, JointSamples
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.known_robot import KnownRobotConfig, known_box
from sysid_nodes.models.regressors import momentum_regressors, standard_regressor
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.robot import Robot
from sysid_nodes.systems.interval.error_radius import BODY_CAUSES
from sysid_nodes.systems.interval.momentum_rows import CAUSES, MomentumRows, body_norms
from sysid_nodes.systems.interval.noise import Noise
from sysid_nodes.systems.interval.reach import Reach
from sysid_nodes.systems.interval.row_builder import RowBuilder
from sysid_nodes.systems.interval.unknowns import Unknowns, identify_body, prismatic_travel

Array = npt.NDArray[np.float64]


def silent(n: int) -> Noise:
    """No error of any kind."""
    zero = np.zeros(n)
    return Noise(
        torque_relative=zero, torque_absolute=zero, position=zero, velocity=zero, acceleration=zero,
        jerk=zero, torque_rate=zero, torque_curvature=zero, stamp=0.0, hold=False, itemised=True,
    )  # fmt: skip


def random_tree(rng: np.random.Generator, joints: int = 6) -> Robot:
    """A branching tree of revolute and sliding joints with axes, placements and inertias at random."""
    parts, links = ['<link name="base"/>'], ["base"]
    for k in range(joints):
        parent = links[-1] if k < 2 else links[int(rng.integers(len(links)))]
        kind, limit = ("prismatic", 0.5) if rng.random() < 0.4 else ("revolute", 4.0)
        axis = np.array([0.0, 0.0, 1.0]) if rng.random() < 0.3 else rng.normal(size=3)
        mass = rng.uniform(0.2, 5.0)
        size = mass * rng.uniform(0.02, 0.03, 3)
        parts.append(
            f'<link name="l{k}"><inertial><origin xyz="{_text(rng.uniform(-0.2, 0.2, 3))}"/><mass value="{mass}"/>'
            f'<inertia ixx="{size[0]}" iyy="{size[1]}" izz="{size[2]}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="j{k}" type="{kind}"><parent link="{parent}"/><child link="l{k}"/>'
            f'<origin xyz="{_text(rng.uniform(-0.4, 0.4, 3))}" rpy="{_text(rng.uniform(-2, 2, 3))}"/>'
            f'<axis xyz="{_text(axis / np.linalg.norm(axis))}"/>'
            f'<limit lower="-{limit}" upper="{limit}" effort="100" velocity="3"/></joint>'
        )
        links.append(f"l{k}")
    return load_robot("tree", urdf_text=f'<robot name="tree">{"".join(parts)}</robot>')


def spinner(inertia: float) -> Robot:
    """One joint about the vertical with nothing but a moment of inertia: its dynamics can be done by hand."""
    return load_robot(
        "spinner",
        urdf_text='<robot name="spinner"><link name="base"/><link name="disc"><inertial><mass value="1"/>'
        f'<inertia ixx="{inertia}" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="j" type="revolute"><parent link="base"/><child link="disc"/><axis xyz="0 0 1"/>'
        '<limit lower="-9" upper="9" effort="10" velocity="3"/></joint></robot>',
    )


def _text(values: Array) -> str:
    return " ".join(f"{value:.12g}" for value in values)


@dataclass(frozen=True)
class Scene:
    """A robot with known parameters p on a rough motion, sampled at t.

    Attributes:
        instants: (N,) times of the samples since the motion began [s].
        t: (N,) stamps [s].
        edges: windows of samples.
        impulse: (W, n) exact integral of the motor torque over each window [N m s].
    """

    robot: Robot
    p: Array
    unknowns: Unknowns
    motion: RoughMotion
    instants: Array
    t: Array
    edges: npt.NDArray[np.intp]
    impulse: Array

    @property
    def body(self) -> Bounds:
        theta = self.p[self.unknowns.body_slice]
        return Bounds(theta, theta)

    def readings(self, late: Array | float = 0.0) -> tuple[Array, Array]:
        """Exact q and qd, taken `late` after their stamps."""
        q, qd, _ = self.motion(self.instants + late)
        return q, qd

    def builder(self, noise: Noise) -> RowBuilder:
        chain = Chain.from_robot(self.robot)
        return RowBuilder(chain, Reach(chain, prismatic_travel(self.robot)), noise, self.unknowns)

    def samples(self, q: Array, qd: Array, tau: Array | None = None) -> JointSamples:
        torque = np.zeros_like(q) if tau is None else tau
        return JointSamples(self.robot.joint_names, self.t, q, qd, torque)

    def share(self, rows: MomentumRows, cause: str) -> Array:
        """(W, n) radius of one cause, the body's part included."""
        own = rows.radius[:, :, CAUSES.index(cause)]
        if cause in BODY_CAUSES:
            rest = self.body.lower - rows.about
            own = own + rows.body_radius[:, :, BODY_CAUSES.index(cause)] @ body_norms(rest, rest)
        return np.asarray(own)


def scene(
    robot: Robot,
    rng: np.random.Generator,
    *,
    acceleration: float,
    speed: float,
    dt: float,
    coulomb: float = 0.0,
    motors: float = 1.0,
    gain: float = 1.0,
    duration: float = 0.1,
    start: float = 0.0,
) -> Scene:
    """Two adjacent windows with jittered samples; sliding joints move a fifth as fast; `motors` scales friction."""
    n, chain = robot.n, Chain.from_robot(robot)
    known = KnownRobotConfig(
        coulomb=(coulomb,),
        viscous=(3.0 * motors,),
        armature=(0.5 * motors,),
        offset=(0.3,),
        gain=(gain,),
        gain_relative=(0.1 * (gain != 1.0),),
    )
    nominal, radius = known_box(robot, known)
    p = nominal + radius * rng.choice([-1.0, 1.0], nominal.size)
    body = robot.body_index()
    theta = p[10 * body : 10 * body + 10]
    unknowns = identify_body(n, body, nominal, radius, Bounds(theta - 1e-3, theta + 1e-3))
    bound, top = np.where(chain.tree.revolute, 1.0, 0.2) * np.array([[acceleration], [speed]])
    centre = np.where(chain.tree.revolute, rng.uniform(-3.0, 3.0, n), rng.uniform(-0.2, 0.2, n))
    piece = float(rng.choice([0.2, 1.0, 5.0])) * dt
    motion = RoughMotion.random(rng, centre, bound, np.minimum(top, 5.0), 2.0 * duration + 0.05, piece)
    t = np.cumsum(np.append(0.02, dt * rng.choice([0.3, 1.0, 1.0, 2.5], int(2.0 * duration / dt))))
    t = t[t < 0.02 + 2.0 * duration]
    edges = np.array([[0, len(t) // 2], [len(t) // 2, len(t) - 1]], dtype=np.intp)
    if np.abs(motion.position).max(axis=0)[~chain.tree.revolute].max(initial=0.0) > 0.5:
        return scene(
            robot,
            rng,
            acceleration=acceleration,
            speed=speed,
            dt=dt,
            coulomb=coulomb,
            motors=motors,
            duration=duration,
            start=start,
        )
    impulse = np.array([impulse_between(chain, p, motion, t[a], t[b]) for a, b in edges])
    return Scene(robot, p, unknowns, motion, t, t + start, edges, impulse)


def impulse_between(chain: Chain, p: Array, motion: RoughMotion, start: float, stop: float) -> Array:
    """(n,) exact integral of the motor torque from start to stop [N m s]."""
    n = chain.n
    coulomb, viscous, armature, offset, _ = p[10 * n :].reshape(5, n)
    t, weight = motion.quadrature(start, stop)
    q, qd, qdd = motion(t)
    smooth = standard_regressor(chain, q, qd, qdd) @ p[: 10 * n] + viscous * qd + armature * qdd + offset
    return np.asarray(weight @ smooth + coulomb * motion.direction(start, stop))


def worst_signs(found: Scene, q: Array, qd: Array, joint: int, *, of_velocity: bool) -> Array:
    """(N, n) signs of the derivative of one joint's rows with respect to every reading."""
    chain, n, step = Chain.from_robot(found.robot), found.robot.n, 1e-6
    theta, (viscous, armature) = found.p[: 10 * n], found.p[11 * n : 13 * n].reshape(2, n)
    half = 0.5 * np.diff(found.t)
    signs = np.ones_like(q)
    for k in range(n):
        shift = step * np.eye(n)[k]
        moved = (q, qd + shift) if of_velocity else (q + shift, qd)
        momentum, rate = (
            ((after - before) @ theta)[:, joint] / step
            for after, before in zip(momentum_regressors(chain, *moved), momentum_regressors(chain, q, qd), strict=True)
        )
        if k == joint:
            momentum = momentum + (armature if of_velocity else viscous)[k]
        for first, last in found.edges:
            slope = np.zeros(len(q))
            slope[first:last] -= half[first:last] * rate[first:last]
            slope[first + 1 : last + 1] -= half[first:last] * rate[first + 1 : last + 1]
            slope[last] += momentum[last]
            slope[first] -= momentum[first]
            signs[first : last + 1, k] = np.where(slope[first : last + 1] >= 0.0, 1.0, -1.0)
    return signs
