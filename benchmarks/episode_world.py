# SPDX-License-Identifier: Apache-2.0
"""The worlds of closed-loop episodes: robot, body, surroundings, every assumption true and many at their edge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from benchmarks.truth import random_payload
from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.inertia import PSEUDO_INERTIA_BASIS
from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.known_robot import KnownRobotConfig, PriorConfig, known_box
from sysid_nodes.models.model_box import model_box
from sysid_nodes.models.robust_control import RobustControlConfig
from sysid_nodes.models.self_collision import self_collision_pairs
from sysid_nodes.robots import MotorConstants, Robot, load_robot
from sysid_nodes.robots.kinova_gen3.geometry import cover
from sysid_nodes.robots.kinova_gen3.payloads import PayloadVolumeConfig, payload_volume
from sysid_nodes.robots.robot import Primitive
from sysid_nodes.rollouts.contact_watch import ContactWatch
from sysid_nodes.simulation.arm.true_robot import TrueRobot
from sysid_nodes.systems.certified.certificate.certifier import Certifier
from sysid_nodes.systems.certified.certificate.config import CertifierConfig
from sysid_nodes.systems.certified.search.config import PlannerConfig

Array = npt.NDArray[np.float64]

VARIANT = "gripper"
PAPER_START = np.array([-1.16396061, 0.34987045, -3.68094828, -1.75466411, 0.19968747, -1.09177839, -0.19841415])
PLANNER = PlannerConfig()
_TRIES = 200
_GOAL_SPREAD = 0.6  # of a goal around the start, in each joint [rad]
_PASSES = 4
_EDGE = 1e-7
"""Least eigenvalue of a true body's pseudo-inertia: MuJoCo wants none that is singular."""


@dataclass(frozen=True)
class World:
    """Draws of an episode."""

    bounds: str  # Table I of the paper, or a share of its widths around some body
    payload: str  # where in the bounds the true body is
    links: str  # where in their boxes links, friction and armature are
    planner: str
    plans: int
    obstacles: int
    jitter: float  # of the ticks, relative
    reach: float  # largest displacement of a random plan [rad]
    goal: bool  # to go to after the identification; never with random plans
    change: bool  # whether other obstacles appear while the robot moves
    drives: str = "exact"  # or how they are off

    @classmethod
    def draw(cls, rng: np.random.Generator) -> World:
        planner = str(rng.choice(["random", "optimised"], p=[0.65, 0.35]))
        return cls(
            bounds=str(rng.choice(["Table I", "0.3", "0.1"], p=[0.5, 0.25, 0.25])),
            payload=str(rng.choice(["edge", "inside"], p=[0.8, 0.2])),
            links=str(rng.choice(["corner", "inside"], p=[0.7, 0.3])),
            planner=planner,
            plans=int(rng.choice([1, 2, 3], p=[0.3, 0.4, 0.3])),
            obstacles=int(rng.integers(0, 6)),
            jitter=float(rng.choice([0.0, 0.1])),
            reach=float(rng.choice([0.3, 0.6, 1.0])),
            goal=bool(rng.random() < 0.5) and planner == "optimised",
            change=bool(rng.random() < 0.25),
        )


@lru_cache(maxsize=1)
def load_setting() -> tuple[Robot, tuple[Primitive, ...]]:
    robot = load_robot("kinova_gen3", variant=VARIANT)
    return robot, (*cover(VARIANT), *payload_volume(PayloadVolumeConfig()))


def draw_body(world: World, rng: np.random.Generator) -> tuple[Bounds, Array]:
    """Bounds on the last link with its load, and the truth in them."""
    table = PriorConfig().bounds
    theta = random_payload(rng, str(rng.choice(["dumbbell", "points"])))
    bounds = table
    if world.bounds != "Table I":
        half = float(world.bounds) * table.half_width
        middle = theta + rng.uniform(-0.9, 0.9, 10) * half
        bounds = Bounds(np.maximum(middle - half, table.lower), np.minimum(middle + half, table.upper))
    return bounds, _edge(theta, bounds, rng) if world.payload == "edge" else theta


def _edge(theta: Array, bounds: Bounds, rng: np.random.Generator) -> Array:
    """A corner of what is both physical and in the bounds: each parameter as far to a side as the others let it."""
    # Inside by more than the rounding of the simulation's own way to keep them.
    side = np.where(rng.random(10) < 0.5, -1.0, 1.0)
    theta, ends = theta.copy(), bounds.centre + (1.0 - 1e-12) * side * bounds.half_width
    for k in np.concatenate([rng.permutation(10) for _ in range(_PASSES)]):
        end = float(ends[k])
        if not physical(_with(theta, k, end)):
            low, high = 0.0, 1.0
            while high - low > 1e-6:
                middle = 0.5 * (low + high)
                good = physical(_with(theta, k, theta[k] + middle * (end - theta[k])))
                low, high = (middle, high) if good else (low, middle)
            end = theta[k] + low * (end - theta[k])
        theta[k] = end
    return theta


