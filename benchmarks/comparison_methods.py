# SPDX-License-Identifier: Apache-2.0
"""The methods of the comparison (the paper's Table II), and the robots that they have to do with."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks.certified_motion import PAPERS, dumbbell, make_planner
from benchmarks.comparison_learning import ALGORITHM_1, FOURIER, OURS, RANDOM, Learned
from benchmarks.real_friction import measured_robot
from benchmarks.truth import Arm, Array, make_arm
from sysid_nodes.data.bounds import Bounds
from sysid_nodes.models.known_robot import KnownRobotConfig, PriorConfig
from sysid_nodes.models.model_box import ModelBox, model_box
from sysid_nodes.models.robust_control import RobustControlConfig
from sysid_nodes.robots import MotorConstants
from sysid_nodes.simulation.arm.true_robot import TrueRobot
from sysid_nodes.systems.certified.search.config import PlannerConfig
from sysid_nodes.systems.certified.search.planner import Planner

CONSERVATIVE, WRONG = "conservative", "wrong"
ADAPTIVE_1, ADAPTIVE_1_EXCIT = "adap-1", "adap-1-excit"
ADAPTIVE_2, ADAPTIVE_2_EXCIT = "adap-2", "adap-2-excit"
PID, PID_OURS, PID_EXCIT = "grav-pid", "grav-pid-ours", "grav-pid-excit"

ROBUST = (OURS, ALGORITHM_1, WRONG, CONSERVATIVE, RANDOM)
ADAPTIVE = (ADAPTIVE_1, ADAPTIVE_1_EXCIT, ADAPTIVE_2, ADAPTIVE_2_EXCIT)
GRAVITY_PID = (PID, PID_OURS, PID_EXCIT)
METHODS = (*ROBUST, *ADAPTIVE, *GRAVITY_PID)
PRACTISED = (ADAPTIVE_1_EXCIT, ADAPTIVE_2_EXCIT)
"""Those that follow our exciting motion first."""

TABLE_II = {
    OURS: ("robust law", "middle of our bounds", "our bounds, proven", "certified planner"),
    ALGORITHM_1: ("robust law", "the paper's Algorithm 1", "its intervals, not proven", "certified planner"),
    WRONG: ("robust law", "no payload", "0 %", "-"),
    CONSERVATIVE: ("robust law", "Table I", "Table I", "-"),
    RANDOM: ("robust law", "middle of our bounds", "our bounds, proven", "random certified motion"),
    ADAPTIVE_1: ("adaptive, Slotine and Li", "adapts from Table I's", "-", "-"),
    ADAPTIVE_1_EXCIT: ("adaptive, Slotine and Li", "adapts from Table I's", "-", "certified planner"),
    ADAPTIVE_2: ("adaptive robust", "Table I's; the robust input's bound adapts", "-", "-"),
    ADAPTIVE_2_EXCIT: ("adaptive robust", "Table I's; the robust input's bound adapts", "-", "certified planner"),
    PID: ("gravity-compensated PID", "no payload", "-", "-"),
    PID_OURS: ("gravity-compensated PID", "middle of our bounds", "-", "certified planner"),
    PID_EXCIT: ("gravity-compensated PID", "the paper's Algorithm 1", "-", "Fourier series"),
}
"""Controller, model, its uncertainty, exciting motion."""

SOURCE = {PID_OURS: OURS, PID_EXCIT: FOURIER}
"""Whose identification a method uses, where not its own."""


@dataclass(frozen=True)
class Setting:
    """A robot, what the methods are told of it, and their feedback.

    Attributes:
        title: in words.
        told: what all methods take for granted of everything but the last link.
        true: which the true links, friction and armature are drawn from.
        control: the law of all methods but the PIDs.
    """

    title: str
    told: KnownRobotConfig = field(default_factory=KnownRobotConfig)
    true: KnownRobotConfig = field(default_factory=KnownRobotConfig)
    control: RobustControlConfig = field(default_factory=RobustControlConfig)

    def planner(self, seed: int) -> Planner:
        """Planner and certifier of what the methods are told."""
        return make_planner(PlannerConfig(excite=PAPERS), seed, known=self.told, control=self.control)

    def arm(self, pounds: float, seed: int) -> Arm:
        """The robot that all methods have to do with: links of another density, friction, armature within their boxes.

        One factor a link, so that it stays physical.
        """
        rng = np.random.default_rng([seed, round(10.0 * pounds)])

        def draw(centre: Array, radius: Array) -> Array:
            n = centre.size // 15
            share = np.concatenate([np.repeat(rng.uniform(-1.0, 1.0, n), 10), rng.uniform(-1.0, 1.0, 5 * n)])
            return np.asarray(centre + np.where(centre < 0.0, -radius, radius) * share)

        return make_arm(self.true, dumbbell(pounds), None, draw)


NOMINAL = Setting("all as the methods take for granted")


def variants(data: Path) -> list[Setting]:
    """Other settings; those of a real arm where its log is among ``data``."""
    control = RobustControlConfig()
    soft = replace(control, damping=tuple(0.1 * x for x in control.damping))
    found = [Setting("a tenth of the feedback", control=soft)]
    if (real := measured_robot(data)) is not None:
        found += [
            Setting("a real arm's friction and offsets, the published ones taken for granted", true=real),
            Setting("a real arm's friction and offsets, measured beforehand", told=real, true=real),
        ]
    return found


def true_robot(arm: Arm) -> TrueRobot:
    """The same robot for the simulation."""
    p, n = arm.problem.p, arm.problem.robot.n
    return TrueRobot.from_parameters(p[: 10 * n].reshape(n, 10), MotorConstants(*p[10 * n : 14 * n].reshape(4, n)))


def assumed_models(
    method: str, planner: Planner, learned: dict[str, Learned | None], told: KnownRobotConfig
) -> ModelBox | None:
    """The models that a method reckons with; None where it has none, nothing having been identified."""
    if method in (CONSERVATIVE, *ADAPTIVE):
        return planner.box(PriorConfig().bounds)
    if method in (WRONG, PID):
        robot = planner.robot
        sure = replace(told, inertia_relative=0.0, friction_relative=0.0, armature_relative=0.0)
        bare = robot.inertial_parameters()[planner.body_index]
        return model_box(robot, sure, Bounds(bare, bare), planner.body_index)
    found = learned.get(SOURCE.get(method, method))
    return None if found is None or found.bounds is None else planner.box(found.bounds)
