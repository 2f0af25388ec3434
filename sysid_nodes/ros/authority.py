# SPDX-License-Identifier: Apache-2.0
"""Authority to command a node: the one place where signatures of messages and requests are made and checked.

Without a key everything is published and obeyed as it is. With one, what is not signed by it is refused, counted and
named: in the log, in /diagnostics and in the node's status. A node's Trigger services are then refused, too; signed
requests for the same come by ``~/request`` (online_sysid/SignedRequest).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from online_sysid.srv import SignedRequest
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_srvs.srv import Trigger

from sysid_nodes.data.key_file import AuthorityConfig, read_key
from sysid_nodes.messages.signing import Doubt, Inspector, Signer
from sysid_nodes.ros import qos
from sysid_nodes.ros.diagnostics import WARN
from sysid_nodes.ros.latest import subscribe_latest
from sysid_nodes.ros.spinning import until_shutdown

Serve = Callable[[Any, Any], Any]

_REFRESH = 4
"""Signatures of what is latched within the age that one may have."""


class Authority:
    """Signs what a node says and checks what it hears.

    Args:
        node: whose messages.
        config: the key, if any.

    Attributes:
        signed: whether there is a key.
        refused: messages and requests refused so far.
        text: the last of them, in words; empty: none.

    Raises:
        ConfigError: the key is unusable.
    """

    def __init__(self, node: Node, config: AuthorityConfig) -> None:
        key = read_key(config.key_file) if config.key_file else None
        self.signed, self.refused, self.text = key is not None, 0, ""
        self._node, self._refresh = node, config.max_age / _REFRESH
        self._lock = threading.Lock()
        self._reported, self._said = 0, set[tuple[str, Doubt]]()
        self._actions: dict[str, Serve] = {}
        self._signer: Signer | None = None
        if key is not None:
            self._signer = Signer(key, node.get_fully_qualified_name())
            self._inspector = Inspector(key, config.max_age)
            self._requests = node.create_service(SignedRequest, "~/request", self._request)
            node.get_logger().info(f"commands are {self.word}")

    @property
    def word(self) -> str:
        """Word for those whose commands are obeyed."""
        return "signed: only who holds the key is obeyed" if self.signed else "unsigned: whoever publishes is obeyed"

    # -- messages

    def publisher(
        self, publisher: Any, every: Callable[..., Any] | None = None, *, once: bool = False
    ) -> SignedPublisher:
        """One that signs; what it latches it signs anew before the signature is too old.

        Args:
            publisher: rclpy's.
            every: makes a timer from period [s], callback and clock; None: one that lives as long as the node.
            once: what it latches is for those who record it: nothing is signed anew, for nobody is to obey it later.
        """
        made = SignedPublisher(publisher, self._sign, self._lock)
        latched = publisher.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
        if self.signed and latched and not once:
            make = self._node.create_timer if every is None else every
            make(self._refresh, made.refresh, clock=Clock(clock_type=ClockType.STEADY_TIME))
        return made

    def subscribe(self, kind: Any, topic: str, take: Callable[[Any], None], profile: QoSProfile) -> Any:
        """A subscription that passes on what may command."""
        full = self._node.resolve_topic_name(topic)
        return self._node.create_subscription(kind, topic, partial(self._take, full, take), profile)

    def subscribe_latest(self, kind: Any, topic: str, take: Callable[[Any], None]) -> list[Any]:
        """The same from publishers that latch and from others; who signs, latches. See ros/latest.py."""
        if self.signed:
            return [self.subscribe(kind, topic, take, qos.LATCHED)]
        return subscribe_latest(self._node, kind, topic, take)

    def _take(self, topic: str, take: Callable[[Any], None], message: Any) -> None:
        if self.allows(message, topic):
            take(message)

    def allows(self, message: Any, topic: str) -> bool:
        """Whether a message or a request that came by a topic or service of this full name is to be obeyed."""
        if not self.signed:
            return True
        if "signature" not in message.get_fields_and_field_types():
            return self._refuse(topic, "nobody", Doubt.UNSIGNED)
        doubt = self._inspector.judge(message, topic, time.time_ns())
        return doubt is Doubt.NONE or self._refuse(topic, message.signature.signer or "nobody", doubt)

    # -- requests

    def serve(self, name: str, do: Serve) -> Any:
        """A Trigger service ``~/name``, and the same by ``~/request`` where there is a key."""
        self._actions[name] = do
        return self._node.create_service(Trigger, f"~/{name}", partial(self._serve, name, do))

    def _serve(self, name: str, do: Serve, request: Any, response: Any) -> Any:
        if self.signed:
            self._refuse(f"{self._node.get_fully_qualified_name()}/{name}", "nobody", Doubt.UNSIGNED)
            response.success, response.message = False, "not obeyed: this node has a key; ask by ~/request"
            return response
        return do(request, response)

    def _request(self, request: Any, response: Any) -> Any:
        do = self._actions.get(request.action)
        if not self.allows(request, self._requests.service_name):
            response.success, response.message = False, f"not obeyed: {self.text}"
        elif do is None:
            response.success, response.message = False, f"no such request; known: {', '.join(sorted(self._actions))}"
        else:
            answer = do(Trigger.Request(), Trigger.Response())
            response.success, response.message = answer.success, answer.message
        return response

    # -- reports

    def amend(self, status: DiagnosticStatus) -> DiagnosticStatus:
        """A status of the node's with who commands it, and a warning of what was refused since the last one."""
        values = {"authority": self.word, "refused for signature": str(self.refused), "last refused": self.text}
        status.values = [*status.values, *(KeyValue(key=key, value=value) for key, value in values.items())]
        if self.refused > self._reported:
            status.level, status.message = max(status.level, WARN), f"{self.text}; {status.message}"
        self._reported = self.refused
        return status

    def _sign(self, message: Any, topic: str) -> None:
        if self._signer is not None:
            self._signer.sign(message, topic, time.time_ns())

    def _refuse(self, topic: str, signer: str, doubt: Doubt) -> bool:
        """Counts and names; a flood of the same costs one line of the log."""
        self.refused += 1
        self.text = f"{topic} in the name of {signer} refused: {doubt.value}"
        if (topic, doubt) not in self._said:
            self._said.add((topic, doubt))
            there = sorted({x.node_name for x in self._node.get_publishers_info_by_topic(topic)})
            names = f" (publishing there: {', '.join(there)})" if there else ""
            self._node.get_logger().error(f"{self.text}{names}; more of the kind are counted in /diagnostics")
        return False


class SignedPublisher:
    """A publisher whose messages bear the node's signature where it has a key.

    Args:
        publisher: rclpy's.
        sign: fills in the signature for a topic.
        lock: of all that the node signs, so that what is sent later is signed later, from any thread.
    """

    def __init__(self, publisher: Any, sign: Callable[[Any, str], None], lock: threading.Lock) -> None:
        self._publisher, self._sign, self._lock = publisher, sign, lock
        self._topic = publisher.topic_name
        self._last: Any = None

    def publish(self, message: Any) -> None:
        """Signs and sends a message, which is not to be changed any more."""
        with self._lock:
            self._last = message
            self._send()

    def refresh(self) -> None:
        """Sends the last message again under a new signature."""
        with self._lock:
            if self._last is not None:
                self._send()

    def _send(self) -> None:
        self._sign(self._last, self._topic)
        with until_shutdown():
            self._publisher.publish(self._last)