def _with(theta: Array, k: int, value: float) -> Array:
    out = theta.copy()
    out[k] = value
    return out


def physical(theta: Array) -> bool:
    return bool(np.linalg.eigvalsh(np.tensordot(theta, PSEUDO_INERTIA_BASIS, axes=1))[0] > _EDGE)


def draw_truth(world: World, robot: Robot, theta: Array, rng: np.random.Generator) -> TrueRobot:
    """Links of another density, friction and armature anywhere in their boxes or at their corners."""
    n = robot.n
    known = KnownRobotConfig()
    off = rng.choice([-1.0, 1.0], (4, n)) if world.links == "corner" else rng.uniform(-1.0, 1.0, (4, n))
    centre, _ = known_box(robot, known)
    parameters = centre[: 10 * n].reshape(n, 10) * (1.0 + (1.0 - 1e-12) * known.inertia_relative * off[0])[:, None]
    parameters[robot.body_index()] = theta
    share = 1.0 - 1e-12
    motor = MotorConstants(
        coulomb=robot.motor.coulomb * (1.0 + share * known.friction_relative * off[1]),
        viscous=robot.motor.viscous * (1.0 + share * known.friction_relative * off[2]),
        armature=robot.motor.armature * (1.0 + share * known.armature_relative * off[3]),
        offset=robot.motor.offset,
    )
    return TrueRobot.from_parameters(parameters, motor)


def draw_surroundings(
    world: World,
    robot: Robot,
    shapes: tuple[Primitive, ...],
    control: RobustControlConfig,
    bounds: Bounds,
    rng: np.random.Generator,
) -> tuple[Array, Scene, Array | None]:
    """A start and obstacles around it that leave the start certified, standing still there is, and a goal likewise."""
    certifier = Certifier(robot, shapes, control, CertifierConfig())
    box = model_box(robot, KnownRobotConfig(), bounds, robot.body_index())
    pairs, still = self_collision_pairs(robot, shapes).kept, np.zeros(robot.n)
    spread, limits = 1.2 if world.bounds != "Table I" else 0.5, robot.limits

    def posture(middle: Array, spread: float) -> Array:
        q = middle + rng.uniform(-spread, spread, robot.n)
        # Not at once beside a limit; where the encoder reads is where the trajectory starts.
        return np.clip(q, limits.position_lower + 0.1, limits.position_upper - 0.1)

    def certified(q: Array, scene: Scene) -> bool:
        rest = Bezier(q, still, still, still, PLANNER.duration)
        return certifier.certify(rest, box, certifier.at_rest(box), scene).certified

    def certified_goal(start: Array, scene: Scene) -> Array | None:
        near = (posture(start, _GOAL_SPREAD) for _ in range(_TRIES))
        return next((q for q in near if certified(q, scene)), None)

    for _ in range(_TRIES):
        q = posture(PAPER_START, spread)
        if ContactWatch(robot, shapes, (), pairs).to_itself(q).distance < 0.01:
            continue
        scene = draw_obstacles(world.obstacles, robot, shapes, q, rng)
        if certified(q, scene):
            return q, scene, certified_goal(q, scene) if world.goal else None
    raise RuntimeError(f"no certified start found in world {world}")


def draw_obstacles(
    count: int, robot: Robot, shapes: tuple[Primitive, ...], q: Array, rng: np.random.Generator
) -> Scene:
    """Obstacles 4 to 30 cm from the robot as it stands, so that some come near."""
    kept: list[Obstacle] = []
    while len(kept) < count:
        obstacle = _obstacle(f"obstacle_{len(kept)}", rng)
        if 0.04 < ContactWatch(robot, shapes, (obstacle,)).to_obstacles(q).distance < 0.3:
            kept.append(obstacle)
    return Scene(tuple(kept))


def _obstacle(name: str, rng: np.random.Generator) -> Obstacle:
    kind = str(rng.choice(["box", "sphere", "capsule", "zonotope"]))
    at = tuple(map(float, rng.uniform((-1.0, -1.0, -0.1), (1.0, 1.0, 1.3))))
    turn = rng.normal(size=4)
    quaternion = tuple(map(float, turn / np.linalg.norm(turn)))
    if kind == "box":
        return Obstacle(name, kind, at, tuple(map(float, rng.uniform(0.05, 0.4, 3))), quaternion)
    if kind == "sphere":
        return Obstacle(name, kind, at, (float(rng.uniform(0.03, 0.2)),))
    if kind == "capsule":
        return Obstacle(name, kind, at, (float(rng.uniform(0.02, 0.1)), float(rng.uniform(0.1, 0.8))), quaternion)
    rows = tuple(tuple(map(float, row)) for row in rng.uniform(-0.12, 0.12, (4, 3)))
    return Obstacle(name, kind, at, generators=rows)
