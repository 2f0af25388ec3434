"""Plans trajectories that are proven safe for every model in the bounds, one while the other is executed.

Topics, in: ``robust_controller/status`` (online_sysid/ControllerStatus, latched),
``interval_identifier/parameter_bounds`` (online_sysid/ParameterBounds, latched), ``obstacles`` (online_sysid/Obstacles,
latched), ``goal`` (sensor_msgs/JointState: a posture to go to after those asked for before) and, only while the robot
rests without a trajectory, ``joint_states``. Out: ``certified_trajectory`` (online_sysid/CertifiedTrajectory),
``~/markers`` and ``~/obstacle_markers`` (visualization_msgs/MarkerArray, latched) and ``/diagnostics``.

With ``certified_planner.output: position`` a position controller takes the place of the robust controller: see
ros/certified/position_output.py.

Planning has a thread of its own; the node's converts and passes on.
"""

from __future__ import annotations

import sys
import time
import traceback
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from online_sysid.msg import CertifiedTrajectory, ControllerStatus, Obstacles, ParameterBounds
from rclpy.node import Node
from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.exceptions import ConfigError, SysidError
from sysid_nodes.models.self_collision import self_collision_words
from sysid_nodes.results import Status
from sysid_nodes.robots.robot import Array
from sysid_nodes.ros import qos
from sysid_nodes.ros.certified.controller_conversions import nanoseconds
from sysid_nodes.ros.certified.position_output import PositionOutput, position_setup
from sysid_nodes.ros.certified.scene_markers import margin_lines, obstacle_markers, plan_markers
from sysid_nodes.ros.certified.scene_messages import to_scene
from sysid_nodes.ros.certified.trajectory_messages import to_trajectory
from sysid_nodes.ros.diagnostics import ERROR, OK, WARN, diagnostic_array
from sysid_nodes.ros.parameters import NodeParameters
from sysid_nodes.ros.spinning import run_node, spin, until_shutdown
from sysid_nodes.sessions.certified.config import CertifiedPlannerConfig, set_up
from sysid_nodes.sessions.certified.pace import Pace
from sysid_nodes.sessions.certified.planning import Planning
from sysid_nodes.sessions.certified.state import Known, Phase, Planned, Seen
from sysid_nodes.sessions.worker import Worker
from sysid_nodes.systems.certified.certificate.own_stop import own_stop_words
from sysid_nodes.systems.certified.control.output import Mode

NAME = "certified_planner"

_PERIOD = 0.02  # between two looks at whether a plan is wanted [s]
_CLAIMED = (Status.WAITING, Status.NOT_EXCITED, Status.PROVEN)


