"""One method of the comparison, one dumbbell, one motion: certified beforehand or not, and how its execution went."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from benchmarks.certified_motion import Identified, Run, drawn, dumbbell, exciting, loop, make_planner, obstacles
from benchmarks.comparison_task import Task, dumbbell_place
from benchmarks.excitation import RATE, WINDOW
from benchmarks.motions import HALF_RANGE
from benchmarks.truth import Arm, Array, make_arm
from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.scene import Scene
from sysid_nodes.models.bezier import State
from sysid_nodes.models.known_robot import KnownRobotConfig, PriorConfig
from sysid_nodes.models.model_box import ModelBox, model_box
from sysid_nodes.models.robust_control import RobustControlConfig, RobustLaw
from sysid_nodes.models.self_collision import self_collision_pairs
from sysid_nodes.planners.effort import effort
from sysid_nodes.planners.excitation import momentum_condition
from sysid_nodes.planners.planner import Planner
from sysid_nodes.planners.planner_config import PlannerConfig
from sysid_nodes.results.certificate import Certificate
from sysid_nodes.robots import MotorConstants, Robot
from sysid_nodes.robots.kinova_gen3.geometry import cover
from sysid_nodes.robots.kinova_gen3.payloads import dumbbell_volume
from sysid_nodes.simulation.contact_watch import ContactWatch
from sysid_nodes.simulation.excitation import Motion
from sysid_nodes.simulation.gravity_pid import GravityPid, GravityPidConfig
from sysid_nodes.simulation.torque_arm import TorqueArm, TorqueArmConfig
from sysid_nodes.simulation.true_robot import TrueRobot

OURS, RANDOM, RANDOM_WIDE = "ours", "random", "random, our ranges"
CONSERVATIVE, WRONG, PID, PID_OURS = "conservative", "wrong", "grav-pid", "grav-pid-ours"
METHODS = (OURS, RANDOM, CONSERVATIVE, WRONG, PID, PID_OURS)

PLACED = 0.01
"""Farthest [m] that a dumbbell may be from its goal when it is put down."""

HOLD = 2.0
"""The goal is held for this long [s] before the dumbbell is put down: slow feedback may settle."""

_STEP = 1.05
_STEPS = 48
"""Durations tried are powers of the step times the motion's own, up to this one."""

_LOOK = 0.01
"""Between two looks at distances [s]."""

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
    """The identification phase with one kind of motion; None where no four plans were certified."""
    for attempt in range(_ATTEMPTS):
        planner, scene = make_planner(PlannerConfig(), seed + 1000 * attempt), obstacles()
        rng = np.random.default_rng([seed, attempt, len(motion)])
        widest = HALF_RANGE if motion == RANDOM else np.full(planner.robot.n, max(planner.config.k_range))
        choose = exciting(planner, scene) if motion == OURS else drawn(planner, scene, widest, rng)
        run: Run = loop(planner, Identified(arm, rate, rng), choose)
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


Certificates = tuple[Certificate, Certificate | None]


def certify(planner: Planner, task: Task, duration: float, box: ModelBox, scene: Scene) -> Certificates:
    """Certificates of both curves; None for the second where the first has no bound on the errors to start from."""
    first, second = task.curves(duration)
    one = planner.certifier.certify(first, box, planner.certifier.at_rest(box), scene)
    if one.envelope is None:
        return one, None
    return one, planner.certifier.certify(second, box, one.envelope.entry(0.5 * duration), scene)


def certified(certificates: Certificates) -> bool:
    """Whether the whole motion is."""
    one, two = certificates
    return one.certified and two is not None and two.certified


