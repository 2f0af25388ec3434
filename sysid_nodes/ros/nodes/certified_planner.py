# SPDX-License-Identifier: Apache-2.0
"""Lifecycle node that plans trajectories proven safe for every model in the bounds, one while the other is executed.

Topics, in: ``robust_controller/status`` (online_sysid/ControllerStatus, latched),
``interval_identifier/parameter_bounds`` (online_sysid/ParameterBounds, latched), ``obstacles`` (online_sysid/Obstacles,
latched or not), ``goal`` (sensor_msgs/JointState: a posture to go to after those asked for before; ``signed_goal``,
online_sysid/Goal, where only who holds a key is obeyed: ros/authority.py) and, only while the robot
rests without a trajectory, ``joint_states``. Action: ``~/go_to`` (online_sysid/GoTo), a goal whose end is told. Out:
``certified_trajectory`` (online_sysid/CertifiedTrajectory), ``~/markers`` and ``~/obstacle_markers``
(visualization_msgs/MarkerArray, latched) and ``/diagnostics``.

With ``certified_planner.output: position`` a position controller takes the place of the robust controller: see
ros/certified/position_output.py.

Planning has a thread of its own; the node's converts and passes on.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from online_sysid.msg import CertifiedTrajectory, ControllerStatus, Goal, Obstacles, ParameterBounds
from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.data.key_file import AuthorityConfig
from sysid_nodes.exceptions import ConfigError, SysidError
from sysid_nodes.models.self_collision import self_collision_words
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.robots.robot import Array
from sysid_nodes.ros import qos
from sysid_nodes.ros.certified.controller_conversions import nanoseconds, to_seen
from sysid_nodes.ros.certified.position_output import PositionOutput, position_setup
from sysid_nodes.ros.certified.posture_action import PostureAction
from sysid_nodes.ros.certified.scene_markers import margin_lines, obstacle_markers, plan_markers
from sysid_nodes.ros.certified.scene_messages import to_scene
from sysid_nodes.ros.certified.trajectory_messages import to_trajectory
from sysid_nodes.ros.diagnostics import component, report_status
from sysid_nodes.ros.frames import FrameLookup
from sysid_nodes.ros.managed_node import ManagedNode, run
from sysid_nodes.sessions.certified.config import CertifiedPlannerConfig, set_up
from sysid_nodes.sessions.certified.live import LivePlanning
from sysid_nodes.sessions.certified.motion_planner import build_planner
from sysid_nodes.sessions.certified.planning import Planning
from sysid_nodes.sessions.certified.replanner import LOOK_PERIOD, Replanner
from sysid_nodes.sessions.certified.settings import ESTIMATES
from sysid_nodes.sessions.certified.state import Planned
from sysid_nodes.sessions.live_session import Level
from sysid_nodes.systems.certified.certificate.own_stop import own_stop_words
from sysid_nodes.systems.certified.control.in_force import accepted_statuses

NAME = "certified_planner"

_FAR = 1e12  # later than any deadline [s]
_GOALS = qos.stream("reliable", 10)


class CertifiedPlannerNode(ManagedNode):
    """Converts, lets the planning step, converts back.

    Raises:
        SysidError: a parameter is wrong.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NAME, (CertifiedPlannerConfig,), period=f"{NAME}.diagnostics_period", **kwargs)
        self._postures = PostureAction(self, self._authority)

    def _who_commands(self) -> AuthorityConfig:
        return self._settings.build(CertifiedPlannerConfig).authority

    def _make(self) -> str:
        config = self._settings.build(CertifiedPlannerConfig)
        self._config = config.certified_planner
        self._setup = setup = set_up(config)
        if self._config.output == "position":
            self._setup = setup = position_setup(setup, config)
        self._ending = False
        planner = build_planner(setup, config, self._now)
        self._planning = Planning(planner, setup, config, self._now)
        self._replanner = Replanner(self._planning, self._config.retry, self._now)
        self._order = JointOrder(setup.robot.joint_names)
        self._posture: Array | None = None
        self._joint_states: Any = None
        self._own_stop = own_stop_words(config.certifier, setup.robot.n)
        self._accepted = accepted_statuses(config.estimates)
        if config.estimates:
            self.get_logger().warning(ESTIMATES)
        self._frames = FrameLookup(self)
        self._taken.callback(self._frames.destroy)
        trajectories = self.publisher(CertifiedTrajectory, "certified_trajectory", qos.latched(10))
        self._trajectories = self._authority.publisher(trajectories, once=True)
        self._markers = self.publisher(MarkerArray, "~/markers", qos.LATCHED)
        self._obstacles = self.publisher(MarkerArray, "~/obstacle_markers", qos.LATCHED)
        self._positions: PositionOutput | None = None
        if self._config.output == "position":
            known, told = self._planning, self._replanner.take_status
            self._positions = PositionOutput(self, self._authority, setup, config, lambda: known.known.scene, told)
        self._postures.begin(self._planning.agenda, self._order, self._progress)
        self._taken.callback(self._postures.end)
        self.every(LOOK_PERIOD, self._look)
        self._live = LivePlanning(
            self._planning, self._replanner, publish=self._publish, journal=self._journal, is_wanted=self.context.ok
        )
        self._taken.callback(self._halt)  # before the publishers go, which its thread uses
        self._obstacles.publish(obstacle_markers(setup.scene, setup.frame))
        self._say(self._own_stop)
        self._say(self_collision_words(setup.robot, setup.shapes))
        return f"{setup.robot.name}, configuration {setup.config_id}"

    def _begin(self) -> str:
        authority, streams = self._authority, self._streams
        if self._positions is not None:
            streams += self._positions.listen()
        else:
            streams.append(
                self.create_subscription(ControllerStatus, "robust_controller/status", self._controller, qos.LATCHED)
            )
        bounds = "interval_identifier/parameter_bounds"
        streams.append(authority.subscribe(ParameterBounds, bounds, self._bounds, qos.LATCHED))
        streams += authority.subscribe_latest(Obstacles, "obstacles", self._scene)
        streams.append(
            authority.subscribe(Goal, "signed_goal", lambda m: self._goal(m.joint_names, m.position), _GOALS)
        )
        streams.append(authority.subscribe(JointState, "goal", lambda m: self._goal(m.name, m.position), _GOALS))
        return f"planning for {streams[0].topic_name}"

    def _hold_reason(self) -> str:
        """A position controller follows what it was sent, and nobody else watches that."""
        moving = self._positions is not None and self._positions.moving
        return super()._hold_reason() or ("the robot executes a trajectory; wait for its end" if moving else "")

    def _unsubscribe(self) -> None:
        super()._unsubscribe()
        if self._made:
            self._listen_to_joints(False)
            self._replanner.seen = None

    # -- planning

    def _now(self) -> float:
        """The planner's clock [s]; once the node ends all deadlines have passed, which cuts a step short."""
        return _FAR if self._ending else time.perf_counter()

    def _halt(self) -> None:
        self._ending = True
        self._live.stop()

    def _look(self) -> None:
        """Begins a step where one may be wanted."""
        self._postures.report()
        if (seen := self._live.due()) is not None:
            self._listen_to_joints(self._planning.needs_posture(seen))
            self._live.begin(seen, self._posture)

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

    def _journal(self, level: Level, line: str) -> None:
        """On the worker's thread."""
        log = self.get_logger()
        # A line of code each: rclpy raises where one logs with another severity than before.
        if level is Level.ERROR:
            log.error(line)
        elif level is Level.WARN:
            log.warning(line)
        else:
            log.info(line)

    # -- what arrives

    def _controller(self, message: ControllerStatus) -> None:
        self._replanner.take_status(to_seen(message), nanoseconds(message.header.stamp))

    def _bounds(self, message: ParameterBounds) -> None:
        try:
            if message.status not in list(map(int, self._accepted)):
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
            scene = to_scene(message, self._setup.frame, self._frames)
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

    def _progress(self) -> tuple[str, str]:
        """The purpose of plans now, and the trajectory in execution."""
        seen = self._replanner.seen
        return self._planning.agenda.phase.value, "" if seen is None else seen.trajectory_id

    def _status(self, *, active: bool) -> DiagnosticStatus:
        positions = self._positions
        missing = "no status of a controller" if positions is None else "no joint states"
        report = self._live.report(
            active=active,
            deaf=missing if self._replanner.seen is None else "",
            refused=StopReason.NONE if positions is None else positions.reason,
            robot=self._setup.robot.name,
            further={"robot's own stop": self._own_stop, **({} if positions is None else positions.values())},
        )
        return report_status(f"{component(self)}: planning", report)


def main(args: list[str] | None = None) -> int:
    """Runs the node; returns the exit status: 0, or 2 with one line on stderr when it cannot start."""
    return run(NAME, CertifiedPlannerNode, args)


if __name__ == "__main__":
    sys.exit(main())
