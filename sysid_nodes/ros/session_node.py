# SPDX-License-Identifier: Apache-2.0
"""A node whose session is fed message by message: what is left to each system is its topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from diagnostic_msgs.msg import DiagnosticStatus

from sysid_nodes.ros.conversions import to_seconds
from sysid_nodes.ros.diagnostics import component, report_status
from sysid_nodes.ros.identifying_node import IdentifyingNode
from sysid_nodes.sessions.live_session import LiveSession

AnyLiveSession = TypeVar("AnyLiveSession", bound=LiveSession[Any, Any])


class SessionNode(IdentifyingNode[AnyLiveSession]):
    """Converts, buffers, lets the session identify, converts back."""

    def _listen(self, live: AnyLiveSession, kind: Any, topic: str, take: Callable[[Any], Any], profile: Any) -> None:
        name = str(self.resolve_topic_name(topic))
        live.expect(name)
        self._streams.append(
            self.create_subscription(kind, topic, lambda message: live.put(name, take, message), profile)
        )

    def _listen_unstamped(
        self, live: AnyLiveSession, kind: Any, topic: str, take: Callable[[Any, float], Any], profile: Any
    ) -> None:
        """The same of messages that have no stamp; `take` gets the time when they came, too [s]."""
        name, clock = str(self.resolve_topic_name(topic)), self.get_clock()
        live.expect(name)

        def hear(message: Any) -> None:
            live.put(name, lambda pair: take(*pair), (message, to_seconds(clock.now().to_msg())))

        self._streams.append(self.create_subscription(kind, topic, hear, profile))

    def _status(self, *, active: bool) -> DiagnosticStatus:
        return report_status(f"{component(self)}: identification", self._configured.report(active=active))

    def _listening(self) -> str:
        return "listening to " + ", ".join(stream.topic_name for stream in self._streams)

    def _write(self, live: AnyLiveSession, path: str) -> tuple[str, str]:
        written, sentence = live.save(path, self.resolve_topic_name("joint_states"))
        return str(written), sentence
