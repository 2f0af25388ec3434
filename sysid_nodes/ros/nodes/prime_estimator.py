"""Lifecycle node that estimates motion, contact forces and torso inertia of a legged robot (PRIME).

Topics, in, SensorData QoS, sensor stamps, any rates, joints by name: ``joint_states`` (sensor_msgs/JointState),
``imu/data`` (sensor_msgs/Imu) and ``mocap/pose`` (geometry_msgs/PoseStamped); with ``low_state`` Unitree's
``/lowstate`` instead of the first two. Out: ``/contact_forces`` (online_sysid/ContactForces), ``/odom``
(nav_msgs/Odometry), ``/joint_states_smoothed`` (sensor_msgs/JointState), ``/contact_markers``
(visualization_msgs/MarkerArray), ``/torso_inertia`` (online_sysid/InertialEstimate, latched), ``/tf`` where tf2_msgs
is installed, and ``/diagnostics``.
Services: ``~/reset`` (std_srvs/Trigger), ``~/save`` (online_sysid/Save).
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from online_sysid.srv import Save
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import Imu, JointState
from std_srvs.srv import Trigger

from sysid_nodes.exceptions import SysidError
from sysid_nodes.reports.motion_config import MotionConfig
from sysid_nodes.reports.motion_horizon import make_horizon
from sysid_nodes.reports.motion_session import MotionSession, motion_robot
from sysid_nodes.reports.motion_trust import MotionJudgement
from sysid_nodes.reports.motion_update import MotionUpdate
from sysid_nodes.robots import Robot
from sysid_nodes.ros import qos, unitree_messages
from sysid_nodes.ros.conversions import to_seconds
from sysid_nodes.ros.diagnostics import diagnostic_array
from sysid_nodes.ros.lifecycle import logged
from sysid_nodes.ros.live_motion import Convert, LiveMotion
from sysid_nodes.ros.motion_publishers import MotionPublishers
from sysid_nodes.ros.parameters import NodeParameters
from sysid_nodes.ros.prime_node_config import PrimeNodeConfig
from sysid_nodes.ros.sensor_messages import Feed, from_imu, from_joint_state, from_pose
from sysid_nodes.ros.spinning import run_node, spin, until_shutdown
from sysid_nodes.ros.unitree_messages import from_low_state, low_state_type
from sysid_nodes.signals.tick_clock import TickClock

NAME = "prime_estimator"

_AUTOSTART_PERIOD = 0.1  # [s]
_LOOK_PERIOD = 0.1  # [s]


class PrimeEstimatorNode(LifecycleNode):
    """Converts, buffers, lets the session estimate, converts back.

    Attributes:
        failed: the node could not start by itself; the log says why.

    Raises:
        ConfigError: a parameter is unknown, of a wrong type or out of range.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NAME, **kwargs)
        self.failed = False
        self._live: LiveMotion | None = None
        self._taken = ExitStack()
        self._streams: list[Any] = []
        self._settings = NodeParameters(
            self, (MotionConfig, PrimeNodeConfig), running=lambda: self._live is not None, apply=lambda _: None
        )
        if self._settings.build(PrimeNodeConfig).autostart:
            # Not by simulated time, which may not have begun.
            clock = Clock(clock_type=ClockType.STEADY_TIME)
            self._start_timer = self.create_timer(_AUTOSTART_PERIOD, self._autostart, clock=clock)

    # -- lifecycle

    @logged
    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        config, node_config = self._settings.build(MotionConfig), self._settings.build(PrimeNodeConfig)
        try:
            self._robot = robot = motion_robot(config)
            self._low_state = low_state_type(robot) if node_config.low_state else None
            session = MotionSession(robot, config, lambda: make_horizon(robot, config))
        except SysidError as error:
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        self._outputs = MotionPublishers(
            self,
            robot,
            config.estimator.contact.normal,
            marker_period=node_config.marker_period,
            inertia_period=node_config.inertia_period,
            tf=node_config.tf,
        )
        self._taken.callback(self._outputs.destroy)
        self._live = LiveMotion(
            session,
            capacity=node_config.buffer,
            publish=self._publish,
            judged=self._journal,
            complain=self._complain,
        )
        self._taken.callback(self._live.stop)  # before the publishers go, which its thread uses
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self._taken.callback(self.destroy_publisher, self._diagnostics)
        for kind, name, serve in ((Trigger, "~/reset", self._reset), (Save, "~/save", self._save)):
            self._taken.callback(self.destroy_service, self.create_service(kind, name, serve))
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        for timer in (
            self.create_timer(node_config.diagnostics_period, self._report),
            self.create_timer(_LOOK_PERIOD, self._look, clock=steady),
        ):
            self._taken.callback(self.destroy_timer, timer)
        self._say(f"configured: robot '{robot.name}', {len(robot.contacts)} contact points")
        return super().on_configure(state)

    @logged
    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        done = super().on_activate(state)
        profile = qos.stream("best_effort", self._settings.build(PrimeNodeConfig).queue_depth)
        self._listen(PoseStamped, "mocap/pose", lambda message, _: from_pose(message), profile)
        if self._low_state is not None:
            self._listen(self._low_state, unitree_messages.TOPIC, _low_state_reader(self._robot), profile)
        else:
            self._listen(JointState, "joint_states", lambda message, _: from_joint_state(message), profile)
            self._listen(Imu, "imu/data", lambda message, _: from_imu(message), profile)
        self._say("active: listening to " + ", ".join(stream.topic_name for stream in self._streams))
        return done

    @logged
    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._unsubscribe()
        self._say("inactive: no longer listening; what was found is kept")
        return super().on_deactivate(state)

    @logged
    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        self.release()
        self._say("cleaned up: what was found is gone")
        return super().on_cleanup(state)

    @logged
    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        self.release()
        self._say("shut down")
        return super().on_shutdown(state)

    @logged
    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        self.release()
        return super().on_error(state)

    def release(self) -> None:
        """Gives back all that configure and activate took; harmless when they took nothing."""
        self._unsubscribe()
        self._taken.close()
        self._live = None

    @property
    def _configured(self) -> LiveMotion:
        if self._live is None:  # a call that was under way when the node was cleaned up
            raise SysidError("not configured")
        return self._live

    def _listen(self, kind: Any, topic: str, convert: Convert, profile: Any) -> None:
        live, clock, name = self._configured, self.get_clock(), str(self.resolve_topic_name(topic))

        def heard(message: Any) -> None:
            live.put(name, convert, message, to_seconds(clock.now().to_msg()))

        self._streams.append(self.create_subscription(kind, topic, heard, profile))

    def _unsubscribe(self) -> None:
        for stream in self._streams:
            self.destroy_subscription(stream)
        self._streams.clear()
        if self._live is not None:
            self._live.clear()

    def _autostart(self) -> None:
        self.destroy_timer(self._start_timer)
        success = TransitionCallbackReturn.SUCCESS
        with until_shutdown():
            self.failed = self.trigger_configure() != success or self.trigger_activate() != success
        self.failed &= self.context.ok()

    # -- topics

    def _publish(self, update: MotionUpdate) -> None:
        """On the worker's thread."""
        if self.context.ok():
            with until_shutdown():
                self._outputs.publish(update)

    def _journal(self, before: MotionJudgement, now: MotionJudgement) -> None:
        """On the worker's thread: a change of status is an event."""
        if self.context.ok():
            line = f"{before.status.name} -> {now.status.name}: {now.sentence}"
            if now.status.trusted:  # rclpy wants a line of code for each severity
                self.get_logger().info(line)
            else:
                self.get_logger().warning(line)

    def _complain(self, fault: str) -> None:
        """On the worker's thread."""
        if self.context.ok():
            self.get_logger().error(f"message not used: {fault}")

    def _look(self) -> None:
        if self._streams:
            self._configured.look()

    def _report(self) -> None:
        if self._live is None:  # the timer had fired when the node was cleaned up
            return
        status = self._live.status(self.get_name(), active=bool(self._streams))
        with until_shutdown():
            self._diagnostics.publish(diagnostic_array(status, self.get_clock().now()))

    # -- services

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            self._configured.reset()
        except SysidError as error:
            response.success, response.message = False, str(error)
        else:
            response.success, response.message = True, "started over from the prior"
        self._say(f"reset: {response.message}")
        return response

    def _save(self, request: Save.Request, response: Save.Response) -> Save.Response:
        try:
            path, said = self._configured.save(request.path)
        except (SysidError, OSError, ValueError) as error:
            response.success, response.message = False, str(error)
        else:
            response.success, response.message, response.path = True, said, str(path)
        self._say(f"save: {response.path or response.message}")
        return response

    def _say(self, line: str) -> None:
        if self.context.ok():  # after a shutdown rclpy's log complains about itself
            self.get_logger().info(line)


def _low_state_reader(robot: Robot) -> Convert:
    clock = TickClock()

    def convert(message: Any, arrival: float) -> Feed:
        return from_low_state(message, robot, clock, arrival).feed

    return convert


def main(args: list[str] | None = None) -> int:
    """Runs the node; returns the exit status: 0, or 2 with one line on stderr when it cannot start."""
    return run_node(
        NAME,
        PrimeEstimatorNode,
        lambda node: spin(node, lambda: node.failed),
        args,
        failed=lambda node: node.failed,
        release=PrimeEstimatorNode.release,
    )


if __name__ == "__main__":
    sys.exit(main())
