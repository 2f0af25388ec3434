# SPDX-License-Identifier: Apache-2.0
"""Lifecycle node that identifies the inertial parameters of a body from joint states.

Topics: in ``joint_states`` (sensor_msgs/JointState), and ``robot_description`` (std_msgs/String) when robot is
``urdf`` and no file is given; out, both latched, ``~/parameter_bounds`` (online_sysid/ParameterBounds) and
``~/markers`` (visualization_msgs/MarkerArray), and ``/diagnostics``. Services: ``~/reset`` (std_srvs/Trigger),
``~/save`` (online_sysid/Save).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from online_sysid.msg import ParameterBounds
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

from sysid_nodes.data.key_file import AuthorityConfig
from sysid_nodes.exceptions import InputError
from sysid_nodes.messages.fill import to_message
from sysid_nodes.reports.interval.body_markers import body_marker_fields
from sysid_nodes.results import IdentificationResult
from sysid_nodes.ros import qos
from sysid_nodes.ros.conversions import to_joint_state, to_seconds
from sysid_nodes.ros.diagnostics import component, report_status
from sysid_nodes.ros.identifying_node import IdentifyingNode
from sysid_nodes.ros.interval.bounds_message import to_parameter_bounds
from sysid_nodes.ros.managed_node import run
from sysid_nodes.ros.parameters import NodeParameters
from sysid_nodes.sessions.interval.health import Monitor
from sysid_nodes.sessions.interval.journal import Journal
from sysid_nodes.sessions.interval.live import LiveInterval
from sysid_nodes.sessions.interval.node_config import IntervalNodeConfig
from sysid_nodes.systems.interval.arm import load_arm
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

NAME = "interval_identifier"


class IntervalIdentifierNode(IdentifyingNode[LiveInterval]):
    """Converts, buffers, lets the session identify, converts back."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NAME, (IntervalIdentifierConfig, IntervalNodeConfig), **kwargs)
        self._monitor = Monitor(
            self.resolve_topic_name("joint_states"), lambda message: to_seconds(message.header.stamp)
        )
        self._description = ""
        self._description_subscription: Any = None

    def _open(self) -> tuple[LiveInterval, str]:
        config = self._settings.build(IntervalIdentifierConfig)
        if not self._has_description(config):
            raise InputError("nothing received yet; configure again", source=self._description_topic)
        text = "" if config.urdf else self._description
        self._journal = Journal(self.get_logger(), self.context.ok)
        arm = load_arm(config, stated=self._settings.stated, urdf_text=text)
        for note in arm.notes:
            self.get_logger().warning(note)
        live = LiveInterval(
            arm.robot,
            arm.config,
            stated=arm.stated,
            capacity=self._settings.build(IntervalNodeConfig).buffer,
            convert=to_joint_state,
            monitor=self._monitor,
            publish=self._publish,
            judged=self._journal.findings,
            complain=self._complain,
        )
        bounds = self.publisher(ParameterBounds, "~/parameter_bounds", qos.LATCHED)
        self._bounds = self._authority.publisher(bounds, self.every)
        self._markers = self.publisher(MarkerArray, "~/markers", qos.LATCHED)
        subject = live.subject
        return live, f"{subject.target} at '{subject.body}' of robot '{subject.robot}' by {subject.method}"

    def _who_commands(self) -> AuthorityConfig:
        return self._settings.build(IntervalNodeConfig).authority

    def _subscribe(self, live: LiveInterval) -> str:
        live.announce()
        config = self._settings.build(IntervalNodeConfig)
        profile = qos.stream(config.reliability, config.queue_depth)
        lost = qos.SubscriptionEventCallbacks(message_lost=lambda event: live.lose(event.total_count_change))
        self._streams.append(
            self.create_subscription(JointState, "joint_states", live.put, profile, event_callbacks=lost)
        )
        return f"identifying '{live.subject.body}' from {self._monitor.topic}"

    def release(self) -> None:
        super().release()
        self._monitor.reset()

    def _ready(self) -> bool:
        return self._has_description(self._settings.build(IntervalIdentifierConfig))

    # -- topics

    @property
    def _description_topic(self) -> str:
        return str(self.resolve_topic_name("robot_description"))

    def _has_description(self, config: IntervalIdentifierConfig) -> bool:
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
            prefix = self._settings.build(IntervalNodeConfig).frame_prefix
            subject = replace(subject, frame=prefix + subject.frame)
            self._bounds.publish(to_parameter_bounds(result, subject, findings))
            self._markers.publish(to_message(MarkerArray, body_marker_fields(result, subject.frame)))
            self._journal.result(result, findings)

    def _status(self, *, active: bool) -> DiagnosticStatus:
        self._journal.overload(self._configured.overflowed)
        return report_status(f"{component(self)}: identification", self._configured.report(active=active))

    # -- parameters and services

    def _reconfigure(self, settings: NodeParameters) -> None:
        self._configured.reconfigure(settings.build(IntervalIdentifierConfig))

    def _write(self, live: LiveInterval, path: str) -> tuple[str, str]:
        from sysid_nodes.reports.interval.files import save_run  # plots: two fifths of the node's start

        run = live.run()
        return str(save_run(path, run)), "; ".join([f"{run.result.status.name} written", *live.findings])


def main(args: list[str] | None = None) -> int:
    """Runs the node; returns the exit status: 0, or 2 with one line on stderr when it cannot start."""
    return run(NAME, IntervalIdentifierNode, args)


if __name__ == "__main__":
    sys.exit(main())
