# SPDX-License-Identifier: Apache-2.0
"""A controller fed with the joint states of a robot that follows every trajectory perfectly, sensors apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, lru_cache

import numpy as np

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.models.bezier import Bezier, State
from sysid_nodes.models.known_robot import KnownRobotConfig, PriorConfig
from sysid_nodes.models.model_box import model_box
from sysid_nodes.models.robust_control import RobustControlConfig
from sysid_nodes.results.certificate import Certificate, Envelope, Margins, Verdict
from sysid_nodes.results.trajectory_record import Phase, TrajectoryRecord, record_trajectory
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.systems.certified.control.config import ControllerConfig
from sysid_nodes.systems.certified.control.output import ControllerOutput
from sysid_nodes.systems.certified.control.robust_controller import RobustController

ROBOT: Robot = load_robot("kinova_gen3", variant="gripper")
N = ROBOT.n
TICK = 1e-3
START = 100.0
PRIOR: Bounds = PriorConfig().bounds
CONTROL = RobustControlConfig()
SCENE, CONFIG = "scene", "config"
DURATION, TAKEOVER, GRACE = 1.0, 0.5, 0.5
K = np.array([0.1, -0.06, 0.08, 0.1, -0.1, 0.06, 0.13])
Q0 = np.round(np.array([-1.16, 0.35, -3.68, -1.75, 0.2, -1.09, -0.2]) / ROBOT.encoder_step) * ROBOT.encoder_step
"""On the encoders' grid, so that a reading at rest there is exact; joint 3 is a turn away from where it is measured."""


def wrapped(q: np.ndarray) -> np.ndarray:
    """To [-pi, pi], as the Gen3's driver does."""
    return np.asarray(q - 2.0 * np.pi * np.round(q / (2.0 * np.pi)))


def certificate(
    duration: float = DURATION, *, energy: float = 0.05, norm: float = 0.05, limit: float = 20.0, margin: float = 1.0
) -> Certificate:
    """A certificate as a certifier might make it; that it is true is not the controller's business."""
    count = 8
    each = np.ones((count, N))
    envelope = Envelope(
        np.append(np.linspace(0.0, duration, count), np.inf), np.full(count, energy), np.full(count, norm), each, each,
        each, np.ones(count), each,
    )  # fmt: skip
    margins = Margins(np.full(N, margin), np.full(N, margin), np.full(N, margin), margin, margin)
    return Certificate(Verdict.CERTIFIED, margins, "nothing", np.full(N, limit), np.full(N, 30.0), envelope, 3)


@cache
def _nominal(lower: tuple[float, ...], upper: tuple[float, ...]) -> np.ndarray:
    bounds, body = Bounds(np.array(lower), np.array(upper)), ROBOT.body_index()
    return model_box(ROBOT, KnownRobotConfig(), bounds, body).theta[body]


def nominal_of(bounds: Bounds) -> np.ndarray:
    """The middle as an honest planner takes it."""
    return _nominal(tuple(bounds.lower), tuple(bounds.upper))


def make_record(
    start: float = START + 0.2,
    *,
    plan: Bezier | None = None,
    proof: Certificate | None = None,
    bounds: Bounds = PRIOR,
    scene_id: str = SCENE,
    previous: TrajectoryRecord | None = None,
    previous_time: float = 0.0,
    phase: Phase = Phase.REACH,
) -> TrajectoryRecord:
    """A trajectory from rest at Q0, or one that continues another."""
    if plan is None and previous is not None:
        state = plan_of(previous).split(previous_time)
        plan = Bezier(*state, 0.5 * K, DURATION)
    plan = plan or Bezier(Q0, np.zeros(N), np.zeros(N), K, DURATION)
    return record_trajectory(
        plan,
        proof or certificate(plan.duration),
        start_ns=round(start * 1e9),
        joint_names=ROBOT.joint_names,
        bounds=bounds,
        bounds_window=-1,
        nominal=nominal_of(bounds),
        start_rate=0.0,
        body=ROBOT.body,
        target="body",
        config_id=CONFIG,
        scene_id=scene_id,
        previous=previous,
        previous_time=previous_time,
        phase=phase,
    )