class CertifiedPlannerNode(Node):
    """Converts, lets the planning step, converts back.

    Raises:
        SysidError: a parameter is wrong.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NAME, **kwargs)
        settings = NodeParameters(self, (CertifiedPlannerConfig,), running=lambda: True)
        config = settings.build(CertifiedPlannerConfig)
        self._config = config.certified_planner
        self._setup = set_up(config)
        if self._config.output == "position":
            self._setup = position_setup(self._setup, config)
        self._planning = Planning(self._setup, config, time.perf_counter)
        self._seen: Seen | None = None
        self._pace = Pace()
        self._posture: Array | None = None
        self._joint_states: Any = None
        self._busy, self._not_before, self._broken = False, 0.0, ""
        self._phase, self._failed, self._dropped = Phase.EXCITE, False, 0
        self._own_stop = own_stop_words(config.certifier, self._setup.robot.n)
        self._worker: Worker[tuple[Seen, Array | None]] = Worker(self._step, capacity=1)
        self._trajectories = self.create_publisher(
            CertifiedTrajectory, "certified_trajectory", qos.stream("reliable", 10)
        )
        self._markers = self.create_publisher(MarkerArray, "~/markers", qos.LATCHED)
        self._obstacles = self.create_publisher(MarkerArray, "~/obstacle_markers", qos.LATCHED)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        listen = self.create_subscription
        self._positions: PositionOutput | None = None
        if self._config.output == "position":
            planning = self._planning
            self._positions = PositionOutput(self, self._setup, config, lambda: planning.known.scene, self._executed)
        else:
            listen(ControllerStatus, "robust_controller/status", self._controller, qos.LATCHED)
        listen(ParameterBounds, "interval_identifier/parameter_bounds", self._bounds, qos.LATCHED)
        listen(Obstacles, "obstacles", self._scene, qos.LATCHED)
        listen(JointState, "goal", self._goal, qos.stream("reliable", 10))
        self.create_timer(_PERIOD, self._look)
        self.create_timer(self._config.diagnostics_period, self._diagnose)
        self._obstacles.publish(obstacle_markers(self._setup.scene, self._setup.frame))
        self.get_logger().info(f"{self._setup.robot.name}: configuration {self._setup.config_id}")
        self.get_logger().info(self._own_stop)
        self.get_logger().info(self_collision_words(self._setup.robot, self._setup.shapes))

    def release(self) -> None:
        """Ends the planner's thread, after the step in progress."""
        self._worker.stop()

    # -- planning

    def _now(self) -> int:
        """Stamp of the present, not behind it as long as the robot's time runs no faster than it lately did [ns]."""
        return self._pace.now(time.perf_counter())

    def _look(self) -> None:
        """Begins a step where one may be wanted."""
        seen = self._seen
        if seen is None or self._busy or time.perf_counter() < self._not_before:
            return
        self._listen_to_joints(self._planning.needs_posture(seen))
        self._busy = True
        self._worker.put((seen, self._posture))

    def _step(self, item: tuple[Seen, Array | None]) -> None:
        """On the worker's thread, which nothing may end: the robot comes to rest without plans, but nobody knew why."""
        planning = self._planning
        failed, planning.timing.rate, self._broken = planning.failed, self._pace.rate, ""
        try:
            planned = planning.step(item[0], self._now, item[1])
            if planned is not None and self.context.ok():
                self._publish(planned)
        except SysidError as error:
            planning.failed, planning.message = planning.failed + 1, str(error)
        except Exception as error:
            self._broken = f"a step broke off: {type(error).__name__}: {error}"
            if self.context.ok():  # what ends with the node is no news
                self.get_logger().error(f"{self._broken}\n{traceback.format_exc()}")
            planning.failed, planning.message = planning.failed + 1, self._broken
        if planning.failed > failed:
            self._not_before = time.perf_counter() + self._config.retry
        if self.context.ok():
            self._say(planning)
        self._busy = False

    def _publish(self, planned: Planned) -> None:
        """On the worker's thread."""
        setup, record = self._setup, planned.record
        if self._positions is not None and not self._positions.publish(planned, self._now()):
            return
        self._trajectories.publish(to_trajectory(record))
        lines = [planned.phase.value, *margin_lines(record)]
        self._markers.publish(plan_markers(setup.robot, setup.shapes, planned.plan, setup.frame, lines=lines))
        result = planned.result
        self.get_logger().info(
            f"trajectory {record.id} to {planned.phase.value} in {result.elapsed:.2f} s with {result.certificates} "
            f"certificates; {record.binding}"
        )

    def _say(self, planning: Planning) -> None:
        """One line for each event, on the worker's thread."""
        failed = planning.failed > 0
        if failed and not self._failed:
            self.get_logger().warning(f"no plan: {planning.message}")
        self._failed = failed
        if planning.dropped > self._dropped:
            self._dropped = planning.dropped
            self.get_logger().warning(f"{planning.message}; planning again")
        if planning.phase is not self._phase:
            self._phase = planning.phase
            self.get_logger().info(planning.phase.value)

    # -- what arrives

    def _controller(self, message: ControllerStatus) -> None:
        self._pace.heard(nanoseconds(message.header.stamp), time.perf_counter())
        self._seen = Seen(
            Mode(message.mode), message.trajectory_id, message.refused_id, message.refused_text, message.start_rate
        )

    def _executed(self, seen: Seen, stamp: int) -> None:
        """What a position controller does."""
        self._pace.heard(stamp, time.perf_counter())
        self._seen = seen

    def _bounds(self, message: ParameterBounds) -> None:
        known = self._planning.known
        usable = message.status in [int(status) for status in _CLAIMED]
        try:
            if not usable:
                raise ConfigError(message.message or "no bounds are claimed")
            if message.robot != self._setup.robot.name or message.body != self._setup.body:
                raise ConfigError(f"bounds are of '{message.body}' of robot '{message.robot}'")
            bounds = Bounds(np.array(message.lower), np.array(message.upper))
            self._planning.planner.box(bounds)
        except ConfigError as error:
            self._planning.known = Known(known.bounds, known.window, False, known.scene)
            if known.consistent:
                self.get_logger().error(f"bounds not used, no more plans: {error}")
        else:
            self._planning.known = Known(bounds, int(message.window), True, known.scene)

    def _scene(self, message: Obstacles) -> None:
        known = self._planning.known
        try:
            scene = to_scene(message, (self._setup.frame,))
        except SysidError as error:
            self.get_logger().error(f"obstacles not used, no more plans: {error}")
            self._planning.known = Known(known.bounds, known.window, known.consistent, None)
        else:
            self._planning.known = Known(known.bounds, known.window, known.consistent, scene)
            self._obstacles.publish(obstacle_markers(scene, self._setup.frame))
            self._not_before = 0.0

    def _goal(self, message: JointState) -> None:
        place = {name: k for k, name in enumerate(message.name)}
        names = self._setup.robot.joint_names
        if any(name not in place for name in names) or len(message.position) != len(message.name):
            self.get_logger().warning("goal not used: it must name every joint and give its position")
            return
        self._planning.goals.append(np.array([message.position[place[name]] for name in names]))

    def _listen_to_joints(self, wanted: bool) -> None:
        """Joint states come a thousand times a second; they are needed only to begin from rest."""
        if wanted and self._joint_states is None:
            self._posture = None
            self._joint_states = self.create_subscription(
                JointState, "joint_states", self._joints, qos.stream("best_effort", 1)
            )
        elif not wanted and self._joint_states is not None:
            self.destroy_subscription(self._joint_states)
            self._joint_states, self._posture = None, None

    def _joints(self, message: JointState) -> None:
        place = {name: k for k, name in enumerate(message.name)}
        try:
            posture = np.array([message.position[place[name]] for name in self._setup.robot.joint_names])
        except (KeyError, IndexError):
            return
        self._posture = posture if np.isfinite(posture).all() else None

    def _diagnose(self) -> None:
        planning = self._planning
        last, bounds = planning.last, planning.known.bounds
        values = {
            "phase": planning.phase.value,
            "trajectories": str(planning.made),
            "steps that certified nothing": str(planning.failed),
            "last outcome": planning.message,
            "finished too late": str(planning.dropped),
            "planning is taken to need [s]": f"{planning.timing.needs:.3f}",
            "robot's seconds in one of the machine's": f"{self._pace.rate:.3f}",
            "planning time [s]": f"{last.result.elapsed:.3f}" if last is not None else "",
            "certificates": str(last.result.certificates) if last is not None else "",
            "time of certificates [s]": f"{last.result.certifying:.3f}" if last is not None else "",
            "robot's own stop": self._own_stop,
            "goals left": str(len(planning.goals)),
            "mass [kg]": f"{bounds.lower[0]:.3f} to {bounds.upper[0]:.3f}",
        }
        if self._positions is not None:
            values |= self._positions.values()
        level, message = OK, planning.phase.value
        if self._seen is None:
            level, message = WARN, "no status of a controller" if self._positions is None else "no joint states"
        elif self._positions is not None and self._positions.reason:
            level, message = ERROR, f"no more plans: {self._positions.reason.message}"
        elif not planning.known.consistent or planning.known.scene is None:
            level, message = ERROR, "bounds or obstacles are unusable: no more plans"
        elif planning.failed and self._broken:
            level, message = ERROR, self._broken
        elif planning.failed:
            level, message = WARN, planning.message
        status = DiagnosticStatus(
            level=level,
            name=f"{self.get_name()}: planning",
            hardware_id=self._setup.robot.name,
            message=message,
            values=[KeyValue(key=key, value=value) for key, value in values.items()],
        )
        with until_shutdown():
            self._diagnostics.publish(diagnostic_array(status, self.get_clock().now()))


def main(args: list[str] | None = None) -> int:
    """Runs the node; returns the exit status: 0, or 2 with one line on stderr when it cannot start."""
    return run_node(
        NAME,
        CertifiedPlannerNode,
        lambda node: spin(node, lambda: False),
        args,
        release=CertifiedPlannerNode.release,
    )


if __name__ == "__main__":
    sys.exit(main())
