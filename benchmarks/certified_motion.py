# SPDX-License-Identifier: Apache-2.0
"""The planner's loop without a controller: the desired motion itself is what the identifier sees.

A Gen3 with a dumbbell in its gripper among the authors' obstacles, from their start configuration and with Table I as
prior: 7.5 s of plans that take over from one another, the last followed to the end of that time. The next plan is made
with the bounds that are known about half way to it, which leaves the other half to make it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks.motions import START
from benchmarks.truth import GRIPPER, Arm, Array, make_arm
from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.data.scene import Scene, load_scene
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.known_robot import KnownRobotConfig, PriorConfig
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.robust_control import RobustControlConfig
from sysid_nodes.results.identification import IdentificationResult, Status
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.kinova_gen3.geometry import cover
from sysid_nodes.robots.kinova_gen3.payloads import GRASP_OFFSET, PayloadVolumeConfig, payload_volume
from sysid_nodes.systems.certified.certificate.config import CertifierConfig
from sysid_nodes.systems.certified.search.config import ExciteConfig, PlannerConfig
from sysid_nodes.systems.certified.search.excitation import executed_states
from sysid_nodes.systems.certified.search.objective import Excite
from sysid_nodes.systems.certified.search.plan_result import PlanResult, PlanStatus, Start
from sysid_nodes.systems.certified.search.planner import Planner
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig, NoiseConfig, SensitivityConfig
from sysid_nodes.systems.interval.pipeline import IntervalPipeline

DURATION = 7.5
REPLAN = PlannerConfig().replan
PAPERS = ExciteConfig(duration=PlannerConfig().duration, replan=REPLAN)
"""Exciting trajectories as long as the paper's."""
POUND = 0.45359237
SIX_POUNDS = (0.012197, 0.0015455, 0.012197)
"""Moments of the authors' six-pound dumbbell about its centre [kg m2], its bar along y."""

_DRAWS = 12
_LOOK = 500.0
"""Instants a second at which a plan is compared with what the identifier is told [Hz]."""

_SHARE = 0.97
"""Share of those bounds that a plan may use there, as it may be faster in between."""


@dataclass(frozen=True)
class Assumptions:
    """Assumptions of identifier and planner, from which the truth is drawn.

    Attributes:
        known: of everything but the last link.
        noise: errors of the readings; a position error of 0 is half an encoder step.
        method: of the identifier.
    """

    known: KnownRobotConfig = field(default_factory=KnownRobotConfig)
    noise: NoiseConfig = field(default_factory=NoiseConfig)
    method: str = "set_membership"


DEMO = Assumptions()
"""Those of `sysid demo kinova`."""

PAPER = Assumptions(noise=NoiseConfig(position_error=(1e-9,), velocity_error=(1e-9,)))
"""Those of the paper (Assumption 12, section VI-D): torques 2.5 %, robot 5 %, positions and velocities exact."""

KNOWN_ROBOT = Assumptions(
    KnownRobotConfig(inertia_relative=0.0, friction_relative=0.0, armature_relative=0.0), PAPER.noise
)
"""The paper's, and the robot is known exactly: torque errors alone are left."""


@dataclass
class Run:
    """One loop.

    Attributes:
        wanted: number of plans that it takes.
        plans: that were followed.
        results: what the planner answered, planned motions only.
        certificates: certificates made.
        identified: what the identifier knew in the end; None where nothing was measured.
    """

    wanted: int
    plans: list[Bezier] = field(default_factory=list)
    results: list[PlanResult] = field(default_factory=list)
    certificates: int = 0
    identified: IdentificationResult | None = None

    @property
    def complete(self) -> bool:
        """Whether every plan was certified."""
        return len(self.plans) == self.wanted


