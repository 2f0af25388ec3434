# SPDX-License-Identifier: Apache-2.0
"""Lifecycle node that identifies a robot's actuators from what their drives are told and what the encoders read.

Topics: in, stamped, any rates, joints by name: ``joint_states`` (sensor_msgs/JointState, positions) and the topic that
the option ``commands`` names (sensor_msgs/JointState set-points, or trajectory_msgs/JointTrajectory where
``command_type`` is ``trajectory``; with ``low_cmd`` Unitree's LowCmd there and its LowState, unstamped, on
``lowstate``); out, latched, ``~/actuator_models`` (online_sysid/ActuatorModels) and, for RViz, ``~/markers``
(visualization_msgs/MarkerArray), and ``/diagnostics``. Services: ``~/reset`` (std_srvs/Trigger), ``~/save``
(online_sysid/Save).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from online_sysid.msg import ActuatorModels
from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray

from sysid_nodes.messages.actuators.drive_markers import drive_marker_fields
from sysid_nodes.messages.actuators.models import models_fields, status
from sysid_nodes.messages.fill import to_message
from sysid_nodes.messages.markers import with_prefix
from sysid_nodes.messages.unitree.low_state import TOPIC as LOW_STATE
from sysid_nodes.messages.unitree.low_state import low_type
from sysid_nodes.ros import qos
from sysid_nodes.ros.actuators.conversions import COMMANDS, low_command_taker, low_state_taker
from sysid_nodes.ros.conversions import to_joint_state
from sysid_nodes.ros.managed_node import run
from sysid_nodes.ros.session_node import SessionNode
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig, actuator_robot
from sysid_nodes.sessions.actuators.live import LiveActuators
from sysid_nodes.sessions.actuators.node_config import LOW_CMD, ActuatorNodeConfig
from sysid_nodes.sessions.actuators.session import ActuatorSession, ActuatorUpdate

NAME = "actuator_identifier"


class ActuatorIdentifierNode(SessionNode[LiveActuators]):
    """Converts, buffers, lets the session identify, converts back."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NAME, (ActuatorSessionConfig, ActuatorNodeConfig), **kwargs)

    def _open(self) -> tuple[LiveActuators, str]:
        config = self._settings.build(ActuatorSessionConfig)
        self._robot = robot = actuator_robot(config)
        node_config = self._settings.build(ActuatorNodeConfig)
        self._prefix = node_config.frame_prefix
        self._low = node_config.command_type == LOW_CMD
        self._low_types = [low_type(config.robot, name) for name in ("LowCmd", "LowState")] if self._low else []
        session = ActuatorSession(robot, config, gains_told=self._low)
        self._told = ""
        live = LiveActuators(
            session,
            capacity=node_config.buffer,
            words=status,
            write=_write,
            publish=self._publish,
            complain=self._complain,
        )
        self._models = self.publisher(ActuatorModels, "~/actuator_models", qos.LATCHED)
        self._markers = self.publisher(MarkerArray, "~/markers", qos.LATCHED)
        return live, f"{robot.n} joints of robot '{robot.name}'"

    def _subscribe(self, live: LiveActuators) -> str:
        live.announce()
        config = self._settings.build(ActuatorNodeConfig)
        profile = qos.stream(config.reliability, config.queue_depth)
        session = live.session
        topic = self._settings.build(ActuatorSessionConfig).commands
        if self._low:
            command, state = self._low_types
            self._listen_unstamped(live, command, topic, low_command_taker(session), profile)
            self._listen_unstamped(live, state, LOW_STATE, low_state_taker(session), profile)
            return self._listening()
        kind, convert = COMMANDS[config.command_type]
        self._listen(live, kind, topic, lambda message: session.take_command(convert(message)), profile)
        self._listen(
            live, JointState, "joint_states", lambda message: session.take_state(to_joint_state(message)), profile
        )
        return self._listening()

    def _publish(self, update: ActuatorUpdate) -> None:
        """On the worker's thread."""
        if not self.context.ok():
            return
        self._models.publish(to_message(ActuatorModels, models_fields(update)))
        markers = with_prefix(drive_marker_fields(update, self._robot), self._prefix)
        self._markers.publish(to_message(MarkerArray, markers))
        name, sentence = status(update)
        if name != self._told:
            self._say(f"{name}: {sentence}")
        self._told = name
        if update.alarmed:
            self._warn(update.state.alarms[-1].sentence)


def _write(session: ActuatorSession, path: str, source: str, spent: float) -> Path:
    # plots: two fifths of the node's start
    from sysid_nodes.reports.actuators.live import session_run
    from sysid_nodes.reports.actuators.run import FILES, actuator_document, write_actuator_run

    return FILES.save(path, session_run(session, source, spent), actuator_document, write_actuator_run)


def main(args: list[str] | None = None) -> int:
    """Runs the node; returns the exit status: 0, or 2 with one line on stderr when it cannot start."""
    return run(NAME, ActuatorIdentifierNode, args)


if __name__ == "__main__":
    sys.exit(main())
