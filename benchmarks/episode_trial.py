"""One closed-loop episode of the benchmark: a world drawn from a seed, every assumption true and many at their edge."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

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
from sysid_nodes.results import Status
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.robots import MotorConstants, Robot, load_robot
from sysid_nodes.robots.kinova_gen3.geometry import cover
from sysid_nodes.robots.kinova_gen3.payloads import PayloadVolumeConfig, payload_volume
from sysid_nodes.robots.robot import Primitive
from sysid_nodes.simulation.arm.contact_watch import FARTHEST, ContactWatch
from sysid_nodes.simulation.arm.torque_arm import TorqueArm, TorqueArmConfig
from sysid_nodes.simulation.arm.true_robot import TrueRobot
from sysid_nodes.simulation.certified.loop import CertifiedLoop, LoopConfig
from sysid_nodes.simulation.certified.loop_log import Followed
from sysid_nodes.simulation.certified.plan_sources import OptimisedPlans, PlanSource, RandomPlans
from sysid_nodes.systems.certified.certificate.certifier import Certifier
from sysid_nodes.systems.certified.certificate.config import CertifierConfig
from sysid_nodes.systems.certified.control.config import ControllerConfig
from sysid_nodes.systems.certified.control.output import Mode
from sysid_nodes.systems.certified.search.config import PlannerConfig
from sysid_nodes.systems.certified.search.planner import Planner
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig, NoiseConfig

Array = npt.NDArray[np.float64]

PAPER_START = np.array([-1.16396061, 0.34987045, -3.68094828, -1.75466411, 0.19968747, -1.09177839, -0.19841415])
LATENCY, LEAD, SETTLE, TAKEOVER, DURATION = 0.6, 0.05, 0.15, 1.5, 3.0
_PASSES = 4
_EDGE = 1e-7
"""Least eigenvalue of a true body's pseudo-inertia: MuJoCo wants none that is singular."""


@dataclass(frozen=True)
class World:
    """What an episode draws."""

    bounds: str  # Table I of the paper, or a share of its widths around some body
    payload: str  # where in the bounds the true body is
    links: str  # where in their boxes links, friction and armature are
    planner: str
    plans: int
    obstacles: int
    jitter: float  # of the ticks, relative
    reach: float  # largest displacement of a random plan [rad]

    @classmethod
    def draw(cls, rng: np.random.Generator) -> World:
        return cls(
            bounds=str(rng.choice(["Table I", "0.3", "0.1"], p=[0.5, 0.25, 0.25])),
            payload=str(rng.choice(["edge", "inside"], p=[0.8, 0.2])),
            links=str(rng.choice(["corner", "inside"], p=[0.7, 0.3])),
            planner=str(rng.choice(["random", "optimised"], p=[0.75, 0.25])),
            plans=int(rng.choice([1, 2, 3], p=[0.3, 0.4, 0.3])),
            obstacles=int(rng.integers(0, 6)),
            jitter=float(rng.choice([0.0, 0.1])),
            reach=float(rng.choice([0.3, 0.6, 1.0])),
        )


@lru_cache(maxsize=1)
def _setting() -> tuple[Robot, tuple[Primitive, ...]]:
    robot = load_robot("kinova_gen3", variant="gripper")
    return robot, (*cover("gripper"), *payload_volume(PayloadVolumeConfig()))


def run_trial(seed: int, trial: int) -> dict[str, Any]:
    """The record of one episode, ready for JSON; but for its CPU time the same for the same arguments."""
    begun = time.process_time()
    rng = np.random.default_rng([seed, trial])
    world = World.draw(rng)
    robot, shapes = _setting()
    # The certificate's period is the longest tick.
    control = RobustControlConfig(period=0.001 * (1.0 + world.jitter))
    bounds, theta = _body(world, rng)
    start, scene = _surroundings(world, robot, shapes, control, bounds, rng)
    config = LoopConfig(
        control,
        CertifierConfig(),
        ControllerConfig(clock_error=0.0),
        _identifier(bounds),
        TAKEOVER,
        LATENCY,
        LEAD,
        world.plans,
    )
    arm = TorqueArm(
        robot,
        None,
        TorqueArmConfig(delay=0.0, velocity_error=1e-4, tick_jitter=world.jitter),
        rng,
        start,
        truth=_truth(world, robot, theta, rng),
        start=10.0,
    )
    planner = _planner(world, robot, shapes, config, bounds, rng)
    loop = CertifiedLoop(robot, shapes, arm, planner, config, scene)
    log = loop.run(LATENCY + LEAD + TAKEOVER * (world.plans - 1) + DURATION + SETTLE)
    followed = log.judge(scene)
    last = log.bounds[-1]
    inside = last.status is not Status.INCONSISTENT and Bounds(last.lower, last.upper).contains(arm.truth.theta)
    return {
        "trial": trial,
        **asdict(world),
        "mode": loop.controller.mode.name,
        "reason": loop.controller.reason.name,
        "refused": [reason.name for _, reason in loop.refusals],
        "asked": log.planned,
        "truth_inside": bool(inside),
        "unresolved": arm.unresolved,
        "failures": _failures(loop, followed, inside),
        "followed": [_record(each) for each in followed],
        "usage": float(max(log.usage)),
        "cpu": time.process_time() - begun,
    }


