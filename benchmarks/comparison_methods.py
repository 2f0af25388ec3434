# SPDX-License-Identifier: Apache-2.0
"""The methods of the comparison: what each knows of the payload, and from which motion."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.certified_motion import Identified, Run, drawn, dumbbell, exciting, loop, make_planner, obstacles
from benchmarks.excitation import RATE, WINDOW
from benchmarks.motions import HALF_RANGE
from benchmarks.truth import Arm, Array, make_arm
from sysid_nodes.data.bounds import Bounds
from sysid_nodes.models.known_robot import KnownRobotConfig, PriorConfig
from sysid_nodes.models.model_box import ModelBox, model_box
from sysid_nodes.robots import MotorConstants
from sysid_nodes.simulation.arm.true_robot import TrueRobot
from sysid_nodes.systems.certified.search.config import PlannerConfig
from sysid_nodes.systems.certified.search.excitation import momentum_condition
from sysid_nodes.systems.certified.search.planner import Planner

OURS, RANDOM, RANDOM_WIDE = "ours", "random", "random, our ranges"
CONSERVATIVE, WRONG, PID, PID_OURS = "conservative", "wrong", "grav-pid", "grav-pid-ours"
METHODS = (OURS, RANDOM, CONSERVATIVE, WRONG, PID, PID_OURS)

_ATTEMPTS = 3


def drawn_arm(pounds: float, seed: int) -> Arm:
    """The robot that all methods have to do with: links of another density, friction and armature within their boxes.

    One factor a link, so that it stays physical.
    """
    rng = np.random.default_rng([seed, round(10.0 * pounds)])

    def draw(centre: Array, radius: Array) -> Array:
        n = centre.size // 15
        share = np.concatenate([np.repeat(rng.uniform(-1.0, 1.0, n), 10), rng.uniform(-1.0, 1.0, 5 * n)])
        return np.asarray(centre + np.where(centre < 0.0, -radius, radius) * share)

    return make_arm(KnownRobotConfig(), dumbbell(pounds), None, draw)


def true_robot(arm: Arm) -> TrueRobot:
    """The same robot for the simulation."""
    p, n = arm.problem.p, arm.problem.robot.n
    return TrueRobot.from_parameters(p[: 10 * n].reshape(n, 10), MotorConstants(*p[10 * n : 14 * n].reshape(4, n)))


class Learned(NamedTuple):
    """Bounds after 7.5 s, condition number of Y, and whether the truth lies in the bounds."""

    bounds: Bounds
    condition: float
    contains: bool


def identify(arm: Arm, motion: str, rate: float, seed: int) -> Learned | None:
    """The identification phase with one kind of motion; None where three attempts found no four plans."""
    which = (OURS, RANDOM, RANDOM_WIDE).index(motion)
    for attempt in range(_ATTEMPTS):
        planner, scene = make_planner(PlannerConfig(), seed + 1000 * attempt), obstacles()
        rng = np.random.default_rng([seed, attempt, which, round(1000.0 * arm.theta[0])])
        widest = HALF_RANGE if motion == RANDOM else np.full(planner.robot.n, max(planner.config.k_range))
        identified = Identified(arm, rate, rng)
        ours = motion == OURS
        allowed = identified.allows  # too fast a draw would break what the identifier assumes of motions
        choose = exciting(planner, scene, allowed) if ours else drawn(planner, scene, widest, rng, allowed)
        run: Run = loop(planner, identified, choose)
        if run.complete and run.identified is not None:
            found = Bounds(run.identified.lower, run.identified.upper)
            condition = momentum_condition(
                planner.chain, planner.body_index, run.plans, planner.config.replan, window=WINDOW, rate=RATE
            )
            return Learned(found, condition, bool(found.contains(arm.theta)))
    return None


def assumed(method: str, planner: Planner, learned: dict[str, Learned | None]) -> ModelBox | None:
    """The models that a method reckons with; None where it has none."""
    if method == CONSERVATIVE:
        return planner.box(PriorConfig().bounds)
    if method == WRONG:
        robot, sure = planner.robot, KnownRobotConfig(0.0, "value", 0.0, 0.0)
        bare = robot.inertial_parameters()[planner.body_index]
        return model_box(robot, sure, Bounds(bare, bare), planner.body_index)
    found = learned.get({PID_OURS: OURS}.get(method, method))
    return None if found is None else planner.box(found.bounds)
