# SPDX-License-Identifier: Apache-2.0
"""The certified planner's way out to a position controller: topics around a PositionStream.

Topics, out: the JointTrajectory topic of the configuration and ``stop_request`` (online_sysid/StopRequest: the robot
does not follow as certified, or moves among obstacles it was not certified for). In: ``joint_states`` and
``robot_stop`` (online_sysid/StopRequest, latched or not, where the robot tells of its own stops). Service
(std_srvs/Trigger): ``~/reset`` begins anew from where the robot rests.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from online_sysid.msg import StopRequest
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from sysid_nodes.data.digest import digest
from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.data.scene import Scene
from sysid_nodes.models.robust_control import gains
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.ros import qos
from sysid_nodes.ros.authority import Authority
from sysid_nodes.ros.certified.controller_conversions import nanoseconds, stop_request
from sysid_nodes.ros.certified.position_streaming import PositionStream
from sysid_nodes.ros.managed_node import ManagedNode
from sysid_nodes.sessions.certified.config import CertifiedPlannerConfig, Setup
from sysid_nodes.sessions.certified.state import Planned, Seen
from sysid_nodes.systems.certified.certificate.tracked import known_errors
from sysid_nodes.systems.certified.control.output import Mode

_TELL = 10_000_000  # of the robot's time between two reports to the planner [ns]
_CHECK = 0.1  # [s]


def position_setup(setup: Setup, config: CertifiedPlannerConfig) -> Setup:
    """The setup whose certificates rest on tracking errors: no torque controller takes them for its own."""
    return setup._replace(config_id=digest(setup.config_id, "position", config.tracking))


class PositionOutput:
    """Publishes trajectories and watches joint states.

    Args:
        node: on whose topics.
        scene: gives the present obstacles; None where they are unusable.
        told: is called with what the planner is to know of the execution, and the stamp of a joint state [ns].

    Raises:
        ConfigError: no tracking errors are known.
    """

    def __init__(
        self,
        node: ManagedNode,
        authority: Authority,
        setup: Setup,
        config: CertifiedPlannerConfig,
        scene: Callable[[], Scene | None],
        told: Callable[[Seen, int], None],
    ) -> None:
        robot, self._config = setup.robot, config.certified_planner.streaming
        noise = gains(robot, config.control)
        self._stream = PositionStream(
            robot.joint_names,
            robot.wraps,
            known_errors(config.tracking, robot.n),
            noise.position_error,
            noise.velocity_error,
            self._config,
        )
        self._log, self._scene, self._told = node.get_logger(), scene, told
        self._lock = threading.Lock()
        self._order = JointOrder(robot.joint_names)
        self._heard, self._last_told, self._said = 0.0, 0, StopReason.NONE
        self._node, self._authority = node, authority
        self._trajectories = node.publisher(JointTrajectory, self._config.topic, qos.stream("reliable", 10))
        stops = node.publisher(StopRequest, "stop_request", qos.stream("reliable", 100))
        self._stops = authority.publisher(stops)
        node.serve("reset", self._reset)
        node.every(_CHECK, self._check)

    def listen(self) -> list[Any]:
        """Subscriptions to what the robot tells."""
        joints = self._node.create_subscription(JointState, "joint_states", self._joints, qos.stream("best_effort", 1))
        return [joints, *self._authority.subscribe_latest(StopRequest, "robot_stop", self._take_stop)]

    @property
    def moving(self) -> bool:
        """Whether the robot follows a trajectory."""
        return self._stream.execution_state().mode in (Mode.TRACKING, Mode.BRAKING)

    @property
    def reason(self) -> StopReason:
        """Reason that nothing more is sent."""
        return self._stream.reason

    def publish(self, planned: Planned, now: int) -> bool:
        """Sends a trajectory; False where it comes too late. From any thread.

        Args:
            now: stamp of the present [ns].
        """
        with self._lock:
            message = self._stream.offer(planned, now)
        if message is not None:
            self._trajectories.publish(message)
        return message is not None

    def values(self) -> dict[str, str]:
        """For diagnostics."""
        stream = self._stream
        return {
            "execution": stream.execution_state().mode.name,
            "reason": stream.reason.name,
            "share of the tracking errors": f"{stream.usage:.4f}",
            "largest position error [rad]": " ".join(f"{x:.5f}" for x in stream.worst_position),
            "largest velocity error [rad/s]": " ".join(f"{x:.4f}" for x in stream.worst_velocity),
        }

    def _joints(self, message: JointState) -> None:
        stamp = nanoseconds(message.header.stamp)
        self._heard = time.perf_counter()
        columns = self._order.columns(message.name)
        if columns is None or not len(message.position) == len(message.velocity) == len(message.name):
            return
        q, qd = np.array(message.position)[columns], np.array(message.velocity)[columns]
        scene = self._scene()
        with self._lock:
            stop = self._stream.joints(stamp, q, qd, None if scene is None else scene.id)
            seen = self._stream.execution_state()
        if stop:
            self._stops.publish(stop_request(stop))
        if stop or abs(stamp - self._last_told) >= _TELL:
            self._last_told = stamp
            self._told(seen, stamp)
        self._say()

    def _take_stop(self, message: StopRequest) -> None:
        if message.reason:
            with self._lock:
                known = {reason.value: reason for reason in StopReason}
                self._stream.stop(known.get(message.reason, StopReason.REQUESTED))

    def _check(self) -> None:
        if self._heard and time.perf_counter() - self._heard > self._config.silence:
            with self._lock:
                self._stream.silent()
        self._say()

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        with self._lock:
            self._stream.reset()
        response.success, response.message = True, "idle"
        return response

    def _say(self) -> None:
        """One line for each event."""
        reason = self._stream.reason
        if reason is not self._said:
            self._said = reason
            if reason:
                self._log.error(f"no more trajectories: {reason.message}")
            else:
                self._log.info("trajectories again")