def _failures(loop: CertifiedLoop, followed: list[Followed], inside: bool) -> list[str]:
    """Everything that should not have happened; an empty list is a good episode."""
    robot, log = loop.robot, loop.log
    found = [
        f"{name} of plan {k} beyond what was certified" for k, each in enumerate(followed) for name in each.broken()
    ]
    for each in followed:
        kinds = (("torque", each.torque), ("position", each.position), ("velocity", each.velocity))
        found += [f"{name} limit exceeded" for name, margin in kinds if (margin < 0.0).any()]
        found += ["contact"] * (min(each.obstacle, each.self_distance) <= 0.0)
    if loop.controller.mode is not Mode.HOLDING or not followed:
        found.append(f"ended {loop.controller.mode.name}")
    if log.stopped or loop.arm.stop is not None:
        found.append("stopped")
    reasons = set(log.reasons) - {StopReason.NONE, StopReason.PLANNER_SILENT}
    found += [reason.name for reason in sorted(reasons)]
    found += [f"refused: {reason.name}" for _, reason in loop.refusals]
    if not inside:
        found.append("the truth is outside its bounds")
    if (np.abs(np.array(log.torque)) > robot.limits.torque).any():
        found.append("torque limit exceeded")
    return found


def _record(each: Followed) -> dict[str, Any]:
    record = each.record
    kinds = ("torque", "position", "velocity")
    seen = {kind: getattr(each, kind) for kind in kinds}
    certified = {kind: getattr(record, f"{kind}_margin") for kind in kinds}
    return {
        "duration": each.duration,
        "energy": each.energy,
        "norm": each.norm,
        # The joint that comes nearest to what was certified of it.
        **{kind: _nearest(seen[kind], certified[kind]) for kind in kinds},
        "obstacle": [each.obstacle, _finite(record.obstacle_margin)],
        "self": [each.self_distance, _finite(record.self_margin)],
        "displacement": float(np.abs(record.k).max()),
    }


def _nearest(seen: Array, certified: Array) -> list[float]:
    limited = np.isfinite(certified)
    k = int(np.argmin(np.where(limited, seen - np.where(limited, certified, 0.0), np.inf)))
    return [float(seen[k]), float(certified[k]), float(seen[limited].min()), float(certified[limited].min())]


def _finite(value: float) -> float:
    return float(min(value, FARTHEST))


def _identifier(bounds: Bounds) -> IntervalIdentifierConfig:
    prior = PriorConfig(tuple(map(float, bounds.lower)), tuple(map(float, bounds.upper)))
    # The simulated drive holds each torque over a tick.
    noise = NoiseConfig(torque_interpolation="hold", acceleration=(30.0,))
    return IntervalIdentifierConfig(variant="gripper", noise=noise, prior=prior)


def _planner(
    world: World,
    robot: Robot,
    shapes: tuple[Primitive, ...],
    config: LoopConfig,
    bounds: Bounds,
    rng: np.random.Generator,
) -> PlanSource:
    if world.planner == "optimised":
        known, seed = config.identifier.known_robot, int(rng.integers(2**31))
        planner = Planner(
            robot, shapes, known, config.control, config.certifier, PlannerConfig(), lambda: 0.0, seed=seed
        )
        return OptimisedPlans(planner, bounds, learn=world.plans)
    certifier = Certifier(robot, shapes, config.control, config.certifier)
    return RandomPlans(certifier, rng, ranges=tuple(world.reach * share for share in (1.0, 0.6, 0.3, 0.1)))


def _body(world: World, rng: np.random.Generator) -> tuple[Bounds, Array]:
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
        if not _physical(_with(theta, k, end)):
            low, high = 0.0, 1.0
            while high - low > 1e-6:
                middle = 0.5 * (low + high)
                good = _physical(_with(theta, k, theta[k] + middle * (end - theta[k])))
                low, high = (middle, high) if good else (low, middle)
            end = theta[k] + low * (end - theta[k])
        theta[k] = end
    return theta


def _with(theta: Array, k: int, value: float) -> Array:
    out = theta.copy()
    out[k] = value
    return out


def _physical(theta: Array) -> bool:
    return bool(np.linalg.eigvalsh(np.tensordot(theta, PSEUDO_INERTIA_BASIS, axes=1))[0] > _EDGE)


def _truth(world: World, robot: Robot, theta: Array, rng: np.random.Generator) -> TrueRobot:
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


def _surroundings(
    world: World,
    robot: Robot,
    shapes: tuple[Primitive, ...],
    control: RobustControlConfig,
    bounds: Bounds,
    rng: np.random.Generator,
) -> tuple[Array, Scene]:
    """A start and obstacles around it that leave the start certified: standing still there is."""
    certifier = Certifier(robot, shapes, control, CertifierConfig())
    box = model_box(robot, KnownRobotConfig(), bounds, robot.body_index())
    pairs, still = self_collision_pairs(robot, shapes).kept, np.zeros(robot.n)
    spread, limits = 1.2 if world.bounds != "Table I" else 0.5, robot.limits
    for _ in range(200):
        q = PAPER_START + rng.uniform(-spread, spread, robot.n)
        # Not at once beside a limit; where the encoder reads is where the trajectory starts.
        q = np.clip(q, limits.position_lower + 0.1, limits.position_upper - 0.1)
        if ContactWatch(robot, shapes, (), pairs).to_itself(q).distance < 0.01:
            continue
        scene = _obstacles(world.obstacles, robot, shapes, q, rng)
        if certifier.certify(Bezier(q, still, still, still, DURATION), box, certifier.at_rest(box), scene).certified:
            return q, scene
    raise RuntimeError(f"no certified start found in world {world}")


def _obstacles(count: int, robot: Robot, shapes: tuple[Primitive, ...], q: Array, rng: np.random.Generator) -> Scene:
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
