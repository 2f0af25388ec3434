# SPDX-License-Identifier: Apache-2.0
"""The lifecycle that all nodes of this package's algorithms share.

Configure makes everything, activate subscribes, deactivate unsubscribes and keeps the results, cleanup discards them. A
node configures and activates itself unless its option ``autostart`` is off.
"""

from __future__ import annotations

import functools
import traceback
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from sysid_nodes.data.key_file import AuthorityConfig
from sysid_nodes.exceptions import ConfigError, SysidError
from sysid_nodes.ros.authority import Authority
from sysid_nodes.ros.diagnostics import diagnostic_array
from sysid_nodes.ros.graph_watch import GraphWatch
from sysid_nodes.ros.parameters import NodeParameters
from sysid_nodes.ros.spinning import run_node, spin, until_shutdown

_AUTOSTART_PERIOD = 0.1  # [s]

Transition = Callable[[Any, LifecycleState], TransitionCallbackReturn]


def log_exceptions(transition: Transition) -> Transition:
    """Logs what a transition raises; rclpy turns it into the error state without a word."""

    @functools.wraps(transition)
    def wrapped(node: Any, state: LifecycleState) -> TransitionCallbackReturn:
        try:
            return transition(node, state)
        except Exception:
            if node.context.ok():  # otherwise it is the shutdown that the transition met
                node.get_logger().error(traceback.format_exc())
            raise

    return wrapped


class ManagedNode(LifecycleNode):
    """Everything but a node's own topics.

    Args:
        configs: classes of its options.
        period: option with the time between two diagnostics.
        kwargs: rclpy's.

    Attributes:
        failed: the node could not start by itself; the log says why.

    Raises:
        ConfigError: a parameter is unknown, of a wrong type or out of range.
    """

    def __init__(
        self, name: str, configs: Sequence[type], *, period: str = "diagnostics_period", **kwargs: Any
    ) -> None:
        super().__init__(name, **kwargs)
        self.failed, self._period, self._made = False, period, False
        self._taken = ExitStack()
        self._streams: list[Any] = []
        self._settings = NodeParameters(
            self, tuple(configs), running=lambda: self._made or self._authority.signed, apply=self._change
        )
        self._authority = Authority(self, self._who_commands())
        if self.get_parameter("autostart").value:
            # Not by simulated time, which may not have begun.
            clock = Clock(clock_type=ClockType.STEADY_TIME)
            self._start_timer = self.create_timer(_AUTOSTART_PERIOD, self._autostart, clock=clock)

    # -- what each node gives

    @abstractmethod
    def _make(self) -> str:
        """Makes what the node works with, with `publisher`, `every` and `_taken`; returns what it is, for the log.

        Raises:
            SysidError: what was configured cannot be.
        """

    @abstractmethod
    def _begin(self) -> str:
        """Fills `_streams`; returns what is listened to, for the log."""

    @abstractmethod
    def _status(self, *, active: bool) -> DiagnosticStatus:
        """For /diagnostics."""

    def _ready(self) -> bool:
        """Whether configuring by itself can be tried."""
        return True

    def _hold_reason(self) -> str:
        """Reason that the node must not stop listening now; empty where it may."""
        return "who has a key cannot sign for a transition" if self._authority.signed else ""

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

    @log_exceptions
    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        try:
            subject = self._make()
        except SysidError as error:
            self._taken.close()
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        self._made = True
        self._diagnostics = self.publisher(DiagnosticArray, "/diagnostics", 10)
        self.every(self.get_parameter(self._period).value, self._report)
        # By steady time: that simulated time stands still is one of its findings.
        watch, clock = GraphWatch(self), Clock(clock_type=ClockType.STEADY_TIME)
        self.every(watch.PERIOD, lambda: self._look_round(watch), clock)
        self._say(f"configured: {subject}")
        return super().on_configure(state)

    @log_exceptions
    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        done = super().on_activate(state)
        self._say(f"active: {self._begin()}")
        return done

    @log_exceptions
    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        if held := self._hold_reason():
            self._warn(f"stays active: {held}")
            return TransitionCallbackReturn.FAILURE
        self._unsubscribe()
        self._say("inactive: unsubscribed, results are kept")
        return super().on_deactivate(state)

    @log_exceptions
    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        self.release()
        self._say("cleaned up: results are discarded")
        return super().on_cleanup(state)

    @log_exceptions
    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        self.release()
        self._say("shut down")
        return super().on_shutdown(state)

    @log_exceptions
    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        self.release()
        return super().on_error(state)

    def release(self) -> None:
        """Gives back all that configure and activate took; harmless when they took nothing."""
        self._unsubscribe()
        self._taken.close()
        self._made = False

    # -- for derived classes

    def publisher(self, kind: Any, topic: str, profile: Any) -> Any:
        """A publisher that lives until cleanup.

        It is no lifecycle publisher: a reset while inactive has to replace what is latched, or who joins later would
        hear what no longer holds. Nothing else is published then, for no data come in.
        """
        made = self.create_publisher(kind, topic, profile)
        self._taken.callback(self.destroy_publisher, made)
        return made

    def serve(self, name: str, do: Any) -> None:
        """A Trigger service ``~/name`` that lives until cleanup, see `Authority.serve`."""
        self._taken.callback(self.destroy_service, self._authority.serve(name, do))

    def every(self, period: float, do: Callable[[], None], clock: Clock | None = None) -> None:
        """Does something every period [s] until cleanup."""

        def due() -> None:
            if self._made:  # else the timer had fired when the node was cleaned up
                do()

        self._taken.callback(self.destroy_timer, self.create_timer(period, due, clock=clock))

    def _unsubscribe(self) -> None:
        for stream in self._streams:
            self.destroy_subscription(stream)
        self._streams.clear()

    def _autostart(self) -> None:
        if not self._ready():
            return
        self.destroy_timer(self._start_timer)
        success = TransitionCallbackReturn.SUCCESS
        with until_shutdown():
            self.failed = self.trigger_configure() != success or self.trigger_activate() != success
        self.failed &= self.context.ok()

    def _report(self) -> None:
        status = self._authority.amend(self._status(active=bool(self._streams)))
        with until_shutdown():
            self._diagnostics.publish(diagnostic_array(status, self.get_clock().now()))

    def _look_round(self, watch: GraphWatch) -> None:
        with until_shutdown():
            for fault in watch.look(self._streams):
                self._warn(fault)

    # -- log; after a shutdown rclpy's complains about itself

    def _say(self, line: str) -> None:
        if self.context.ok():
            self.get_logger().info(line)

    def _warn(self, line: str) -> None:
        if self.context.ok():
            self.get_logger().warning(line)


def run(
    name: str,
    make: Callable[[], Any],
    args: list[str] | None,
    serve: Callable[[Any, Callable[[], bool]], None] = spin,
) -> int:
    """Runs such a node; returns the exit status: 0, or 2 with one line on stderr when it cannot start."""
    return run_node(
        name,
        make,
        lambda node: serve(node, lambda: node.failed),
        args,
        failed=lambda node: node.failed,
        release=lambda node: node.release(),
    )
