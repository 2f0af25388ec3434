# SPDX-License-Identifier: Apache-2.0
"""The lifecycle of a node that listens, identifies on a thread of its own, and tells what it found.

A new estimator's node derives from it and says what it listens to, what it publishes and how it saves.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Generic, Protocol, TypeVar

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from online_sysid.srv import Save
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from std_srvs.srv import Trigger

from sysid_nodes.data.key_file import AuthorityConfig
from sysid_nodes.exceptions import ConfigError, SysidError
from sysid_nodes.ros.authority import Authority
from sysid_nodes.ros.diagnostics import diagnostic_array
from sysid_nodes.ros.lifecycle import logged
from sysid_nodes.ros.parameters import NodeParameters
from sysid_nodes.ros.spinning import run_node, spin, until_shutdown

_AUTOSTART_PERIOD = 0.1  # [s]


class Live(Protocol):
    """An estimator that is fed live."""

    def clear(self) -> None:
        """Forgets the messages that wait."""
        ...

    def reset(self) -> None:
        """Starts over from the prior.

        Raises:
            SysidError: it is too busy to answer.
        """
        ...

    def stop(self) -> None:
        """Ends its thread."""
        ...


AnyLive = TypeVar("AnyLive", bound=Live)


class IdentifyingNode(LifecycleNode, Generic[AnyLive]):
    """Everything but the estimator's own topics.

    Configure makes the estimator and what is published, activate subscribes, deactivate ends that and keeps what was
    found, cleanup forgets it. Services: ``~/reset`` (std_srvs/Trigger), ``~/save`` (online_sysid/Save).

    Args:
        name: of the node.
        configs: classes of its options, one of them a `NodeConfig`.
        kwargs: rclpy's.

    Attributes:
        failed: the node could not start by itself; the log says why.

    Raises:
        ConfigError: a parameter is unknown, of a wrong type or out of range.
    """

    def __init__(self, name: str, configs: Sequence[type], **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self.failed = False
        self._live: AnyLive | None = None
        self._taken = ExitStack()
        self._streams: list[Any] = []
        self._settings = NodeParameters(
            self, tuple(configs), running=lambda: self._live is not None or self._authority.signed, apply=self._change
        )
        self._authority = Authority(self, self._who_commands())
        if self.get_parameter("autostart").value:
            # Not by simulated time, which may not have begun.
            clock = Clock(clock_type=ClockType.STEADY_TIME)
            self._start_timer = self.create_timer(_AUTOSTART_PERIOD, self._autostart, clock=clock)

    # -- what each node gives

    @abstractmethod
    def _open(self) -> tuple[AnyLive, str]:
        """Makes the estimator, and its publishers with `publisher`; returns it and what it is, for the log.

        Raises:
            SysidError: what was configured cannot be.
        """

    @abstractmethod
    def _subscribe(self, live: AnyLive) -> str:
        """Fills `_streams`; returns what is listened to, for the log."""

    @abstractmethod
    def _status(self, live: AnyLive, *, active: bool) -> DiagnosticStatus:
        """For /diagnostics."""

    @abstractmethod
    def _write(self, live: AnyLive, path: str) -> tuple[str, str]:
        """Saves; returns the file and what state of knowledge it holds.

        Raises:
            SysidError, OSError, ValueError: it cannot.
        """

    def _ready(self) -> bool:
        """Whether configuring by itself can be tried."""
        return True

    def _who_commands(self) -> AuthorityConfig:
        """From the settings; by default anybody."""
        return AuthorityConfig()

    def _reconfigure(self, _: NodeParameters) -> None:
        """Takes options that may change while the node runs.

        Raises:
            SysidError: they cannot be taken.
        """
        raise ConfigError("parameters may change only while the node is unconfigured")

    def _change(self, settings: NodeParameters) -> None:
        if self._authority.signed:  # whoever calls parameter services cannot sign
            raise ConfigError("no parameter changes while the node has a key")
        self._reconfigure(settings)

    # -- lifecycle

    @logged
    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        try:
            live, subject = self._open()
        except SysidError as error:
            self._taken.close()
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        self._live = live
        self._taken.callback(live.stop)  # before the publishers go, which its thread uses
        self._diagnostics = self.publisher(DiagnosticArray, "/diagnostics", 10)
        for service in (self._authority.serve("reset", self._reset), self.create_service(Save, "~/save", self._save)):
            self._taken.callback(self.destroy_service, service)
        self.every(self.get_parameter("diagnostics_period").value, self._report)
        self._say(f"configured: {subject}")
        return super().on_configure(state)

    @logged
    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        done = super().on_activate(state)
        self._say(f"active: {self._subscribe(self._configured)}")
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

    # -- for derived classes

    def publisher(self, kind: Any, topic: str, profile: Any) -> Any:
        """A publisher that lives until cleanup.

        It is no lifecycle publisher: a reset while inactive has to replace what is latched, or who joins later would
        hear what no longer holds. Nothing else is published then, for no data come in.
        """
        made = self.create_publisher(kind, topic, profile)
        self._taken.callback(self.destroy_publisher, made)
        return made

    def every(self, period: float, do: Callable[[], None], clock: Clock | None = None) -> None:
        """Does something every period [s] until cleanup."""

        def due() -> None:
            if self._live is not None:  # else the timer had fired when the node was cleaned up
                do()

        self._taken.callback(self.destroy_timer, self.create_timer(period, due, clock=clock))

    @property
    def _configured(self) -> AnyLive:
        if self._live is None:  # a call that was under way when the node was cleaned up
            raise SysidError("not configured")
        return self._live

    def _unsubscribe(self) -> None:
        for stream in self._streams:
            self.destroy_subscription(stream)
        self._streams.clear()
        if self._live is not None:
            self._live.clear()

    def _autostart(self) -> None:
        if not self._ready():
            return
        self.destroy_timer(self._start_timer)
        success = TransitionCallbackReturn.SUCCESS
        with until_shutdown():
            self.failed = self.trigger_configure() != success or self.trigger_activate() != success
        self.failed &= self.context.ok()

    def _report(self) -> None:
        status = self._authority.amend(self._status(self._configured, active=bool(self._streams)))
        with until_shutdown():
            self._diagnostics.publish(diagnostic_array(status, self.get_clock().now()))

    # -- services

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
        if not self._authority.allows(request, self.resolve_service_name("~/save")):
            response.success, response.message = False, f"not obeyed: {self._authority.text}"
            return response
        try:
            path, knowledge = self._write(self._configured, request.path)
        except (SysidError, OSError, ValueError) as error:
            response.success, response.message = False, str(error)
            self._warn(f"not saved: {error}")
        else:
            response.success, response.path, response.message = True, path, knowledge
            self._say(f"saved: {path} ({knowledge})")
        return response

    # -- log; after a shutdown rclpy's complains about itself

    def _say(self, line: str) -> None:
        if self.context.ok():
            self.get_logger().info(line)

    def _warn(self, line: str) -> None:
        if self.context.ok():
            self.get_logger().warning(line)


def run(name: str, make: Callable[[], Any], args: list[str] | None) -> int:
    """Runs such a node; returns the exit status: 0, or 2 with one line on stderr when it cannot start."""
    return run_node(
        name,
        make,
        lambda node: spin(node, lambda: node.failed),
        args,
        failed=lambda node: node.failed,
        release=lambda node: node.release(),
    )
