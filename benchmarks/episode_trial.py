# SPDX-License-Identifier: Apache-2.0
"""One closed-loop episode of the benchmark: what happens in a world drawn from a seed, and what should not have."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.certified_log import CertifiedLog, Followed
from benchmarks.certified_loop import BuildPlanner, CertifiedLoop, Event, LoopConfig
from benchmarks.episode_opponent import DRIVES, InexactArm, worst_truth
from benchmarks.episode_world import (
    PLANNER,
    VARIANT,
    Array,
    World,
    draw_body,
    draw_obstacles,
    draw_surroundings,
    draw_truth,
    load_setting,
)
from benchmarks.random_planner import RandomPlanner
from sysid_nodes.data.bounds import Bounds
from sysid_nodes.models.known_robot import PriorConfig
from sysid_nodes.models.robust_control import RobustControlConfig
from sysid_nodes.results import Status
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.robots.robot import Primitive
from sysid_nodes.rollouts.contact_watch import FARTHEST
from sysid_nodes.sessions.certified.config import CertifiedPlannerConfig, PlannerNodeConfig, set_up
from sysid_nodes.sessions.certified.motion_planner import build_planner
from sysid_nodes.simulation.arm.simulated_arm import HardwareConfig
from sysid_nodes.systems.certified.control.output import Mode
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig, NoiseConfig

AFTERWARDS = 12.0
"""Time [s] for what an episode does beside identifying, after which its planner falls silent."""

_CHANCE = (1.0, 0.6, 0.3, 0.1)  # shares of a random plan's reach that are tried
_TRACKED = 0.01  # largest tracking error of a goal that counts as reached [rad]
_FIRST_CHANGE = 0.9  # when the robot moves at the earliest [s]
_USUAL = {StopReason.NONE, StopReason.PLAN_ENDED, StopReason.PLANNER_SILENT}


def run_trial(seed: int, trial: int, delay: float = 0.0, torque_error: float = 0.0) -> dict[str, Any]:
    """The record of one episode, ready for JSON; but for its CPU time the same for the same arguments.

    Args:
        seed, trial: of all draws.
        delay: from a command to the earliest tick that it acts in [s].
        torque_error: of the drives, and then the true model is the worst one for the start [N m].
    """
    begun = time.process_time()
    rng = np.random.default_rng([seed, trial])
    world = World.draw(rng)
    robot, shapes = load_setting()
    # The certificate's period is the longest tick, for which a torque that is late may have to wait.
    period = 0.001 * (1.0 + world.jitter)
    control = RobustControlConfig(period=period, torque_error=(torque_error,))
    if delay:
        control = replace(control, delay=delay + period, position_gain=2.5)
    bounds, theta = draw_body(world, rng)
    start, scene, goal = draw_surroundings(world, robot, shapes, control, bounds, rng)
    config = _config(world, control, bounds, goal, int(rng.integers(2**31)))
    if torque_error:
        world = replace(world, links="worst", payload="worst", drives=str(rng.choice(DRIVES[1:])))
        truth = worst_truth(robot, control, bounds, start, rng)
    else:
        truth = draw_truth(world, robot, theta, rng)
    hardware = HardwareConfig(delay=delay, velocity_error=1e-4, tick_jitter=world.jitter)
    arm = InexactArm(
        robot, None, hardware, rng, start, truth=truth, start=10.0, drives=world.drives, torque_error=torque_error
    )
    build: BuildPlanner = build_planner
    if world.planner == "random":
        build = partial(RandomPlanner, rng=rng, ranges=[world.reach * share for share in _CHANCE])
    loop = CertifiedLoop(
        set_up(config.planner)._replace(scene=scene), arm, config, build=build, events=_events(world, shapes, rng)
    )
    log = loop.run(PLANNER.replan * world.plans + PLANNER.duration + AFTERWARDS, until=lambda: loop.finished)
    done = loop.finished
    loop.kill_planner()
    loop.run(PLANNER.duration, until=lambda: loop.controller.mode is Mode.HOLDING)
    told = {"trial": trial, "delay": delay, "torque_error": torque_error, **asdict(world)}
    return told | _judge(loop, log, world, goal, done=done) | {"cpu": time.process_time() - begun}


def _judge(loop: CertifiedLoop, log: CertifiedLog, world: World, goal: Array | None, *, done: bool) -> dict[str, Any]:
    """End of an episode, and what of it should not have happened."""
    followed, last = log.judge(), log.bounds[-1]
    theta = loop.arm.truth.theta
    inside = last.status is not Status.INCONSISTENT and Bounds(last.lower, last.upper).contains(theta)
    return {
        "mode": loop.controller.mode.name,
        "reason": loop.controller.reason.name,
        "done": done,
        "outcome": _outcome(loop, goal, done),
        "refused": [reason.name for _, reason in loop.refusals],
        "made": loop.planning.made,
        "late": loop.planning.dropped,
        "truth_inside": bool(inside),
        "unresolved": loop.arm.unresolved,
        "failures": _failures(loop, world, followed, inside=inside, done=done),
        "followed": [_record(each) for each in followed],
        "usage": float(max(log.usage)),
    }


def _outcome(loop: CertifiedLoop, goal: Array | None, done: bool) -> str:
    """End of the episode, for the report."""
    if loop.log.stopped:
        return "stopped"
    if goal is None:
        return "done" if done else "not done"
    return "goal reached" if np.abs(loop.arm.q - goal).max() <= PLANNER.near + _TRACKED else "goal not reached"


def _failures(loop: CertifiedLoop, world: World, followed: list[Followed], *, inside: bool, done: bool) -> list[str]:
    """Everything that should not have happened; an empty list is a good episode.

    Among obstacles that appear nothing may be certifiable: then the robot's own stop, under that name, is as it should
    be. A goal need not be reached.
    """
    robot, log = loop.setup.robot, loop.log
    stopped = world.change and log.stopped is StopReason.SCENE_CHANGED
    found = [
        f"{name} of plan {k} beyond what was certified" for k, each in enumerate(followed) for name in each.broken()
    ]
    for each in followed:
        kinds = (("torque", each.torque), ("position", each.position), ("velocity", each.velocity))
        found += [f"{name} limit exceeded" for name, margin in kinds if (margin < 0.0).any()]
        found += ["contact"] * (min(each.obstacle, each.self_distance) <= 0.0)
    if not stopped:
        if loop.controller.mode is not Mode.HOLDING or not followed:
            found.append(f"ended {loop.controller.mode.name}")
        if not (done or world.goal):
            found.append("not done in time")
        if log.stopped or loop.arm.stop is not None:
            found.append("stopped")
    changed = {StopReason.SCENE_CHANGED, StopReason.TRAJECTORY_OTHER_SCENE} if world.change else set()
    reasons = set(log.reasons) - _USUAL - changed
    found += [reason.name for reason in sorted(reasons)]
    found += [f"refused: {reason.name}" for _, reason in loop.refusals if reason not in changed]
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


def _config(world: World, control: RobustControlConfig, bounds: Bounds, goal: Array | None, seed: int) -> LoopConfig:
    prior = PriorConfig(tuple(map(float, bounds.lower)), tuple(map(float, bounds.upper)))
    task = PlannerNodeConfig(
        excite_time=PLANNER.exciting[1] * (world.plans - 0.25), goals=() if goal is None else tuple(goal), seed=seed
    )
    # The simulated drive holds each torque over a tick.
    noise = NoiseConfig(torque_interpolation="hold", acceleration=(30.0,))
    return LoopConfig(
        CertifiedPlannerConfig(variant=VARIANT, prior=prior, control=control, planner=PLANNER, certified_planner=task),
        IntervalIdentifierConfig(variant=VARIANT, noise=noise, prior=prior),
    )


def _events(world: World, shapes: tuple[Primitive, ...], rng: np.random.Generator) -> list[Event]:
    """Other obstacles around the robot as it is at some time of its motion, if the episode has them."""

    def change(loop: CertifiedLoop) -> None:
        loop.change_scene(draw_obstacles(max(world.obstacles, 1), loop.setup.robot, shapes, loop.arm.q, rng))

    first, last = _FIRST_CHANGE, PLANNER.exciting[1] * world.plans + PLANNER.replan
    return [Event(float(rng.uniform(first, last)), change)] if world.change else []
