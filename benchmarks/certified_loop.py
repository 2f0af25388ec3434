# SPDX-License-Identifier: Apache-2.0
"""The whole loop of the paper's Algorithm 2 in simulated time: plan, execute, identify, tighten, plan again.

Replanning, controller, identifier and robot are the very classes that the nodes run; here they meet in lockstep, tick
by tick, so that an episode is a function of its arguments. A plan, and the controller's own proof of it, take the
simulated time that is stated, whatever they take to compute; a plan hears of nothing that happens meanwhile, as on a
thread of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from benchmarks.certified_log import CertifiedLog
from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.data.nanoseconds import SECOND
from sysid_nodes.data.scene import Scene
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.results.certificate import Certificate
from sysid_nodes.results.identification import IdentificationResult
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.results.trajectory_record import Phase, TrajectoryRecord
from sysid_nodes.robots.robot import Array
from sysid_nodes.sessions.certified.config import CertifiedPlannerConfig, Setup
from sysid_nodes.sessions.certified.controller import build_controller
from sysid_nodes.sessions.certified.motion_planner import MotionPlanner, build_planner
from sysid_nodes.sessions.certified.planning import Planning
from sysid_nodes.sessions.certified.recertifier import Prover
from sysid_nodes.sessions.certified.replanner import LOOK_PERIOD, Replanner
from sysid_nodes.sessions.certified.state import Planned, Seen
from sysid_nodes.simulation.arm.joint_faults import FaultyJoints, JointFault
from sysid_nodes.simulation.arm.simulated_arm import SimulatedArm
from sysid_nodes.systems.certified.certificate.certifier import Certifier
from sysid_nodes.systems.certified.control.config import ControllerConfig
from sysid_nodes.systems.certified.control.in_force import accepted_statuses
from sysid_nodes.systems.certified.control.output import ControllerOutput, Mode
from sysid_nodes.systems.certified.search.objective import Excite, Reach
from sysid_nodes.systems.certified.search.plan_result import PlanResult, Start
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.pipeline import IntervalPipeline

_SAME_TIME = 1e-9  # [s]

BuildPlanner = Callable[[Setup, CertifiedPlannerConfig, Callable[[], float]], MotionPlanner]


@dataclass(frozen=True)
class LoopConfig:
    """Everything of an episode but robot and truth.

    Attributes:
        planner: of the planner's node: robot, law, certificates, and what plans are for.
        identifier: of the identifier; of the same body, known robot and prior.
        controller: what is watched.
        latency: that a plan takes [s].
        escape_latency: that a stop among other obstacles takes [s].
        proof_latency: that the controller's own proof of a trajectory takes [s].
        identify: whether bounds are identified and passed on.
    """

    planner: CertifiedPlannerConfig
    identifier: IntervalIdentifierConfig
    controller: ControllerConfig = field(default_factory=lambda: ControllerConfig(clock_error=0.0))
    latency: float = 0.6
    escape_latency: float = 0.15
    proof_latency: float = 0.15
    identify: bool = True


@dataclass(frozen=True)
class Event:
    """Something that a test does to the loop at a time [s] since the episode began."""

    time: float
    action: Callable[[CertifiedLoop], None]


@dataclass
class Clock:
    """Simulated time [s]; the planner's is ahead of the robot's while a plan is under way."""

    time: float

    def __call__(self) -> float:
        return self.time


class SlowPlanner:
    """A planner whose steps take stated times of a clock; see `MotionPlanner`."""

    def __init__(self, planner: MotionPlanner, clock: Clock, latency: float, escape_latency: float) -> None:
        self._planner, self._clock = planner, clock
        self._latency, self._escape_latency = latency, escape_latency
        self.box, self.excite = planner.box, planner.excite
        self.reach, self.has_reached = planner.reach, planner.has_reached

    @property
    def certifier(self) -> Certifier:
        return self._planner.certifier

    def plan(self, start: Start, box: ModelBox, scene: Scene, objective: Excite | Reach, deadline: float) -> PlanResult:
        result = self._planner.plan(start, box, scene, objective, deadline)
        self._clock.time += self._latency
        return result

    def plan_escape(self, start: Start, box: ModelBox, scene: Scene, deadline: float, *, rest: float) -> PlanResult:
        result = self._planner.plan_escape(start, box, scene, deadline, rest=rest)
        self._clock.time += self._escape_latency
        return result


class CertifiedLoop:
    """One episode.

    Args:
        setup: of the planner's configuration; its scene is that of the beginning.
        arm: the simulated one, at rest; its ticks must keep ``config.planner.control.period``.
        config: of the episode.
        build: makes the planner, with the simulated clock.
        fault: of the joint states on their way to the controller and identifier.
        events: what else happens.
    """

    def __init__(
        self,
        setup: Setup,
        arm: SimulatedArm,
        config: LoopConfig,
        *,
        build: BuildPlanner = build_planner,
        fault: JointFault | None = None,
        events: Sequence[Event] = (),
    ) -> None:
        self.setup, self.arm, self.config, self.scene = setup, arm, config, setup.scene
        self._begun, self._clock = arm.now, Clock(arm.now)
        # A step takes what is stated, so that certificates in it take no further time.
        free = replace(config.planner, planner=replace(config.planner.planner, certificate_time=0.0))
        found = build(setup, free, self._clock)
        planner = SlowPlanner(found, self._clock, config.latency, config.escape_latency)
        self.planning = Planning(planner, setup, free, self._clock)
        self._replanner = Replanner(self.planning, config.planner.certified_planner.retry, self._clock)
        self.controller = build_controller(setup, config.planner, config.controller)
        self._prover = Prover(setup, config.planner)
        self._proofs: deque[tuple[float, TrajectoryRecord, Certificate | None]] = deque()
        self.identifier: IntervalPipeline | None = None
        if config.identify:
            self.start_identifier()
        self.log = CertifiedLog(setup, arm.truth, config.planner.control)
        self.refusals: list[tuple[str, StopReason]] = []
        self.tamper: Callable[[TrajectoryRecord], TrajectoryRecord] | None = None
        """Change of a record on its way from planner to controller; None: none."""
        self.posture_offset = np.zeros(setup.robot.n)
        """(n,) by which the planner takes a resting robot's posture for another than is measured [rad]."""
        self._joints = FaultyJoints(fault)
        self._heard: RawJointState | None = None
        self._events = sorted(events, key=lambda event: event.time)
        self._under_way: tuple[float, Planned | None] | None = None
        self._next_look = 0.0
        self.planner_alive = True

    @property
    def time(self) -> float:
        """Since the episode began [s]."""
        return self.arm.now - self._begun

    @property
    def finished(self) -> bool:
        """Whether the planner has nothing left to do and the robot rests."""
        return self.planning.agenda.phase is Phase.REST and self.controller.mode is Mode.HOLDING

    def run(self, duration: float, until: Callable[[], bool] = lambda: False) -> CertifiedLog:
        """Runs on for a time [s], until something is the case, or until the arm rests after its own stop."""
        end = self.time + duration
        reading = self.arm.reading()
        while self.time < end and not until():
            self._tick(reading)
            reading = self.arm.step()
            if (stop := self.arm.stop) is not None and stop.at_rest:
                break
        return self.log

    def change_scene(self, scene: Scene) -> None:
        """Other obstacles, known to planner and controller at once."""
        self.scene = scene
        self.log.add_scene(scene)
        self.planning.take_scene(scene)
        self._replanner.hurry()
        self.controller.scene(scene.id)

    def start_identifier(self) -> None:
        """Bounds from now on."""
        self.identifier = IntervalPipeline(self.setup.robot, self.config.identifier, clock=lambda: 0.0)

    def kill_identifier(self) -> None:
        """No more bounds."""
        self.identifier = None

    def kill_planner(self) -> None:
        """No more plans, nor the one under way."""
        self.planner_alive, self._under_way = False, None

    def _tick(self, reading: RawJointState) -> None:
        self._clock.time = self.arm.now
        while self._events and self._events[0].time <= self.time + _SAME_TIME:
            self._events.pop(0).action(self)
        output = self.controller.check(self.arm.now)
        if output is not None:
            self._tell(output)
        self._take_proofs()
        for message in self._joints.pass_on(reading):
            output, self._heard = self._answer(message), message
        if self.planner_alive:
            self._plan()
        self.log.add(self.arm, self.controller, output)

    def _answer(self, message: RawJointState) -> ControllerOutput:
        now = self.arm.now
        output = self.controller.step(message, now, now - message.stamp)
        if output.torque is not None:
            self.arm.command(output.torque, output.stamp)
        self._tell(output)
        if self.identifier is not None:
            result = self.identifier.push(
                message.names, message.stamp, message.position, message.velocity, message.effort
            )
            if result is not None:
                self._take_bounds(result)
        return output

    def _tell(self, output: ControllerOutput) -> None:
        """Tells robot and planner what the controller has answered."""
        if output.stop is not None:
            self.arm.protective_stop(output.stop.name)
        self._replanner.take_status(
            Seen.of(output, self.controller.start_rate),
            round(output.stamp * SECOND) if np.isfinite(output.stamp) else 0,
        )

    def _take_bounds(self, result: IdentificationResult) -> None:
        self.log.add_bounds(result)
        self.controller.bounds(result.lower, result.upper, result.status)
        if result.status in accepted_statuses(self.config.planner.estimates):
            self.planning.take_bounds(Bounds(result.lower, result.upper), result.window)
        else:
            self.planning.withdraw_bounds()

    def _plan(self) -> None:
        """Hands over the plan that is ready, and looks whether the next is due."""
        if self._under_way is not None and self.arm.now >= self._under_way[0] - _SAME_TIME:
            planned, self._under_way = self._under_way[1], None
            if planned is not None:
                self._send(planned)
        if self._under_way is None and self._heard is not None and self.time >= self._next_look - _SAME_TIME:
            self._next_look = self.time + LOOK_PERIOD
            self._look(self._heard)

    def _look(self, reading: RawJointState) -> None:
        """Begins a step where one is due; ``reading``: of the last joint state, for a posture to start from."""
        seen = self._replanner.due()
        if seen is None:
            return
        posture: Array | None = None
        if self.planning.needs_posture(seen) and np.isfinite(reading.position).all():
            posture = reading.position + self.posture_offset
        planned = self._replanner.step(seen, posture)
        self._under_way = self._clock.time, planned

    def _send(self, planned: Planned) -> None:
        """Sends a trajectory; what the controller has nothing against by itself is proven beside it."""
        record = self.tamper(planned.record) if self.tamper is not None else planned.record
        self.log.plans.append(record)
        if refused := self.controller.consider(record):
            self.refusals.append((record.id, refused))
        else:
            ready = self.arm.now + self.config.proof_latency
            self._proofs.append((ready, record, self._prover.prove(record, self.scene)))

    def _take_proofs(self) -> None:
        """Offers what the controller's own proof is ready of."""
        while self._proofs and self.arm.now >= self._proofs[0][0] - _SAME_TIME:
            _, record, own = self._proofs.popleft()
            if refused := self.controller.offer(record, own):
                self.refusals.append((record.id, refused))