def make_planner(
    config: PlannerConfig,
    seed: int,
    clock: Callable[[], float] = time.process_time,
    known: KnownRobotConfig | None = None,
    control: RobustControlConfig | None = None,
) -> Planner:
    """For the Gen3 with the gripper and the largest dumbbell's room."""
    robot = load_robot("kinova_gen3", variant="gripper")
    shapes = (*cover("gripper"), *payload_volume(PayloadVolumeConfig()))
    known, control = known or KnownRobotConfig(), control or RobustControlConfig()
    return Planner(robot, shapes, known, control, CertifierConfig(), config, clock, seed=seed)


def obstacles() -> Scene:
    """The authors' scene."""
    return load_scene(Path(__file__).resolve().parents[1] / "config" / "scenes" / "kinova_obstacles.yaml")


def dumbbell(pounds: float) -> Array:
    """(10,) last link and gripper with a dumbbell in the middle of the fingers; all sizes grow with the cube root."""
    mass = pounds * POUND
    moments = np.array(SIX_POUNDS) * (pounds / 6.0) ** (5.0 / 3.0)
    at = np.array([0.0, 0.0, -0.061525 - GRASP_OFFSET])
    tensor = np.diag(moments) + mass * (at @ at * np.eye(3) - np.outer(at, at))
    return np.asarray(GRIPPER + np.concatenate([[mass], mass * at, tensor[np.tril_indices(3)]]))


def true_arm(pounds: float, rng: np.random.Generator, known: KnownRobotConfig | None = None) -> Arm:
    """The robot with everything but the last link drawn from its box."""
    known = known or KnownRobotConfig()
    return make_arm(known, dumbbell(pounds), None, lambda c, r: c + r * rng.uniform(-1.0, 1.0, c.size))


class Identified:
    """The identifier, fed with a motion piece by piece: encoders, velocities and torques err as they may."""

    def __init__(self, arm: Arm, rate: float, rng: np.random.Generator, assumed: Assumptions = DEMO) -> None:
        self._arm, self._rate, self._rng, self._count = arm, rate, rng, 0
        config = IntervalIdentifierConfig(
            noise=assumed.noise,
            known_robot=assumed.known,
            method=assumed.method,
            sensitivity=SensitivityConfig(nested_after=REPLAN),
        )
        self._pipeline = IntervalPipeline(arm.problem.robot, config)
        self._noise = assumed.noise
        self.bounds = PriorConfig().bounds

    def allows(self, plan: Bezier) -> bool:
        """Whether the plan keeps the bounds on acceleration and torque rate that the identifier is told."""
        count = int(np.ceil(plan.duration * _LOOK))
        _, acceleration, rate = self._exact(plan, np.linspace(0.0, plan.duration, count + 1))
        noise = self._noise
        return acceleration <= _SHARE * noise.acceleration[0] and rate <= _SHARE * noise.torque_rate[0]

    def _exact(self, plan: Bezier, t: Array) -> tuple[Array, float, float]:
        """Torques at t (N,), largest acceleration, and largest torque rate but for the jumps of Coulomb friction."""
        robot = self._arm.problem.robot
        q, qd, qdd = plan(t)
        torque = self._arm.problem.torque(q, qd, qdd)
        smooth = torque - self._arm.problem.p[10 * robot.n : 11 * robot.n] * np.sign(qd)
        rate = np.abs(np.diff(smooth, axis=0)).max() / (t[1] - t[0])
        return torque, float(np.abs(qdd).max()), float(rate)

    def feed(self, plan: Bezier, begin: float, end: float) -> IdentificationResult:
        """Measures a plan between two times.

        Raises:
            RuntimeError: the plan is not one that is allowed: it breaks bounds that the identifier was told, so that
                nothing would be proven.
        """
        robot, rng = self._arm.problem.robot, self._rng
        count = round((end - begin) * self._rate)
        t = begin + np.arange(count + 1) / self._rate
        q, qd, _ = plan(t)
        torque, acceleration, torque_rate = self._exact(plan, t)
        if acceleration > self._noise.acceleration[0] or torque_rate > self._noise.torque_rate[0]:
            raise RuntimeError("the motion is faster than the identifier was told")
        reading = torque / (1.0 + self._noise.torque_relative[0] * rng.uniform(-1.0, 1.0, torque.shape))
        velocity = qd + self._noise.velocity_error[0] * rng.uniform(-1.0, 1.0, qd.shape)
        error = self._noise.position_error[0]
        step = np.full(robot.n, 2.0 * error) if error > 0.0 else robot.encoder_step
        position = step * np.round(q / step)
        stamps = (self._count + np.arange(count + 1)) / self._rate
        self._count += count
        result = self._pipeline.identify(JointSamples(robot.joint_names, stamps, position, velocity, reading))
        if result.status is not Status.INCONSISTENT:
            self.bounds = Bounds(result.lower, result.upper)
        return result


