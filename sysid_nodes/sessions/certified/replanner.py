# SPDX-License-Identifier: Apache-2.0
"""A planner's node without its topics: when steps of a planning begin, and on which clocks."""

from __future__ import annotations

from collections.abc import Callable

from sysid_nodes.exceptions import SysidError
from sysid_nodes.robots.robot import Array
from sysid_nodes.sessions.certified.pace import Pace
from sysid_nodes.sessions.certified.planning import Planning
from sysid_nodes.sessions.certified.state import Planned, Seen

LOOK_PERIOD = 0.02
"""Between two looks at whether a step is due [s]."""


class Replanner:
    """Begins a step of a planning when one is due.

    Args:
        planning: makes the steps.
        retry: pause after a step that certified nothing [s].
        clock: the planning's own [s].

    Attributes:
        seen: what the controller told last; None before.
        pace: of the robot's time beside the clock.
    """

    def __init__(self, planning: Planning, retry: float, clock: Callable[[], float]) -> None:
        self._planning, self._retry, self._clock = planning, retry, clock
        self.seen: Seen | None = None
        self.pace = Pace()
        self._not_before = 0.0

    def take_status(self, seen: Seen, stamp: int) -> None:
        """Takes what the controller tells, and the stamp of the joint state that it answered [ns]; 0: none yet."""
        self.pace.note_stamp(stamp, self._clock())
        self.seen = seen

    def hurry(self) -> None:
        """Ends the pause: what made the last step fail may have changed."""
        self._not_before = 0.0

    def now(self) -> int:
        """Stamp of the present, not behind it as long as the robot's time runs no faster than it lately did [ns]."""
        return self.pace.now(self._clock())

    def due(self) -> Seen | None:
        """The controller's last status where a step may begin now; else None."""
        return self.seen if self._clock() >= self._not_before else None

    def step(self, seen: Seen, posture: Array | None) -> Planned | None:
        """A step, see Planning.step; an error of this package's ends it like one that certified nothing."""
        planning = self._planning
        failed, planning.timing.rate = planning.failed, self.pace.rate
        try:
            planned = planning.step(seen, self.now, posture)
        except SysidError as error:
            self.fail(str(error))
            return None
        if planning.failed > failed:
            self._pause()
        return planned

    def fail(self, message: str) -> None:
        """Counts a step that broke off, for the reason given."""
        self._planning.fail(message)
        self._pause()

    def _pause(self) -> None:
        self._not_before = self._clock() + self._retry
