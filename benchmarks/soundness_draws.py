# SPDX-License-Identifier: Apache-2.0
"""Draws of the soundness benchmark: bounds, scenes, plans, models of a box, and moments of a tracked motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.inertia import PSEUDO_INERTIA_BASIS, pseudo_inertia_to_parameters
from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.models.bezier import Bezier, State
from sysid_nodes.models.known_robot import KnownRobotConfig, PriorConfig
from sysid_nodes.models.model_box import ModelBox, model_box
from sysid_nodes.models.robust_control import Gains
from sysid_nodes.results.certificate import Envelope
from sysid_nodes.robots import Robot
from sysid_nodes.systems.certified.certificate.closed_loop import ClosedLoop
from sysid_nodes.systems.certified.certificate.error_proof import ErrorProof

Array = npt.NDArray[np.float64]

BODY, MODELS = 6, 50
MOTOR = ("coulomb", "viscous", "armature", "offset")


@dataclass(frozen=True)
class Samples:
    """N moments: the true state, the measured one behind the torque in force, and the desired motion at both."""

    interval: npt.NDArray[np.intp]
    e: Array
    r: Array
    now: State
    then: State
    seen_q: Array
    seen_qd: Array


def draw_box(rng: np.random.Generator, robot: Robot, index: int) -> tuple[ModelBox, float]:
    """Table I of the paper for every other plan, else a share of it around a random load."""
    prior = PriorConfig().bounds
    if index % 2 == 0:
        return model_box(robot, KnownRobotConfig(), prior, BODY), 1.0
    share = float(np.exp(rng.uniform(np.log(0.02), np.log(0.5))))
    points = rng.normal(size=(5, 3)) * [0.05, 0.05, 0.03] + [0.0, 0.0, -0.2]
    mass = rng.uniform(0.05, 1.0, 5)
    homogeneous = np.c_[points, np.ones(5)]
    own = robot.inertial_parameters()[BODY]
    load = pseudo_inertia_to_parameters((homogeneous.T * mass) @ homogeneous)
    half = share * prior.half_width
    return model_box(robot, KnownRobotConfig(), Bounds(own + load - half, own + load + half), BODY), share


def draw_scene(rng: np.random.Generator) -> Scene:
    """Boxes within reach, as they fall."""
    obstacles = []
    for i in range(5):
        angle, height = rng.uniform(-np.pi, np.pi), rng.uniform(0.0, 1.2)
        x, y = rng.uniform(0.35, 0.9) * np.array([np.cos(angle), np.sin(angle)])
        turn = rng.normal(size=4)
        size = tuple(rng.uniform(0.05, 0.3, 3))
        obstacles.append(
            Obstacle(f"box {i}", "box", (x, y, height), size=size, quaternion=tuple(turn / np.linalg.norm(turn)))
        )
    return Scene(tuple(obstacles))


def draw_plan(rng: np.random.Generator, robot: Robot, k: float) -> Bezier:
    """A motion from rest or from a moderate speed, of displacements up to k."""
    limits = robot.limits
    lower, upper = np.maximum(limits.position_lower, -np.pi), np.minimum(limits.position_upper, np.pi)
    q0 = 0.5 * (lower + upper) + 0.35 * (upper - lower) * rng.uniform(-1.0, 1.0, 7)
    moving = 0.3 * rng.uniform(-1.0, 1.0, (2, 7)) * (rng.random() < 0.5)
    return Bezier(q0, moving[0], moving[1], rng.uniform(0.1, k) * rng.uniform(-1.0, 1.0, 7), rng.choice([2.0, 3.0]))


def _unit(rng: np.random.Generator, count: int, *, boxed: bool) -> Array:
    """Points of the unit ball, or box, two thirds on its surface, some of those along one axis, or at a corner."""
    if boxed:
        x = rng.uniform(-1.0, 1.0, (count, 7))
        return np.where(rng.random((count, 1)) < 0.65, np.sign(x), x)
    x = rng.normal(size=(count, 7))
    axis = rng.random(count) < 0.2
    x[axis] = np.eye(7)[rng.integers(0, 7, int(axis.sum()))] * rng.choice([-1.0, 1.0], (int(axis.sum()), 1))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x * np.where(rng.random((count, 1)) < 0.65, 1.0, rng.random((count, 1)))


def within(loop: ClosedLoop, by_joint: Array, norm: Array, x: Array) -> Array:
    """Errors (N, n), shrunk to what is proven of them: by joint (N, n) and in the loop's metric (N,)."""
    shares = x / by_joint
    longest = np.abs(shares).max(axis=1) if loop.delayed else np.linalg.norm(shares, axis=1)
    longest = np.maximum(longest, np.sqrt((loop.metric * x**2).sum(axis=1)) / norm)
    return np.asarray(x / np.maximum(longest, 1.0)[:, None])