Choice = Callable[[Start, ModelBox, Excite], PlanResult]
Allowed = Callable[[Bezier], bool]


def _any(_: Bezier) -> bool:
    return True


def loop(planner: Planner, identified: Identified | None, choose: Choice, times: tuple[float, float]) -> Run:
    """Plans chosen one after the other; ends early where none was certified or the data contradict each other.

    Args:
        planner: gives models, objective and certificates.
        identified: takes what the motion shows; None: nothing is measured.
        choose: of the plans.
        times: length of a plan, and when the next takes over from it [s].
    """
    t_f, t_p = times
    prior, run = PriorConfig().bounds, Run(1 + math.ceil((DURATION - t_f) / t_p - 1e-9))
    objective, half = planner.excite(prior), math.floor(5.0 * t_p + 1e-9) / 10.0  # whole windows
    box = planner.box(prior)
    start = Start.at_rest(START, planner.certifier.at_rest(box))
    for index in range(run.wanted):
        result = choose(start, box, objective)
        run.results.append(result)
        run.certificates += result.certificates
        if result.status is not PlanStatus.CERTIFIED or result.plan is None or result.certificate is None:
            break
        run.plans.append(result.plan)
        end = t_p if index < run.wanted - 1 else DURATION - index * t_p
        objective = objective.with_plan(result.plan, end, box)
        if identified is not None:
            identified.feed(result.plan, 0.0, half)
            box = planner.box(identified.bounds)
            run.identified = identified.feed(result.plan, half, end)
            if run.identified.status is Status.INCONSISTENT:
                break
        start = Start.following(result.plan, result.certificate, t_p)
    return run


def retry_excitation(planner: Planner, scene: Scene, allowed: Allowed = _any) -> Choice:
    """Our planner, which tries once more where it found nothing that is allowed."""

    def choose(start: Start, box: ModelBox, objective: Excite) -> PlanResult:
        result = planner.plan(start, box, scene, objective)
        if result.plan is None or not allowed(result.plan):
            result = planner.plan(start, box, scene, objective)
        if result.plan is not None and not allowed(result.plan):
            result = replace(result, status=PlanStatus.NOTHING_CERTIFIED)
        return result

    return choose


def drawn(planner: Planner, scene: Scene, widest: Array, rng: np.random.Generator, allowed: Allowed = _any) -> Choice:
    """Random displacements within (n,) ranges; what is refused is drawn anew, from ranges a fifth smaller."""

    def choose(start: Start, box: ModelBox, _: Excite) -> PlanResult:
        share, result = 1.0, None
        for attempt in range(_DRAWS):
            k = share * rng.uniform(-widest, widest)
            plan = Bezier(*start.state, k, planner.config.duration)
            certificate = planner.certifier.certify(plan, box, start.entry, scene)
            good = certificate.certified and allowed(plan)
            status = PlanStatus.CERTIFIED if good else PlanStatus.NOTHING_CERTIFIED
            result = PlanResult(
                status, plan, certificate, float("nan"), attempt + 1, attempt + 1, {}, certificate.binding, 0.0, 0.0
            )
            if good:
                break
            share *= 0.8
        assert result is not None
        return result

    return choose


def speeds(plans: Sequence[Bezier], replan: float) -> Array:
    """(n,) largest joint speeds [rad/s]."""
    return np.asarray(np.abs(executed_states(plans, replan, 200.0).qd).max(axis=0))
