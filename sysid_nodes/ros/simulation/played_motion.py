# SPDX-License-Identifier: Apache-2.0
"""A simulated robot that moves on its own and publishes what its sensors read, in real time as far as that goes."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node

from sysid_nodes.ros.diagnostics import ERROR, OK, WARN, component, diagnostic_array, diagnostic_status
from sysid_nodes.ros.spinning import make_executor
from sysid_nodes.sessions.diagnostic_keys import BEHIND, ROBOT_FINISHED, STATE, TROUBLE, published_on

_REPORT_PERIOD = 0.2  # [s]
_SERVE_EVERY = 0.01  # time between two looks at timers and parameter services [s]
_WAIT = 0.05  # for an event, where nothing is due [s]
_SETTLED = 0.3  # after the last listener was found; its own side of the match may take a little longer [s]
_CATCH_UP = 0.05  # of delay is made up for by publishing faster; what is beyond is given up for good [s]


class PlayedMotion(Node):
    """Waits for its listeners, moves, reports to /diagnostics.

    No reading is ever left out: on a machine that is too slow the motion takes longer than its stamps say, and the
    diagnostics tell by how much.

    Args:
        kwargs: rclpy's.
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self.create_timer(_REPORT_PERIOD, self._report)
        self._behind, self._state = 0.0, "waiting for listeners"

    # -- what each robot gives

    @abstractmethod
    def _has_listeners(self) -> bool:
        """Whether all who are waited for are there."""

    @abstractmethod
    def _motion(self) -> Iterator[float]:
        """Computes what comes next, yields when it is due [s since the start], and then publishes it."""

    @abstractmethod
    def _title(self) -> str:
        """The moving robot and the duration, but not its load, for the log is a topic too."""

    @abstractmethod
    def _published_counts(self) -> dict[str, int]:
        """Messages published so far, by topic."""

    def _finish(self) -> None:
        """Called when the motion is over."""

    def _values(self) -> dict[str, str]:
        """Further values for the diagnostics."""
        return {}

    def _trouble(self) -> str:
        """The robot's problem, in a word; empty for none."""
        return ""

    # --

    def run(self, stopped: Callable[[], bool]) -> None:
        """Waits for the listeners, moves, and then stays until stopped: unread messages go with their publisher."""
        executor = make_executor()
        executor.add_node(self)
        try:
            while not (self._has_listeners() or stopped()):
                executor.spin_once(_WAIT)
            settled = time.monotonic() + _SETTLED
            while time.monotonic() < settled and not stopped():
                executor.spin_once(_WAIT)
            self._state = "moving"
            self.get_logger().info(self._title())
            self._move(lambda: executor.spin_once(0.0), stopped)
            if not stopped():
                self._finish()
                self._state = ROBOT_FINISHED
                self._say_end(sum(self._published_counts().values()))
            while not stopped():
                executor.spin_once(_WAIT)
        finally:
            executor.shutdown()

    def destroy_node(self) -> None:
        """Releases the node; a motion that was cut short is logged, after the log's topic, which a signal closes."""
        count = sum(self._published_counts().values())  # whose topics are the publishers' to tell, while there are any
        super().destroy_node()
        if self._state == "moving":
            self._state = "stopped"
            self._say_end(count)

    def _say_end(self, count: int) -> None:
        self.get_logger().info(f"{self._state}: {count} messages, {self._behind:.3f} s behind real time")

    def _move(self, serve: Callable[[], None], stopped: Callable[[], bool]) -> None:
        begun, served = time.perf_counter(), 0.0
        for due in self._motion():
            if due >= served:
                served = due + _SERVE_EVERY
                serve()
                if stopped():
                    return
            wait = begun + self._behind + due - time.perf_counter()
            if wait > 0.0:
                time.sleep(wait)
            elif wait < -_CATCH_UP:
                self._behind -= wait + _CATCH_UP

    def _report(self) -> None:
        late, trouble = self._behind > 0.0, self._trouble()
        values = {
            STATE: self._state,
            TROUBLE: trouble,
            BEHIND: f"{self._behind:.3f}",
            "processor time [s]": f"{time.process_time():.3f}",
            **{published_on(topic): str(count) for topic, count in sorted(self._published_counts().items())},
            **self._values(),
        }
        level = ERROR if trouble else WARN if late else OK
        message = ", ".join(filter(None, [self._state, "slower than real time" if late else "", trouble]))
        status = diagnostic_status(f"{component(self)}: motion", level, message, values, hardware="simulation")
        self._diagnostics.publish(diagnostic_array(status, self.get_clock().now()))
