# SPDX-License-Identifier: Apache-2.0
"""Knowledge of the payload, before it is carried, of the comparison's methods: identified, or learned by practice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.adaptive_control import Adaptive
from benchmarks.certified_motion import REPLAN, Assumptions, Identified, drawn, loop, obstacles, retry_excitation
from benchmarks.comparison_task import Motion
from benchmarks.comparison_trial import Outcome, adaptive_follower, execute, pid_follower
from benchmarks.excitation import RATE, WINDOW
from benchmarks.gen3_design import AMPLITUDE, design_excitation
from benchmarks.momentum_condition import momentum_condition
from benchmarks.motions import HALF_RANGE, START
from benchmarks.truth import Arm
from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.models.bezier import Bezier, State
from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.results.identification import IdentificationResult, Status
from sysid_nodes.robots import Robot
from sysid_nodes.simulation.arm.true_robot import TrueRobot
from sysid_nodes.systems.certified.search.planner import Planner
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig, SensitivityConfig
from sysid_nodes.systems.interval.pipeline import IntervalPipeline

OURS, RANDOM, RANDOM_WIDE = "ours", "random", "random, our ranges"
ALGORITHM_1, FOURIER = "algorithm 1", "fourier"
PROVEN = (OURS, RANDOM, RANDOM_WIDE)
MOTIONS = (*PROVEN, ALGORITHM_1)

_ATTEMPTS = 3
_PERIOD = 7.5
"""Of the Fourier series [s]."""


class Learned(NamedTuple):
    """Knowledge that an identification phase has left.

    Attributes:
        bounds: of the payload's parameters; None where the data contradict what is taken for granted.
        condition: condition number of Y; NaN where no plans were followed.
        contains: whether the truth lies in the bounds.
        plans: that were followed.
        trouble: what went wrong on the way.
    """

    bounds: Bounds | None
    condition: float
    contains: bool
    plans: tuple[Bezier, ...] = ()
    trouble: tuple[str, ...] = ()


def identify(
    planner: Planner, arm: Arm, motion: str, known: KnownRobotConfig, rate: float, seed: int
) -> Learned | None:
    """Identifies in one kind of certified motion; None where three attempts found no four plans."""
    scene, which = obstacles(), MOTIONS.index(motion)
    method = "sensitivity" if motion == ALGORITHM_1 else "set_membership"
    for attempt in range(_ATTEMPTS):
        rng = np.random.default_rng([seed, attempt, which, round(1000.0 * arm.theta[0])])
        identified = Identified(arm, rate, rng, Assumptions(known, method=method))
        allowed = identified.allows  # too fast a draw would break what the identifier assumes of motions
        if motion in (OURS, ALGORITHM_1):
            choose = retry_excitation(planner, scene, allowed)
        else:
            widest = HALF_RANGE if motion == RANDOM else np.full(planner.robot.n, max(planner.config.k_range))
            choose = drawn(planner, scene, widest, rng, allowed)
        run = loop(planner, identified, choose, (planner.config.duration, planner.config.replan))
        if run.identified is not None and run.identified.status is Status.INCONSISTENT:
            return _conclude(run.identified, arm)
        if run.complete and run.identified is not None:
            condition = momentum_condition(
                planner.chain, planner.body_index, run.plans, planner.config.replan, window=WINDOW, rate=RATE
            )
            return _conclude(run.identified, arm, condition, tuple(run.plans))
    return None


def _conclude(
    result: IdentificationResult,
    arm: Arm,
    condition: float = float("nan"),
    plans: tuple[Bezier, ...] = (),
    trouble: tuple[str, ...] = (),
) -> Learned:
    if result.status is Status.INCONSISTENT:
        why = "" if result.contradiction is None else result.contradiction.sentence()
        return Learned(None, condition, False, plans, (*trouble, f"the identifier finds a contradiction: {why}"))
    bounds = Bounds(result.lower, result.upper)
    return Learned(bounds, condition, bool(bounds.contains(arm.theta)), plans, trouble)


def practise(
    planner: Planner, plans: Sequence[Bezier], controller: Adaptive, truth: TrueRobot, pounds: float, seed: int
) -> Outcome:
    """Lets an adaptive controller follow plans, each until the next takes over, the last to its end."""
    replan = planner.config.replan

    def desired_state(t: float) -> State:
        index = min(int(t / replan), len(plans) - 1)
        return plans[index](t - index * replan)

    duration = replan * (len(plans) - 1) + plans[-1].duration
    motion = Motion(desired_state, duration, 0.0, obstacles())
    return execute(planner.robot, motion, truth, pounds, adaptive_follower(planner.robot, controller), seed)


def fourier_motion(robot: Robot, seed: int) -> Motion:
    """The Fourier series of least condition number within limits of speed and acceleration alone, the paper's [5]."""
    series = design_excitation(
        robot,
        np.array(START),
        np.array(AMPLITUDE),
        np.random.default_rng(seed),
        margin=-np.inf,
        period=_PERIOD,
        use=0.9,
        starts=8,
        iterations=5,
    )
    return Motion(lambda t: State(*series(t)), _PERIOD, 0.0, obstacles())


def identify_by_pid(
    robot: Robot,
    motion: Motion,
    box: ModelBox,
    arm: Arm,
    truth: TrueRobot,
    pounds: float,
    known: KnownRobotConfig,
    seed: int,
) -> Learned:
    """Algorithm 1 on what a gravity PID without payload model makes of a motion, whatever it runs into."""
    readings: list[RawJointState] = []
    outcome = execute(robot, motion, truth, pounds, pid_follower(robot, box), seed, hear=readings.append)
    config = IntervalIdentifierConfig(
        method="sensitivity", known_robot=known, sensitivity=SensitivityConfig(nested_after=REPLAN)
    )
    pipeline = IntervalPipeline(robot, config)
    columns = (np.array([getattr(one, name) for one in readings]) for name in ("position", "velocity", "effort"))
    stamps = np.array([one.stamp for one in readings])
    result = pipeline.identify(JointSamples(robot.joint_names, stamps, *columns))
    return _conclude(result, arm, trouble=outcome.failures)