def fastest(planner: Planner, task: Task, box: ModelBox, scene: Scene) -> float:
    """Shortest certified duration of the motion, to a step of 5 %, slower ones taken to be certified too; inf if none.

    At most about ten times the motion's own duration is tried.
    """
    own = task.experiment.duration

    def good(step: int) -> bool:
        return certified(certify(planner, task, own * _STEP**step, box, scene))

    low, high = -3, 0  # the motion uses 90 % of the speed limits
    while not good(high):
        if high >= _STEPS:
            return float("inf")
        low, high = high, min(max(2 * high, 3), _STEPS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return float(own * _STEP**high)


class Follower(Protocol):
    """Torque (n,) for a measured state, and where it exceeds the motors' limits."""

    def __call__(self, t: float, desired: State, q: Array, qd: Array) -> tuple[Array, Array]: ...


def robust_follower(planner: Planner, task: Task, box: ModelBox, certificates: Certificates) -> Follower:
    """The robust law around a method's nominal model.

    The robust input is clipped as the certificate says; without a bound on the errors, at what the nominal torque of
    the desired motion leaves of the motors.
    """
    robot, half = planner.robot, 0.5 * task.experiment.duration
    law = RobustLaw(robot, box.theta, box.motor, RobustControlConfig())
    clips = []
    for curve, certificate in zip(task.curves(task.experiment.duration), certificates, strict=True):
        if certificate is not None and certificate.envelope is not None:
            clips.append(certificate.robust_limit)
        else:
            nominal = effort(planner.chain, box, curve, np.linspace(0.0, half, 33)).nominal
            clips.append(np.maximum(robot.limits.torque - nominal.max(axis=0), 0.0))

    def follow(t: float, desired: State, q: Array, qd: Array) -> tuple[Array, Array]:
        torque = law.command(q, qd, desired, clips[0 if t < half else 1]).torque
        return torque, np.abs(torque) > robot.limits.torque

    return follow


def pid_follower(robot: Robot, box: ModelBox | None) -> Follower:
    """Gravity-compensated PID at 1 kHz, of the bare robot or of a nominal model."""
    pid = GravityPid(robot, GravityPidConfig(), None if box is None else box.theta)
    integral = np.zeros(robot.n)

    def follow(t: float, desired: State, q: Array, qd: Array) -> tuple[Array, Array]:
        nonlocal integral
        step = pid.step(integral, Motion(*desired), q, qd, 0.001)
        integral = step.integral
        return step.torque, step.saturated

    return follow


@dataclass(frozen=True)
class Outcome:
    """How an execution went.

    Attributes:
        tracking: largest distance of the dumbbell's centre from where it should have been [m].
        arrival, final: the same when the motion ends, and after HOLD [m].
        torque, speed: largest shares of the limits; the command's, where that was more.
        clearance: least true distance to obstacles, and of the robot to itself [m].
        share: largest part of the proven bound that the norm of the joint errors took; NaN without a bound.
        failures: empty where it went well.
    """

    tracking: float
    arrival: float
    final: float
    torque: float
    speed: float
    clearance: float
    share: float
    failures: tuple[str, ...]


def execute(
    robot: Robot,
    task: Task,
    truth: TrueRobot,
    pounds: float,
    follower: Follower,
    seed: int,
    bound: Callable[[float], float] | None = None,
) -> Outcome:
    """The motion and a hold, in simulation; ``bound`` is that of sqrt(sum I_a e^2) over time."""
    arm = TorqueArm(
        robot,
        None,
        TorqueArmConfig(delay=0.0, velocity_error=1e-4),
        np.random.default_rng(seed),
        task.experiment.start,
        truth=truth,
    )
    # The dumbbell itself, held where it is meant to be: what may not touch anything.
    shapes = (*cover("gripper"), dumbbell_volume(pounds, shape="box", grasp_error=0.0))
    watch = ContactWatch(
        robot, shapes, task.experiment.surroundings().obstacles, self_collision_pairs(robot, shapes).kept
    )
    limits, duration, failures = robot.limits, task.experiment.duration, dict[str, None]()
    off, nearest, torque_share, speed_share, share = [], np.inf, 0.0, 0.0, -np.inf if bound else np.nan
    reading = arm.reading()
    look = round(_LOOK * 1000.0)
    for tick in range(round((duration + HOLD) * 1000.0) + 1):
        t, desired = arm.now, task(arm.now)
        turns = 2.0 * np.pi * np.where(robot.wraps, np.rint((desired.q - reading.position) / (2.0 * np.pi)), 0.0)
        torque, exceeded = follower(t, desired, reading.position + turns, reading.velocity)
        arm.command(torque, reading.stamp)
        torque_share = max(torque_share, float((np.abs(torque) / limits.torque).max()))
        speed_share = max(speed_share, float((np.abs(arm.qd) / limits.velocity).max()))
        failures.update(dict.fromkeys(f"torque limit of {robot.joint_names[j]}" for j in np.flatnonzero(exceeded)))
        if tick % look == 0:
            off.append(float(np.linalg.norm(dumbbell_place(robot, arm.q) - dumbbell_place(robot, desired.q))))
            closest = watch.closest(arm.q)
            nearest = min(nearest, closest.distance)
            if closest.distance <= 0.0:
                failures[f"touches {closest.second}"] = None
            if bound is not None:
                norm = float(np.sqrt((truth.motor.armature * (desired.q - arm.q) ** 2).sum()))
                share = max(share, norm / bound(t))
        reading = arm.step()
    if speed_share > 1.0:
        failures["speed limit"] = None
    if (arm.q < limits.position_lower).any() or (arm.q > limits.position_upper).any():
        failures["position limit"] = None
    if off[-1] > PLACED:
        failures[f"placed {1000.0 * off[-1]:.0f} mm off"] = None
    arrival = off[round(duration / _LOOK)]
    return Outcome(max(off), arrival, off[-1], torque_share, speed_share, nearest, share, tuple(failures))


def error_bound(task: Task, certificates: Certificates) -> Callable[[float], float] | None:
    """Over time, what certificates say of sqrt(sum I_a e^2); None where they say nothing."""
    one, two = (None if c is None else c.envelope for c in certificates)
    if one is None or two is None:
        return None
    half = 0.5 * task.experiment.duration

    def bound(t: float) -> float:
        envelope, at = (one, t) if t < half else (two, t - half)
        return float(envelope.position[envelope.interval(at)])

    return bound
