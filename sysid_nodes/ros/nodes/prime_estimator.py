# SPDX-License-Identifier: Apache-2.0
"""Lifecycle node that estimates motion, contact forces and torso inertia of a legged robot (PRIME).

Topics, in, SensorData QoS, sensor stamps, any rates, joints by name: ``joint_states`` (sensor_msgs/JointState),
``imu/data`` (sensor_msgs/Imu) and ``mocap/pose`` (geometry_msgs/PoseStamped); with ``low_state`` Unitree's
``/lowstate`` instead of the first two. ``velocity`` (nav_msgs/Odometry or geometry_msgs/TwistStamped) where
``prime.sensors.base_velocity`` is enabled. Out: ``/contact_forces`` (online_sysid/ContactForces), ``/odom``
(nav_msgs/Odometry), ``/joint_states_smoothed`` (sensor_msgs/JointState), ``/contact_markers``
(visualization_msgs/MarkerArray), ``/torso_inertia`` (online_sysid/InertialEstimate, latched), ``/base_wrench`` and
``/base_wrench_sigma`` (geometry_msgs/WrenchStamped) where ``prime.process`` asks for a force from outside, ``/tf``
where tf2_msgs is installed, and ``/diagnostics``.
Services: ``~/reset`` (std_srvs/Trigger), ``~/save`` (online_sysid/Save).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.clock import Clock, ClockType

from sysid_nodes.data.readings import Readings
from sysid_nodes.logs.messages import standard_decoder
from sysid_nodes.messages.unitree import low_state as unitree_messages
from sysid_nodes.messages.unitree.low_state import low_state_type
from sysid_nodes.messages.unitree.low_state_reader import LowStateReader
from sysid_nodes.ros import qos
from sysid_nodes.ros.conversions import message_type, to_seconds
from sysid_nodes.ros.diagnostics import component, report_status
from sysid_nodes.ros.identifying_node import IdentifyingNode
from sysid_nodes.ros.managed_node import run
from sysid_nodes.ros.prime.publishers import PrimePublishers
from sysid_nodes.ros.spinning import until_shutdown
from sysid_nodes.sensors import sources
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.sessions.prime.horizon import make_horizon
from sysid_nodes.sessions.prime.live import LivePrime
from sysid_nodes.sessions.prime.node_config import PrimeNodeConfig
from sysid_nodes.sessions.prime.session import PrimeSession, prime_robot
from sysid_nodes.sessions.prime.trust import PrimeJudgement
from sysid_nodes.sessions.prime.update import PrimeUpdate

NAME = "prime_estimator"

_LOOK_PERIOD = 0.1  # [s]
_IN_LOW_STATE = ("joints", "imu")
_TYPES = {("velocity", "twist"): "geometry_msgs/msg/TwistStamped"}
"""Types of messages, where a source has several and the first is not what an option says."""


class PrimeEstimatorNode(IdentifyingNode[LivePrime]):
    """Converts, buffers, lets the session estimate, converts back."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NAME, (PrimeSessionConfig, PrimeNodeConfig), **kwargs)

    def _open(self) -> tuple[LivePrime, str]:
        config, node_config = self._settings.build(PrimeSessionConfig), self._settings.build(PrimeNodeConfig)
        self._robot = robot = prime_robot(config)
        self._low_state = low_state_type(robot) if node_config.low_state else None
        session = PrimeSession(robot, config, lambda: make_horizon(robot, config))
        self._outputs = PrimePublishers(
            self,
            robot,
            config.prime.contact.normal,
            marker_period=node_config.marker_period,
            inertia_period=node_config.inertia_period,
            tf=node_config.tf,
            outside=config.prime.process.asks_outside,
        )
        self._taken.callback(self._outputs.destroy)
        live = LivePrime(
            session,
            capacity=node_config.buffer,
            write=_save,
            publish=self._publish,
            judged=self._journal,
            complain=self._complain,
        )
        self.every(_LOOK_PERIOD, self._look, Clock(clock_type=ClockType.STEADY_TIME))
        return live, f"robot '{robot.name}', {len(robot.contacts)} contact points"

    def _subscribe(self, live: LivePrime) -> str:
        node_config = self._settings.build(PrimeNodeConfig)
        profile = qos.stream("best_effort", node_config.queue_depth)
        for source in sources(self._settings.build(PrimeSessionConfig).prime.sensors):
            if self._low_state is None or source.name not in _IN_LOW_STATE:
                kind = _TYPES.get((source.name, node_config.velocity_type), next(iter(source.types)))
                self._listen(live, kind, source.topic, source.types[kind], profile)
        if self._low_state is not None:
            self._listen_to_low_state(live, self._low_state, profile)
        return "listening to " + ", ".join(stream.topic_name for stream in self._streams)

    def _listen(self, live: LivePrime, kind: str, topic: str, read: Callable[[Any], Readings], profile: Any) -> None:
        """Decoding is left to the worker's thread: rclpy's costs three times as much, and holds up what comes next."""
        decode, name = standard_decoder(kind), str(self.resolve_topic_name(topic))

        def convert(data: bytes) -> tuple[Readings]:
            return (read(decode(data)),)

        def hear(data: bytes) -> None:
            live.put(name, convert, data)

        self._streams.append(self.create_subscription(message_type(kind), topic, hear, profile, raw=True))

    def _listen_to_low_state(self, live: LivePrime, kind: Any, profile: Any) -> None:
        topic, clock = unitree_messages.TOPIC, self.get_clock()
        name, read = str(self.resolve_topic_name(topic)), LowStateReader(self._robot)

        def convert(pair: tuple[Any, float]) -> tuple[Readings, Readings]:
            return read(*pair).readings()

        def hear(message: Any) -> None:
            live.put(name, convert, (message, to_seconds(clock.now().to_msg())))

        self._streams.append(self.create_subscription(kind, topic, hear, profile))

    # -- topics

    def _publish(self, update: PrimeUpdate) -> None:
        """On the worker's thread."""
        if self.context.ok():
            with until_shutdown():
                self._outputs.publish(update)

    def _journal(self, before: PrimeJudgement, now: PrimeJudgement) -> None:
        """On the worker's thread: a change of status is an event."""
        line = f"{before.status.name} -> {now.status.name}: {now.sentence}"
        if now.status.trusted:
            self._say(line)
        else:
            self._warn(line)

    def _look(self) -> None:
        if self._streams:
            self._configured.look()

    def _status(self, *, active: bool) -> DiagnosticStatus:
        return report_status(f"{component(self)}: estimation", self._configured.report(active=active))

    def _write(self, live: LivePrime, path: str) -> tuple[str, str]:
        written, sentence = live.save(path)
        return str(written), sentence


def _save(path: str, session: PrimeSession) -> Path:
    from sysid_nodes.reports.prime.result import save_prime  # plots: two fifths of the node's start

    return save_prime(path, session)


def main(args: list[str] | None = None) -> int:
    """Runs the node; returns the exit status: 0, or 2 with one line on stderr when it cannot start."""
    return run(NAME, PrimeEstimatorNode, args)


if __name__ == "__main__":
    sys.exit(main())
