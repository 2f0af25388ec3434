"""Lifecycle node that identifies the inertial parameters of a body from joint states.

Topics: in ``joint_states`` (sensor_msgs/JointState), and ``robot_description`` (std_msgs/String) when robot is
``urdf`` and no file is given; out, both latched, ``~/parameter_bounds`` (online_sysid/ParameterBounds) and
``~/markers`` (visualization_msgs/MarkerArray), and ``/diagnostics``. Services: ``~/reset`` (std_srvs/Trigger),
``~/save`` (online_sysid/Save).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from online_sysid.msg import ParameterBounds
from online_sysid.srv import Save
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from sysid_nodes.exceptions import InputError, SysidError
from sysid_nodes.identifiers.config import IntervalIdentifierConfig
from sysid_nodes.reports.run_files import save_run
from sysid_nodes.results import IdentificationResult
from sysid_nodes.robots import load_robot
from sysid_nodes.ros import qos
from sysid_nodes.ros.conversions import to_parameter_bounds
from sysid_nodes.ros.diagnostics import Monitor, diagnostic_array
from sysid_nodes.ros.journal import Journal
from sysid_nodes.ros.lifecycle import logged
from sysid_nodes.ros.live import LiveSession
from sysid_nodes.ros.markers import marker_array
from sysid_nodes.ros.parameters import NodeParameters
from sysid_nodes.ros.settings import NodeConfig
from sysid_nodes.ros.spinning import run_node, spin, until_shutdown

NAME = "interval_identifier"

_AUTOSTART_PERIOD = 0.1  # [s]


class IntervalIdentifierNode(LifecycleNode):
    """Converts, buffers, lets the session identify, converts back.

    Attributes:
        failed: the node could not start by itself; the log says why.

    Raises:
        ConfigError: a parameter is unknown, of a wrong type or out of range.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NAME, **kwargs)
        self.failed = False
        self._live: LiveSession | None = None
        self._taken = ExitStack()
        self._settings = NodeParameters(
            self,
            (IntervalIdentifierConfig, NodeConfig),
            running=lambda: self._live is not None,
            apply=self._reconfigure,
        )
        self._monitor = Monitor(self.get_name(), self.resolve_topic_name("joint_states"))
        self._description = ""
        self._description_subscription: Any = None
        self._stream: Any = None
        if self._settings.build(NodeConfig).autostart:
            # Not by simulated time, which may not have begun.
            clock = Clock(clock_type=ClockType.STEADY_TIME)
            self._start_timer = self.create_timer(_AUTOSTART_PERIOD, self._autostart, clock=clock)

    # -- lifecycle

    @logged
    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        config = self._settings.build(IntervalIdentifierConfig)
        node_config = self._settings.build(NodeConfig)
        try:
            self._live = self._make_live(config, node_config)
        except SysidError as error:
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        # Not lifecycle publishers: a reset while inactive has to replace the latched bounds, or who joins later would
        # hear what no longer holds. Nothing else is published then, for no data come in.
        self._bounds = self.create_publisher(ParameterBounds, "~/parameter_bounds", qos.LATCHED)
        self._markers = self.create_publisher(MarkerArray, "~/markers", qos.LATCHED)
        for publisher in (self._bounds, self._markers):
            self._taken.callback(self.destroy_publisher, publisher)
        self._taken.callback(self._live.stop)  # before the publishers go, which its thread uses
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self._taken.callback(self.destroy_publisher, self._diagnostics)
        for kind, name, serve in ((Trigger, "~/reset", self._reset), (Save, "~/save", self._save)):
            self._taken.callback(self.destroy_service, self.create_service(kind, name, serve))
        timer = self.create_timer(node_config.diagnostics_period, self._report)
        self._taken.callback(self.destroy_timer, timer)
        subject = self._live.subject
        self._say(f"configured: {subject.target} at '{subject.body}' of robot '{subject.robot}' by {subject.method}")
        return super().on_configure(state)

    @logged
    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        done = super().on_activate(state)
        live = self._configured
        live.announce()
        config = self._settings.build(NodeConfig)
        self._stream = self.create_subscription(
            JointState, "joint_states", live.put, qos.stream(config.reliability, config.queue_depth)
        )
        self._say(f"active: identifying '{live.subject.body}' from {self._monitor.topic}")
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
        self._monitor.reset()

    @property
    def _configured(self) -> LiveSession:
        if self._live is None:  # a call that was under way when the node was cleaned up
            raise SysidError("not configured")
        return self._live

    def _make_live(self, config: IntervalIdentifierConfig, node_config: NodeConfig) -> LiveSession:
        if not self._described(config):
            raise InputError("nothing received yet; configure again", source=self._description_topic)
        text = "" if config.urdf else self._description
        self._journal = Journal(self.get_logger(), self.context.ok)
        return LiveSession(
            load_robot(config.robot, variant=config.variant, urdf=config.urdf, urdf_text=text),
            config,
            capacity=node_config.buffer,
            monitor=self._monitor,
            publish=self._publish,
            judged=self._journal.findings,
            complain=self._complain,
        )

    def _unsubscribe(self) -> None:
        if self._stream is not None:
            self.destroy_subscription(self._stream)
            self._stream = None
        if self._live is not None:
            self._live.clear()

    def _autostart(self) -> None:
        if not self._described(self._settings.build(IntervalIdentifierConfig)):
            return
        self.destroy_timer(self._start_timer)
        success = TransitionCallbackReturn.SUCCESS
        with until_shutdown():
            self.failed = self.trigger_configure() != success or self.trigger_activate() != success
        self.failed &= self.context.ok()

    # -- topics

    @property
    def _description_topic(self) -> str:
        return str(self.resolve_topic_name("robot_description"))

    def _described(self, config: IntervalIdentifierConfig) -> bool:
        """Whether the robot is known or its description is here; listens for it otherwise."""
        if config.robot != "urdf" or config.urdf:
            self._description = ""
            return True
        if self._description_subscription is None:
            self._description_subscription = self.create_subscription(
                String, "robot_description", self._describe, qos.LATCHED
            )
            self.get_logger().info(f"waiting for {self._description_topic}")
        return bool(self._description)

    def _describe(self, message: String) -> None:
        self._description = message.data

    def _publish(self, result: IdentificationResult, findings: Sequence[str]) -> None:
        """On the worker's thread."""
        if self.context.ok():
            subject = self._configured.subject
            self._bounds.publish(to_parameter_bounds(result, subject, findings))
            self._markers.publish(marker_array(result, subject.frame))
            self._journal.result(result, findings)

    def _complain(self, fault: str) -> None:
        """On the worker's thread."""
        self.get_logger().error(f"message not used: {fault}")

    def _report(self) -> None:
        if self._live is None:  # the timer had fired when the node was cleaned up
            return
        status = self._live.status(active=self._stream is not None)
        self._journal.overload(self._live.overflowed)
        with until_shutdown():
            self._diagnostics.publish(diagnostic_array(status, self.get_clock().now()))

    # -- parameters and services

    def _reconfigure(self, settings: NodeParameters) -> None:
        self._configured.reconfigure(settings.build(IntervalIdentifierConfig))

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            self._configured.reset()
        except SysidError as error:
            response.success, response.message = False, str(error)
            self._warn(f"not reset: {error}")
        else:
            response.success, response.message = True, "started over from the prior"
            self._say(f"reset: {response.message}")
        return response

    def _save(self, request: Save.Request, response: Save.Response) -> Save.Response:
        try:
            run = self._configured.run()
            path = str(save_run(request.path, run))
        except (SysidError, OSError, ValueError) as error:
            response.success, response.message = False, str(error)
            self._warn(f"not saved: {error}")
        else:
            response.success, response.path = True, path
            response.message = "; ".join([f"{run.result.status.name} written", *self._configured.findings])
            self._say(f"saved: {path} ({run.result.status.name})")
        return response

    # -- log; after a shutdown rclpy's complains about itself

    def _say(self, line: str) -> None:
        if self.context.ok():
            self.get_logger().info(line)

    def _warn(self, line: str) -> None:
        if self.context.ok():
            self.get_logger().warning(line)


def main(args: list[str] | None = None) -> int:
    """Runs the node; returns the exit status: 0, or 2 with one line on stderr when it cannot start."""
    return run_node(
        NAME,
        IntervalIdentifierNode,
        lambda node: spin(node, lambda: node.failed),
        args,
        failed=lambda node: node.failed,
        release=IntervalIdentifierNode.release,
    )


if __name__ == "__main__":
    sys.exit(main())