@lru_cache(8)
def plan_of(record: TrajectoryRecord) -> Bezier:
    return Bezier(record.q0, record.qd0, record.qdd0, record.k, record.duration)


class Ride:
    """Time, a robot that does as it is told, and the controller.

    Attributes:
        astray: (n,) speed at which the robot leaves the trajectory [rad/s].
        change: what arrives when a reading was made.
        outputs: all answers.
    """

    def __init__(self, config: ControllerConfig | None = None, **options: object) -> None:
        control = options.pop("control", CONTROL)
        clock_error: float = options.pop("clock_error", 0.0)  # type: ignore[assignment]
        robot = options.pop("robot", ROBOT)
        arguments: dict[str, object] = {
            "prior": PRIOR,
            "config_id": CONFIG,
            "scene_id": SCENE,
            "rest_speed": 0.003,
            "takeover": lambda _duration: TAKEOVER,
            **options,
        }
        self.controller = RobustController(
            robot,
            KnownRobotConfig(),
            control,
            replace(config or ControllerConfig(recertify=False, scene_grace=GRACE), clock_error=clock_error),
            **arguments,  # type: ignore[arg-type]
        )
        self.count = 0
        self.state = State(Q0, np.zeros(N), np.zeros(N))
        self.off, self.astray = np.zeros((2, N))
        self.change: Callable[[RawJointState], Sequence[RawJointState]] = lambda reading: [reading]
        self.outputs: list[ControllerOutput] = []
        self._rng = np.random.default_rng(0)

    @property
    def now(self) -> float:
        return START + self.count * TICK

    def reading(self) -> RawJointState:
        """Of the robot as it is, on the trajectory but for what went astray."""
        record = self.controller.trajectory
        if record is not None and self.controller.mode.commands:
            self.state = plan_of(record).split(max(self.now - record.start, 0.0))
        else:
            self.state = State(self.state.q, np.zeros(N), np.zeros(N))
        step = ROBOT.encoder_step
        q = np.round((self.state.q + self.off) / step) * step
        qd = self.state.qd + self.astray + self._rng.uniform(-5e-5, 5e-5, N)
        return RawJointState(self.now, ROBOT.joint_names, wrapped(q), qd, np.zeros(N))

    def rest(self) -> Bezier:
        """A trajectory from rest at the position measured now."""
        measured = self.reading().position
        q = measured + 2.0 * np.pi * np.round((self.state.q - measured) / (2.0 * np.pi))
        return Bezier(q, np.zeros(N), np.zeros(N), 0.3 * K, DURATION)

    def tick(self, count: int = 1) -> ControllerOutput:
        """Lets so many ticks pass; the last answer."""
        for _ in range(count):
            self.count += 1
            self.off = self.off + TICK * self.astray
            answers = [self.controller.check(self.now)]
            for reading in self.change(self.reading()):
                answers.append(self.controller.step(reading, self.now, self.now - reading.stamp))
            self.outputs += [answer for answer in answers if answer is not None]
        return self.outputs[-1]

    def until(self, stamp: float) -> ControllerOutput:
        """Ticks up to and with a stamp."""
        return self.tick(round((stamp - self.now) / TICK))

    def riding(self, time: float = 0.2, **options: object) -> TrajectoryRecord:
        """Lets a trajectory from rest be executed for a while."""
        self.tick(110)
        record = make_record(self.now + 0.05, **options)  # type: ignore[arg-type]
        assert not self.controller.offer(record)
        self.until(record.start + time)
        assert self.controller.trajectory is record
        return record


def replace_fields(record: TrajectoryRecord, **fields: object) -> TrajectoryRecord:
    """With other fields and the id that belongs to them."""
    return replace(record, **fields).seal()  # type: ignore[arg-type]
