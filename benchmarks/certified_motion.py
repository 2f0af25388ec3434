"""The planner's loop without a controller: the desired motion itself is what the identifier sees.

A Gen3 with a dumbbell in its gripper among the authors' obstacles, from their start configuration and with Table I as
prior. Each plan is followed for 1.5 s, the fourth to its end: 7.5 s. The next plan is made with the bounds that are
known half way to it, which leaves 0.75 s to make it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.motions import START
from benchmarks.truth import GRIPPER, Arm, Array, make_arm
from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.data.scene import Scene, load_scene
from sysid_nodes.identifiers.config import IntervalIdentifierConfig, NoiseConfig
from sysid_nodes.identifiers.pipeline import IntervalPipeline
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.known_robot import KnownRobotConfig, PriorConfig
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.robust_control import RobustControlConfig
from sysid_nodes.planners.config import CertifierConfig
from sysid_nodes.planners.excitation import executed
from sysid_nodes.planners.objective import Excite
from sysid_nodes.planners.plan_result import PlanResult, PlanStatus, Start
from sysid_nodes.planners.planner import Planner
from sysid_nodes.planners.planner_config import PlannerConfig
from sysid_nodes.results.identification import IdentificationResult
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.kinova_gen3.geometry import cover
from sysid_nodes.robots.kinova_gen3.payloads import GRASP_OFFSET, PayloadVolumeConfig, payload_volume

PLANS = 4
POUND = 0.45359237
SIX_POUNDS = (0.012197, 0.0015455, 0.012197)
"""Moments of the authors' six-pound dumbbell about its centre [kg m2], its bar along y."""

ACCELERATION, TORQUE_RATE = 5.0, 120.0
"""Bounds that the identifier is told [rad/s2, N m/s]; every motion here is checked against them."""

_DRAWS = 12


@dataclass
class Run:
    """One loop.

    Attributes:
        plans: that were followed.
        results: what the planner answered, planned motions only.
        certificates: certificates made.
        identified: what the identifier knew in the end; None where nothing was measured.
    """

    plans: list[Bezier] = field(default_factory=list)
    results: list[PlanResult] = field(default_factory=list)
    certificates: int = 0
    identified: IdentificationResult | None = None

    @property
    def complete(self) -> bool:
        """Whether every plan was certified."""
        return len(self.plans) == PLANS


def make_planner(config: PlannerConfig, seed: int, clock: Callable[[], float] = time.process_time) -> Planner:
    """For the Gen3 with the gripper and the largest dumbbell's room."""
    robot = load_robot("kinova_gen3", variant="gripper")
    shapes = (*cover("gripper"), *payload_volume(PayloadVolumeConfig()))
    return Planner(
        robot, shapes, KnownRobotConfig(), RobustControlConfig(), CertifierConfig(), config, clock, seed=seed
    )


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


def true_arm(pounds: float, rng: np.random.Generator) -> Arm:
    """The robot with everything but the last link drawn from its box."""
    return make_arm(KnownRobotConfig(), dumbbell(pounds), None, lambda c, r: c + r * rng.uniform(-1.0, 1.0, c.size))


class Identified:
    """The identifier, fed with a motion piece by piece: encoders, velocities and torques err as they may."""

    def __init__(self, arm: Arm, rate: float, rng: np.random.Generator) -> None:
        self._arm, self._rate, self._rng, self._count = arm, rate, rng, 0
        noise = NoiseConfig(acceleration=(ACCELERATION,), torque_rate=(TORQUE_RATE,))
        self._pipeline = IntervalPipeline(arm.problem.robot, IntervalIdentifierConfig(noise=noise))
        self._noise = noise
        self.bounds = PriorConfig().bounds

    def feed(self, plan: Bezier, begin: float, end: float) -> IdentificationResult:
        """Measures a plan between two times.

        Raises:
            RuntimeError: the motion breaks the bounds that the identifier was told, so that nothing would be proven.
        """
        robot, rng = self._arm.problem.robot, self._rng
        count = round((end - begin) * self._rate)
        t = begin + np.arange(count + 1) / self._rate
        q, qd, qdd = plan(t)
        torque = self._arm.problem.torque(q, qd, qdd)
        smooth = torque - self._arm.problem.p[10 * robot.n : 11 * robot.n] * np.sign(qd)
        if np.abs(qdd).max() > ACCELERATION or np.abs(np.diff(smooth, axis=0)).max() * self._rate > TORQUE_RATE:
            raise RuntimeError("the motion is faster than the identifier was told")
        reading = torque / (1.0 + self._noise.torque_relative[0] * rng.uniform(-1.0, 1.0, torque.shape))
        velocity = qd + self._noise.velocity_error[0] * rng.uniform(-1.0, 1.0, qd.shape)
        position = robot.encoder_step * np.round(q / robot.encoder_step)
        stamps = (self._count + np.arange(count + 1)) / self._rate
        self._count += count
        result = self._pipeline.identify(JointSamples(robot.joint_names, stamps, position, velocity, reading))
        self.bounds = Bounds(result.lower, result.upper)
        return result


Choice = Callable[[Start, ModelBox, Excite], PlanResult]


def loop(planner: Planner, identified: Identified | None, choose: Choice) -> Run:
    """Four plans, chosen one after the other; ends early where none was certified."""
    prior, replan = PriorConfig().bounds, planner.config.replan
    run, objective = Run(), planner.excite(prior)
    box = planner.box(prior)
    start = Start.at_rest(START, planner.certifier.at_rest(box))
    for index in range(PLANS):
        result = choose(start, box, objective)
        run.results.append(result)
        run.certificates += result.certificates
        if result.status is not PlanStatus.CERTIFIED or result.plan is None or result.certificate is None:
            break
        run.plans.append(result.plan)
        end = replan if index < PLANS - 1 else planner.config.duration
        objective = objective.executed(result.plan, end, box)
        if identified is not None:
            identified.feed(result.plan, 0.0, 0.5 * replan)
            box = planner.box(identified.bounds)
            run.identified = identified.feed(result.plan, 0.5 * replan, end)
        start = Start.following(result.plan, result.certificate, replan)
    return run


def exciting(planner: Planner, scene: Scene) -> Choice:
    """Our planner, which tries once more where it found nothing."""

    def choose(start: Start, box: ModelBox, objective: Excite) -> PlanResult:
        result = planner.plan(start, box, scene, objective)
        return result if result.plan is not None else planner.plan(start, box, scene, objective)

    return choose


def drawn(planner: Planner, scene: Scene, widest: Array, rng: np.random.Generator) -> Choice:
    """Random displacements within (n,) ranges; what is refused is drawn anew, from ranges a fifth smaller."""

    def choose(start: Start, box: ModelBox, _: Excite) -> PlanResult:
        share, result = 1.0, None
        for attempt in range(_DRAWS):
            k = share * rng.uniform(-widest, widest)
            plan = Bezier(*start.state, k, planner.config.duration)
            certificate = planner.certifier.certify(plan, box, start.entry, scene)
            status = PlanStatus.CERTIFIED if certificate.certified else PlanStatus.NOTHING_CERTIFIED
            result = PlanResult(
                status, plan, certificate, float("nan"), attempt + 1, attempt + 1, {}, certificate.binding, 0.0, 0.0
            )
            if certificate.certified:
                break
            share *= 0.8
        assert result is not None
        return result

    return choose


def speeds(plans: Sequence[Bezier], replan: float) -> Array:
    """(n,) largest joint speeds [rad/s]."""
    return np.asarray(np.abs(executed(plans, replan, 200.0).qd).max(axis=0))
