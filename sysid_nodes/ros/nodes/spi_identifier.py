# SPDX-License-Identifier: Apache-2.0
"""Identifies base, payload and motors of a walking robot by rollouts, whenever a motion has ended.

Topics, in: ``joint_states`` (sensor_msgs/JointState), the set-points (option ``commands``), ``imu/data`` (option
``imu``; sensor_msgs/Imu) and ``mocap/pose`` (option ``pose``; geometry_msgs/PoseStamped). Out, latched, after every
identification: ``~/inertial_estimate`` (online_sysid/InertialEstimate), ``~/actuator_models``
(online_sysid/ActuatorModels), ``~/posterior`` (online_sysid/SamplingPosterior), which a planner of further motion
rests on, and, for RViz, ``~/markers`` (visualization_msgs/MarkerArray). ``/diagnostics``; services
``~/reset`` and ``~/save``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from online_sysid.msg import ActuatorModels, InertialEstimate, SamplingPosterior
from visualization_msgs.msg import MarkerArray

from sysid_nodes.exceptions import ExcitationError
from sysid_nodes.logs.command_reader import RawSetPoints
from sysid_nodes.messages.fill import to_message
from sysid_nodes.messages.markers import with_prefix
from sysid_nodes.messages.sampling import estimates as plain
from sysid_nodes.messages.sampling.estimate_markers import estimate_marker_fields
from sysid_nodes.ros import qos
from sysid_nodes.ros.actuators.conversions import COMMANDS
from sysid_nodes.ros.conversions import message_type
from sysid_nodes.ros.managed_node import run
from sysid_nodes.ros.session_node import SessionNode
from sysid_nodes.sensors import SOURCES
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig, sampling_robot
from sysid_nodes.sessions.sampling.live import LiveSampling
from sysid_nodes.sessions.sampling.node_config import SamplingNodeConfig
from sysid_nodes.sessions.sampling.online import OnlineSampling, SamplingUpdate

NAME = "spi_identifier"


class SpiIdentifierNode(SessionNode[LiveSampling]):
    """Converts, buffers, lets the session identify, converts back."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NAME, (SamplingSessionConfig, SamplingNodeConfig), **kwargs)

    def _open(self) -> tuple[LiveSampling, str]:
        config = self._settings.build(SamplingSessionConfig)
        self._robot = robot = sampling_robot(config)
        live = LiveSampling(
            OnlineSampling(robot, config),
            capacity=self._settings.build(SamplingNodeConfig).buffer,
            words=plain.status,
            write=_write,
            publish=self._publish,
            complain=self._complain,
        )
        self._inertia = self.publisher(InertialEstimate, "~/inertial_estimate", qos.LATCHED)
        self._models = self.publisher(ActuatorModels, "~/actuator_models", qos.LATCHED)
        self._posterior = self.publisher(SamplingPosterior, "~/posterior", qos.LATCHED)
        self._markers = self.publisher(MarkerArray, "~/markers", qos.LATCHED)
        self._prefix = self._settings.build(SamplingNodeConfig).frame_prefix
        return live, f"robot '{robot.name}', configuration {live.session.config_id}"

    def _subscribe(self, live: LiveSampling) -> str:
        live.announce()
        config, node = self._settings.build(SamplingSessionConfig), self._settings.build(SamplingNodeConfig)
        profile = qos.stream(node.reliability, node.queue_depth)
        topics = {"joints": "joint_states", "imu": config.imu, "pose": config.pose}
        online = live.session

        def readings(read: Any) -> Callable[[Any], SamplingUpdate | None]:
            return lambda message: online.take(read(message))

        for source in SOURCES:
            if source.name in topics:
                kind, read = next(iter(source.types.items()))
                self._listen(live, message_type(kind), topics[source.name], readings(read), profile)
        command, convert = COMMANDS[node.command_type]
        self._listen(live, command, config.commands, lambda message: _take_command(online, convert(message)), profile)
        return self._listening()

    def _publish(self, update: SamplingUpdate) -> None:
        """On the worker's thread."""
        if not self.context.ok():
            return
        self._inertia.publish(to_message(InertialEstimate, plain.inertia_fields(update, self._robot)))
        self._models.publish(to_message(ActuatorModels, plain.models_fields(update, self._robot)))
        self._posterior.publish(to_message(SamplingPosterior, plain.posterior_message_fields(update)))
        markers = with_prefix(estimate_marker_fields(update, self._robot), self._prefix)
        self._markers.publish(to_message(MarkerArray, markers))
        self._say(": ".join(plain.status(update)))


def _take_command(online: OnlineSampling, raw: RawSetPoints) -> SamplingUpdate | None:
    found = None
    for stamp, position in zip(raw.t, raw.q, strict=True):
        found = online.take_set_point(float(stamp), raw.names, position) or found
    return found


def _write(online: OnlineSampling, path: str, source: str, spent: float) -> Path:
    # plots take their time
    from sysid_nodes.reports.sampling.run import FILES, SamplingRun, sampling_document, write_sampling_run

    result = online.update.result
    if result is None:
        raise ExcitationError(plain.status(online.update)[1])
    run = SamplingRun(result, online.robot, source, spent, online.config)
    return FILES.save(path, run, sampling_document, write_sampling_run)


def main(args: list[str] | None = None) -> int:
    """Runs the node; returns the exit status: 0, or 2 with one line on stderr when it cannot start."""
    return run(NAME, SpiIdentifierNode, args)


if __name__ == "__main__":
    sys.exit(main())
