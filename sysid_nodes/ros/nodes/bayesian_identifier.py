# SPDX-License-Identifier: Apache-2.0
"""Lifecycle node that identifies a robot's links, friction, motors and losses as a posterior, window by window.

Topics: in, any rates: ``joint_states`` (sensor_msgs/JointState, stamped, positions and efforts) and the power meter
that the option ``power`` names (sensor_msgs/BatteryState, stamped, negative current while it gives power; or two,
voltage and current drawn, std_msgs/Float64, which count from when they are heard; empty: none); out, latched,
``~/posterior`` (online_sysid/ParameterPosterior), ``~/friction`` (online_sysid/JointFriction) and, for RViz,
``~/markers`` (visualization_msgs/MarkerArray), and ``/diagnostics``. Services: ``~/reset`` (std_srvs/Trigger),
``~/save`` (online_sysid/Save).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from online_sysid.msg import JointFriction, ParameterPosterior
from sensor_msgs.msg import BatteryState, JointState
from std_msgs.msg import Float64
from visualization_msgs.msg import MarkerArray

from sysid_nodes.logs.power_reader import PowerPair, from_battery_state, power_topics
from sysid_nodes.messages.bayesian.posterior import friction_fields, posterior_fields, status
from sysid_nodes.messages.bayesian.posterior_markers import posterior_marker_fields
from sysid_nodes.messages.fill import to_message
from sysid_nodes.messages.markers import with_prefix
from sysid_nodes.ros import qos
from sysid_nodes.ros.conversions import to_joint_state
from sysid_nodes.ros.managed_node import run
from sysid_nodes.ros.session_node import SessionNode
from sysid_nodes.sessions.bayesian.config import BayesianSessionConfig, bayesian_robot
from sysid_nodes.sessions.bayesian.live import LiveBayesian
from sysid_nodes.sessions.bayesian.node_config import BayesianNodeConfig
from sysid_nodes.sessions.bayesian.online import BayesianUpdate, OnlineBayesian

NAME = "bayesian_identifier"


class BayesianIdentifierNode(SessionNode[LiveBayesian]):
    """Converts, buffers, lets the session identify, converts back."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NAME, (BayesianSessionConfig, BayesianNodeConfig), **kwargs)

    def _open(self) -> tuple[LiveBayesian, str]:
        config = self._settings.build(BayesianSessionConfig)
        self._robot = robot = bayesian_robot(config)
        live = LiveBayesian(
            OnlineBayesian(robot, config),
            capacity=self._settings.build(BayesianNodeConfig).buffer,
            words=status,
            write=_write,
            publish=self._publish,
            complain=self._complain,
        )
        self._posterior = self.publisher(ParameterPosterior, "~/posterior", qos.LATCHED)
        self._friction = self.publisher(JointFriction, "~/friction", qos.LATCHED)
        self._markers = self.publisher(MarkerArray, "~/markers", qos.LATCHED)
        self._prefix = self._settings.build(BayesianNodeConfig).frame_prefix
        return live, f"{robot.n} joints of robot '{robot.name}'"

    def _subscribe(self, live: LiveBayesian) -> str:
        live.announce()
        node = self._settings.build(BayesianNodeConfig)
        profile = qos.stream(node.reliability, node.queue_depth)
        session = live.session
        self._listen(live, JointState, "joint_states", lambda m: session.take(to_joint_state(m)), profile)
        topics, pair = power_topics(session.config.power), PowerPair()

        def take_current(message: Any, stamp: float) -> None:
            if (reading := pair.take_current(stamp, message.data)) is not None:
                session.take_power(*reading)

        if len(topics) == 1:
            self._listen(live, BatteryState, topics[0], lambda m: session.take_power(*from_battery_state(m)), profile)
        elif topics:
            self._listen_unstamped(live, Float64, topics[0], lambda m, _: pair.take_voltage(m.data), profile)
            self._listen_unstamped(live, Float64, topics[1], take_current, profile)
        return self._listening()

    def _publish(self, update: BayesianUpdate) -> None:
        """On the worker's thread."""
        if not self.context.ok():
            return
        fields = posterior_fields(update)
        self._posterior.publish(to_message(ParameterPosterior, fields))
        if (friction := friction_fields(update)) is not None:
            self._friction.publish(to_message(JointFriction, friction))
        markers = with_prefix(posterior_marker_fields(update, self._robot), self._prefix)
        self._markers.publish(to_message(MarkerArray, markers))
        window = f"window {update.window}: " if update.window >= 0 else ""
        self._say(f"{window}{fields['status']}: {update.fault or fields['message']}")


def _write(session: OnlineBayesian, path: str, source: str, spent: float) -> Path:
    # plots: two fifths of the node's start
    from sysid_nodes.reports.bayesian.live import session_run
    from sysid_nodes.reports.bayesian.run import FILES, bayesian_document, write_bayesian_run

    return FILES.save(path, session_run(session, source, spent), bayesian_document, write_bayesian_run)


def main(args: list[str] | None = None) -> int:
    """Runs the node; returns the exit status: 0, or 2 with one line on stderr when it cannot start."""
    return run(NAME, BayesianIdentifierNode, args)


if __name__ == "__main__":
    sys.exit(main())
