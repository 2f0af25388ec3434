# SPDX-License-Identifier: Apache-2.0
"""Plans trajectories that are proven safe for every model in the bounds, one while the other is executed.

Topics, in: ``robust_controller/status`` (online_sysid/ControllerStatus, latched),
``interval_identifier/parameter_bounds`` (online_sysid/ParameterBounds, latched), ``obstacles`` (online_sysid/Obstacles,
latched), ``goal`` (sensor_msgs/JointState: a posture to go to after those asked for before; ``signed_goal``,
online_sysid/Goal, where only who holds a key is obeyed: ros/authority.py) and, only while the robot
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
from collections.abc import Sequence
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from online_sysid.msg import CertifiedTrajectory, ControllerStatus, Goal, Obstacles, ParameterBounds
from rclpy.node import Node
from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.exceptions import ConfigError, SysidError
from sysid_nodes.models.self_collision import self_collision_words
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.robots.robot import Array
from sysid_nodes.ros import qos
from sysid_nodes.ros.authority import Authority
from sysid_nodes.ros.certified.controller_conversions import nanoseconds, to_seen
from sysid_nodes.ros.certified.planner_report import planner_status, planner_values
from sysid_nodes.ros.certified.position_output import PositionOutput, position_setup
from sysid_nodes.ros.certified.scene_markers import margin_lines, obstacle_markers, plan_markers
from sysid_nodes.ros.certified.scene_messages import to_scene
from sysid_nodes.ros.certified.trajectory_messages import to_trajectory
from sysid_nodes.ros.diagnostics import diagnostic_array
from sysid_nodes.ros.parameters import NodeParameters
from sysid_nodes.ros.spinning import run_node, spin, until_shutdown
from sysid_nodes.sessions.certified.config import CertifiedPlannerConfig, set_up
from sysid_nodes.sessions.certified.motion_planner import build_planner
from sysid_nodes.sessions.certified.planning import Planning
from sysid_nodes.sessions.certified.replanner import LOOK_PERIOD, Replanner
from sysid_nodes.sessions.certified.state import Phase, Planned, Seen
from sysid_nodes.sessions.worker import Worker
from sysid_nodes.systems.certified.certificate.own_stop import own_stop_words
from sysid_nodes.systems.certified.control.in_force import CLAIMED

NAME = "certified_planner"

_GOALS = qos.stream("reliable", 10)


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
        planner = build_planner(self._setup, config, time.perf_counter)
        self._planning = Planning(planner, self._setup, config, time.perf_counter)
        self._replanner = Replanner(self._planning, self._config.retry, time.perf_counter)
        self._order = JointOrder(self._setup.robot.joint_names)
        self._posture: Array | None = None
        self._joint_states: Any = None
        self._busy, self._broken = False, ""
        self._phase, self._failed, self._dropped = Phase.EXCITE, False, 0
        self._own_stop = own_stop_words(config.certifier, self._setup.robot.n)
        self._worker: Worker[tuple[Seen, Array | None]] = Worker(self._step, capacity=1)
        self._authority = authority = Authority(self, config.authority)
        trajectories = self.create_publisher(CertifiedTrajectory, "certified_trajectory", qos.stream("reliable", 10))
        self._trajectories = authority.publisher(trajectories)
        self._markers = self.create_publisher(MarkerArray, "~/markers", qos.LATCHED)
        self._obstacles = self.create_publisher(MarkerArray, "~/obstacle_markers", qos.LATCHED)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self._positions: PositionOutput | None = None
        if self._config.output == "position":
            planning, told = self._planning, self._replanner.told
            self._positions = PositionOutput(self, authority, self._setup, config, lambda: planning.known.scene, told)
        else:
            self.create_subscription(ControllerStatus, "robust_controller/status", self._controller, qos.LATCHED)
        authority.subscribe(ParameterBounds, "interval_identifier/parameter_bounds", self._bounds, qos.LATCHED)
        authority.subscribe(Obstacles, "obstacles", self._scene, qos.LATCHED)
        authority.subscribe(Goal, "signed_goal", lambda m: self._goal(m.joint_names, m.position), _GOALS)
        authority.subscribe(JointState, "goal", lambda m: self._goal(m.name, m.position), _GOALS)
        self.create_timer(LOOK_PERIOD, self._look)
        self.create_timer(self._config.diagnostics_period, self._diagnose)
        self._obstacles.publish(obstacle_markers(self._setup.scene, self._setup.frame))
        self.get_logger().info(f"{self._setup.robot.name}: configuration {self._setup.config_id}")
        self.get_logger().info(self._own_stop)
        self.get_logger().info(self_collision_words(self._setup.robot, self._setup.shapes))

    def release(self) -> None:
        """Ends the planner's thread, after the step in progress."""
        self._worker.stop()

    # -- planning

    def _look(self) -> None:
        """Begins a step where one may be wanted."""
        seen = self._replanner.due()
        if seen is None or self._busy:
            return
        self._listen_to_joints(self._planning.needs_posture(seen))
        self._busy = True
        self._worker.put((seen, self._posture))

    def _step(self, item: tuple[Seen, Array | None]) -> None:
        """On the worker's thread, which nothing may end: the robot comes to rest without plans, but nobody knew why."""
        self._broken = ""
        try:
            planned = self._replanner.step(*item)
            if planned is not None and self.context.ok():
                self._publish(planned)
        except Exception as error:
            self._broken = f"a step broke off: {type(error).__name__}: {error}"
            if self.context.ok():  # what ends with the node is no news
                self.get_logger().error(f"{self._broken}\n{traceback.format_exc()}")
            self._replanner.fail(self._broken)
        if self.context.ok():
            self._say(self._planning)
        self._busy = False

    def _publish(self, planned: Planned) -> None:
        """On the worker's thread."""
        setup, record = self._setup, planned.record
        if self._positions is not None and not self._positions.publish(planned, self._replanner.now()):
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
        if planning.agenda.phase is not self._phase:
            self._phase = planning.agenda.phase
            self.get_logger().info(planning.agenda.phase.value)

    # -- what arrives

    def _controller(self, message: ControllerStatus) -> None:
        self._replanner.told(to_seen(message), nanoseconds(message.header.stamp))

    def _bounds(self, message: ParameterBounds) -> None:
        try:
            if message.status not in list(map(int, CLAIMED)):
                raise ConfigError(message.message or "no bounds are claimed")
            if message.robot != self._setup.robot.name or message.body != self._setup.body:
                raise ConfigError(f"bounds are of '{message.body}' of robot '{message.robot}'")
            self._planning.take_bounds(Bounds(np.array(message.lower), np.array(message.upper)), int(message.window))
        except ConfigError as error:
            if self._planning.known.consistent:
                self.get_logger().error(f"bounds not used, no more plans: {error}")
            self._planning.withdraw_bounds()

    def _scene(self, message: Obstacles) -> None:
        try:
            scene = to_scene(message, (self._setup.frame,))
        except SysidError as error:
            self.get_logger().error(f"obstacles not used, no more plans: {error}")
            self._planning.take_scene(None)
        else:
            self._planning.take_scene(scene)
            self._obstacles.publish(obstacle_markers(scene, self._setup.frame))
            self._replanner.hurry()

    def _goal(self, names: Sequence[str], position: Sequence[float]) -> None:
        columns = self._order.columns(names)
        if columns is None or len(position) != len(names):
            self.get_logger().warning("goal not used: it must name every joint and give its position")
            return
        self._planning.agenda.goals.append(np.array(position)[columns])

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
        columns = self._order.columns(message.name)
        if columns is None or len(message.position) != len(message.name):
            return
        posture = np.array(message.position)[columns]
        self._posture = posture if np.isfinite(posture).all() else None

    def _diagnose(self) -> None:
        planning, positions = self._planning, self._positions
        missing = "no status of a controller" if positions is None else "no joint states"
        status = planner_status(
            f"{self.get_name()}: planning",
            planning,
            deaf=missing if self._replanner.seen is None else "",
            refused=StopReason.NONE if positions is None else positions.reason,
            broken=self._broken,
            values=planner_values(planning, self._replanner.pace.rate)
            | {"robot's own stop": self._own_stop}
            | ({} if positions is None else positions.values()),
            robot=self._setup.robot.name,
        )
        with until_shutdown():
            self._diagnostics.publish(diagnostic_array(self._authority.amend(status), self.get_clock().now()))


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