def draw_samples(
    rng: np.random.Generator, plan: Bezier, envelope: Envelope, proof: ErrorProof, law: Gains, count: int
) -> Samples:
    """Errors of the envelope, times, and measurements up to the loop's age old."""
    loop, acceleration = proof.loop, proof.proven.acceleration
    gain, age = law.position_gain, loop.age
    # Times gather at edges, where bounds change.
    t = rng.uniform(0.0, plan.duration + 0.5, count)
    inner = envelope.edges[1:-1]
    t = np.where(rng.random(count) < 0.2, rng.choice(inner, count) + rng.choice([-1e-9, 0.0, 1e-3], count), t)
    interval = np.searchsorted(envelope.edges, t, side="right") - 1
    sizes = (envelope.position_error, envelope.position), (envelope.reference_error, np.sqrt(2.0 * envelope.level))
    e, r = (
        within(loop, joints[interval], norm[interval], _unit(rng, count, boxed=loop.delayed) * joints[interval])
        for joints, norm in sizes
    )
    rd = rng.choice([-1.0, 0.0, 1.0], (count, 7)) * acceleration[interval]
    # Back to the state that was measured; no further than its errors are bounded.
    back = np.minimum(t, age * np.where(rng.random(count) < 0.7, 1.0, rng.random(count)))[:, None]
    e0, r0 = e.copy(), r.copy()
    for _ in range(4):
        e0, r0 = e0 - 0.25 * back * (r0 - gain * e0), r0 - 0.25 * back * rd
    earlier = np.searchsorted(envelope.edges, t - back[:, 0], side="right") - 1
    e0, r0 = (
        within(loop, joints[earlier], norm[earlier], x) for x, (joints, norm) in zip((e0, r0), sizes, strict=True)
    )
    now, then = plan(t), plan(t - back[:, 0])
    noise = rng.choice([-1.0, 0.0, 1.0], (2, count, 7))
    return Samples(
        interval,
        e,
        r,
        now,
        then,
        then.q - e0 + noise[0] * law.position_error,
        then.qd + gain * e0 - r0 + noise[1] * law.velocity_error,
    )


def draw_models(rng: np.random.Generator, box: ModelBox) -> tuple[Array, dict[str, Array]]:
    """(MODELS, n, 10) physical bodies, three quarters of them as near to a corner as can be, and motor constants."""
    shape = (MODELS, *box.theta.shape)
    corner = rng.random(MODELS) < 0.75
    signs = np.where(corner[:, None, None], rng.choice([-1.0, 1.0], shape), rng.uniform(-1.0, 1.0, shape))
    step = (1.0 - 1e-12) * signs * box.theta_radius
    low, high = np.zeros(shape[:2]), np.ones(shape[:2])
    whole = is_physical(box.theta + step)
    for _ in range(14):
        middle = 0.5 * (low + high)
        good = is_physical(box.theta + middle[..., None] * step)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    theta = box.theta + np.where(whole, 1.0, low)[..., None] * step
    motor = {}
    for name in MOTOR:
        draw = np.where(corner[:, None], rng.choice([-1.0, 1.0], shape[:2]), rng.uniform(-1.0, 1.0, shape[:2]))
        motor[name] = getattr(box.motor, name) + (1.0 - 1e-12) * draw * getattr(box.motor_radius, name)
    return theta, motor


def is_physical(theta: Array) -> npt.NDArray[np.bool_]:
    return np.asarray(np.linalg.eigvalsh(np.tensordot(theta, PSEUDO_INERTIA_BASIS, axes=1))[..., 0] > 1e-9)
