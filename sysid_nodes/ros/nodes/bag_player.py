# SPDX-License-Identifier: Apache-2.0
"""Plays a recording into a node that identifies, by the recording's clock, and has it save what it found.

Topics, out: those that the option ``topics`` names, as they are in the recording, and ``/clock``
(rosgraph_msgs/Clock). Nothing is played before somebody listens to the first of them, and the result is saved when the
identifier has worked through all that was played (its ``/diagnostics`` say so). Then the node ends: with 0, or with 2
and one line when anything of that failed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from online_sysid.srv import Save
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock

from sysid_nodes.data.nanoseconds import SECOND
from sysid_nodes.exceptions import ConfigError, InputError
from sysid_nodes.ros import qos
from sysid_nodes.ros.conversions import message_type
from sysid_nodes.ros.parameters import NodeParameters
from sysid_nodes.ros.spinning import make_executor, run_node
from sysid_nodes.sessions.diagnostic_keys import Backlog
from sysid_nodes.sessions.playback import BagPlayerConfig, Playback

NAME = "bag_player"

_DEPTH = 5000
_TICK = 0.01  # of the recording's clock between two messages of /clock [s]
_WAIT = 0.05  # for an event, where nothing is due [s]
_SETTLED = 0.3  # after the listener was found; its own side of the match may take a little longer [s]
_LATCHED = ("robot_description", "tf_static")


class BagPlayerNode(Node):
    """Publishes what was recorded.

    Raises:
        SysidError: a parameter is wrong, or the recording cannot be read.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NAME, **kwargs)
        self._config = config = NodeParameters(self, (BagPlayerConfig,), running=lambda: True).build(BagPlayerConfig)
        if not config.bag:
            raise ConfigError("'bag' must name the recording to play")
        self._playback = Playback(Path(config.bag), config.topics.split(","))
        self._time = self.create_publisher(Clock, "/clock", 10)
        self._outputs = {topic.name: self._publisher(topic.name, topic.type) for topic in self._playback.topics}
        self._save = self.create_client(Save, f"{config.identifier}/save")
        name = self.resolve_topic_name(config.identifier).lstrip("/")
        self._identifier, self._backlog = f"{name}: ", Backlog()
        self.create_subscription(DiagnosticArray, "/diagnostics", self._hear, 100)

    def _publisher(self, topic: str, kind: str) -> Any:
        """A publisher; None where the messages of a topic that is not the first one are not installed."""
        latched = topic.endswith(_LATCHED)
        profile: QoSProfile = qos.LATCHED if latched else qos.stream("reliable", _DEPTH)
        try:
            return self.create_publisher(message_type(kind), topic, profile)
        except ConfigError as error:
            if topic == self._playback.topics[0].name:
                raise
            self.get_logger().warning(f"{topic} is not played: {error}")
            return None

    def play(self, stopped: Callable[[], bool]) -> None:
        """Plays all of it and has the result saved.

        Raises:
            InputError: nobody listens, or the result cannot be saved.
        """
        executor, config = make_executor(), self._config
        executor.add_node(self)
        try:
            first = self._outputs[self._playback.topics[0].name]
            self._until(executor, stopped, first.get_subscription_count, f"nobody listens to {first.topic_name}")
            settled = time.monotonic() + _SETTLED
            self._until(executor, stopped, lambda: time.monotonic() > settled, "")
            if stopped():
                return
            self.get_logger().info(f"playing {config.bag}")
            end = self._move(lambda: executor.spin_once(0.0), stopped)
            if config.save and not stopped():
                self._keep(executor, stopped, end)
        finally:
            executor.shutdown()

    def _move(self, serve: Callable[[], None], stopped: Callable[[], bool]) -> int:
        """Publishes everything when it is due; returns the recording's last time [ns]."""
        begun, began, ticked, t = time.monotonic(), None, 0, 0
        for t, topic, data in self._playback:
            began = t if began is None else began
            if t - ticked >= _TICK * SECOND:
                ticked = t
                serve()
                if stopped():
                    break
                self._tell_time(t)
            wait = begun + 1e-9 * (t - began) / self._config.rate - time.monotonic()
            if wait > 0.0:
                time.sleep(wait)
            if self._outputs[topic] is not None:
                self._outputs[topic].publish(data)
        return t

    def _keep(self, executor: Any, stopped: Callable[[], bool], end: int) -> None:
        self._backlog.clear()
        since = time.monotonic()

        def idle() -> bool:
            self._tell_time(end + round(SECOND * (time.monotonic() - since)))
            return self._backlog.done

        self._until(executor, stopped, idle, f"{self._config.identifier} is not done with what was played")
        if stopped():
            return
        answer = self._save.call_async(Save.Request(path=str(Path(self._config.save).absolute())))
        self._until(executor, stopped, answer.done, f"{self._config.identifier} does not answer")
        if stopped():
            return
        if not answer.result().success:
            raise InputError(f"nothing is saved: {answer.result().message}")
        self.get_logger().info(f"saved: {answer.result().path}")

    def _until(self, executor: Any, stopped: Callable[[], bool], met: Callable[[], Any], words: str) -> None:
        limit = time.monotonic() + self._config.patience
        while not (stopped() or met()):
            if time.monotonic() > limit:
                raise InputError(f"{words}, after {self._config.patience:g} s")
            executor.spin_once(_WAIT)

    def _tell_time(self, t: int) -> None:
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(t, SECOND)
        self._time.publish(message)

    def _hear(self, message: DiagnosticArray) -> None:
        """Notes how many messages the identifier has, and how many wait."""
        for status in message.status:
            if status.name.startswith(self._identifier):
                self._backlog.hear({item.key: item.value for item in status.values})


def main(args: list[str] | None = None) -> int:
    """Runs the node; returns the exit status: 0, or 2 with one line on stderr where it could not play or save."""
    return run_node(NAME, BagPlayerNode, lambda node: node.play(lambda: not rclpy.ok()), args)


if __name__ == "__main__":
    sys.exit(main())
