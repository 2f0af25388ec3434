"""The whole loop of the paper's Algorithm 2 in simulated time: plan, execute, identify, tighten, plan again.

Robot, controller, identifier and planner are the very cores that the nodes run; here they meet in lockstep, tick by
tick, so that an episode is a function of its arguments. A plan takes the simulated time that is stated, whatever it
takes to compute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.data.scene import Scene
from sysid_nodes.models.config_digest import config_digest
from sysid_nodes.models.model_box import model_box
from sysid_nodes.models.robust_control import RobustControlConfig
from sysid_nodes.results.identification import Status
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.results.trajectory_record import TrajectoryRecord, record_trajectory
from sysid_nodes.robots.robot import Primitive, Robot
from sysid_nodes.simulation.arm.joint_faults import FaultyJoints, JointFault
from sysid_nodes.simulation.arm.torque_arm import TorqueArm
from sysid_nodes.simulation.certified.loop_log import LoopLog
from sysid_nodes.simulation.certified.plan_sources import Planned, PlanSource
from sysid_nodes.systems.certified.certificate.certifier import Certifier
from sysid_nodes.systems.certified.certificate.config import CertifierConfig
from sysid_nodes.systems.certified.control.config import ControllerConfig
from sysid_nodes.systems.certified.control.output import ControllerOutput, Mode
from sysid_nodes.systems.certified.control.robust_controller import RobustController
from sysid_nodes.systems.certified.search.plan_result import Start
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.pipeline import IntervalPipeline


@dataclass(frozen=True)
class LoopConfig:
    """Everything of an episode but robot, truth and planner.

    Attributes:
        control, certifier, controller, identifier: of the parts; the identifier's holds known robot, prior and target.
        takeover: time into a trajectory at which the next one takes over [s].
        latency: what planning takes [s].
        lead: from a first plan's arrival to its start [s].
        plans: how many; then the planner is silent.
        identify: whether bounds are identified and passed on.
    """

    control: RobustControlConfig
    certifier: CertifierConfig
    controller: ControllerConfig
    identifier: IntervalIdentifierConfig
    takeover: float = 1.5
    latency: float = 0.6
    lead: float = 0.05
    plans: int = 3
    identify: bool = True


@dataclass(frozen=True)
class Event:
    """Something that a test does to the loop at a time [s] since the episode began."""

    time: float
    action: Callable[[CertifiedLoop], None]


class CertifiedLoop:
    """One episode.

    Args:
        robot: nominal robot.
        shapes: that cover it and its load.
        arm: the simulated one, at rest; its ticks must keep ``config.control.period``.
        planner: makes certified plans.
        config: of the episode.
        scene: obstacles at the beginning.
        fault: of the joint states on their way to the controller and identifier.
        events: what else happens.
    """

    def __init__(
        self,
        robot: Robot,
        shapes: Sequence[Primitive],
        arm: TorqueArm,
        planner: PlanSource,
        config: LoopConfig,
        scene: Scene,
        *,
        fault: JointFault | None = None,
        events: Sequence[Event] = (),
    ) -> None:
        self.robot, self.arm, self.config, self.scene = robot, arm, config, scene
        self._planner, self._begun = planner, arm.now
        known, found = config.identifier.known_robot, config.identifier
        self._certifier = Certifier(robot, shapes, config.control, config.certifier)
        self._body = found.body or robot.body
        self.config_id = config_digest(robot, shapes, known, config.control, config.certifier)
        self.controller = RobustController(
            robot,
            known,
            config.control,
            config.controller,
            prior=found.prior.bounds,
            config_id=self.config_id,
            scene_id=scene.id,
            rest_speed=config.certifier.start_speed,
            rest_distance=config.certifier.start_distance,
            takeover=config.takeover,
            body=found.body,
            target=found.target,
        )
        self.identifier: IntervalPipeline | None = (
            IntervalPipeline(robot, found, clock=lambda: 0.0) if config.identify else None
        )
        self.bounds, self.window = found.prior.bounds, -1
        self.log = LoopLog(robot, shapes, arm.truth, config.control)
        self.refusals: list[tuple[str, StopReason]] = []
        self.tamper: Callable[[TrajectoryRecord], TrajectoryRecord] | None = None
        """What happens to a record on its way from planner to controller; None: nothing."""
        self._joints = FaultyJoints(fault)
        self._heard: RawJointState | None = None
        self._events = sorted(events, key=lambda event: event.time)
        self._planned: dict[str, Planned] = {}
        self._made = 0
        self._under_way: tuple[float, TrajectoryRecord] | None = None
        self._asked: tuple[str, str] | None = None
        self.planner_alive = True

    @property
    def time(self) -> float:
        """Since the episode began [s]."""
        return self.arm.now - self._begun

    def run(self, duration: float) -> LoopLog:
        """Runs on for a time [s], or until the arm rests after its own stop."""
        end = self.time + duration
        reading = self.arm.reading()
        while self.time < end:
            self._tick(reading)
            reading = self.arm.step()
            if (stop := self.arm.stop) is not None and stop.at_rest:
                break
        return self.log

    def change_scene(self, scene: Scene) -> None:
        """Other obstacles, known to planner and controller at once."""
        self.scene = scene
        self._under_way, self._asked = None, None
        self.controller.scene(scene.id)

    def kill_identifier(self) -> None:
        """No more bounds."""
        self.identifier = None

    def kill_planner(self) -> None:
        """No more plans, nor the one under way."""
        self.planner_alive, self._under_way = False, None

    def publish_bounds(self, bounds: Bounds, status: Status, window: int) -> None:
        """Bounds from wherever, to planner and controller."""
        self.bounds, self.window = bounds, window
        self.controller.bounds(bounds.lower, bounds.upper, status, window)

    def _tick(self, reading: RawJointState) -> None:
        while self._events and self._events[0].time <= self.time + 1e-9:
            self._events.pop(0).action(self)
        output: ControllerOutput | None = self.controller.check(self.arm.now)
        for message in self._joints.pass_on(reading):
            output, self._heard = self._answer(message), message
        if output is not None and output.stop is not None:
            self.arm.protective_stop(output.stop.name)
        self._plan()
        self.log.add(self.arm, self.controller, output)

    def _answer(self, message: RawJointState) -> ControllerOutput:
        now = self.arm.now
        output = self.controller.step(message, now, now - message.stamp)
        if output.torque is not None:
            self.arm.command(output.torque, output.stamp)
        if output.stop is not None:
            self.arm.protective_stop(output.stop.name)
        if self.identifier is not None:
            result = self.identifier.push(
                message.names, message.stamp, message.position, message.velocity, message.effort
            )
            if result is not None:
                self.log.add_bounds(result)
                self.controller.bounds(result.lower, result.upper, result.status, result.window)
                if result.status is not Status.INCONSISTENT:
                    self.bounds, self.window = Bounds(result.lower, result.upper), result.window
        return output

    def _plan(self) -> None:
        """Hands over the plan that is ready, and begins the next where one is wanted."""
        if self._under_way is not None and self.arm.now >= self._under_way[0]:
            record, self._under_way = self._under_way[1], None
            self._made += 1
            proof = self._planned[record.id].certificate  # one process: the planner's proof is the controller's own
            record = self.tamper(record) if self.tamper is not None else record
            refused = self.controller.offer(record, proof)
            if refused:
                self.refusals.append((record.id, refused))
        if not self.planner_alive or self._under_way is not None or self._made >= self.config.plans:
            return
        active = self.controller.trajectory
        wanted = ("" if active is None else active.id, self.scene.id)
        if self.controller.mode is Mode.STOPPED or self.controller.pending is not None or wanted == self._asked:
            return
        self._asked = wanted
        if self._heard is not None:
            self._begin_plan(self._heard, active)

    def _begin_plan(self, reading: RawJointState, active: TrajectoryRecord | None) -> None:
        config, now = self.config, self.arm.now
        box = model_box(
            self.robot,
            config.identifier.known_robot,
            self.bounds,
            self.robot.body_index(self._body),
            config.identifier.target,
        )
        previous_time, urgent = 0.0, False
        soonest = now + config.latency + config.lead
        if active is None:
            start = Start.at_rest(reading.position, self._certifier.at_rest(box, self.controller.start_rate))
        else:
            former = self._planned[active.id]
            urgent = active.scene_id != self.scene.id
            previous_time = soonest - active.start if urgent else max(config.takeover, soonest - active.start)
            start = Start.following(former.plan, former.certificate, previous_time)
            self._planner.executed(former.plan, previous_time, box)
        found = (self._planner.escape if urgent else self._planner.plan)(start, box, self.scene)
        self.log.planned += 1
        if found is None:
            return
        record = record_trajectory(
            found.plan,
            found.certificate,
            start_ns=round(soonest * 1e9),
            joint_names=self.robot.joint_names,
            bounds=self.bounds,
            bounds_window=self.window,
            nominal=box.theta[self.robot.body_index(self._body)],
            start_rate=start.entry.speed,
            body=self._body,
            target=config.identifier.target,
            config_id=self.config_id,
            scene_id=self.scene.id,
            previous=active,
            previous_time=previous_time,
        )
        self._planned[record.id] = found
        self.log.plans.append(record)
        self._under_way = (now + config.latency, record)
