# SPDX-License-Identifier: Apache-2.0
"""Begin of a planning step: as late as its measured length allows, because bounds get narrower meanwhile."""

from __future__ import annotations

from collections import deque

from sysid_nodes.sessions.certified.config import PlannerNodeConfig

_RESERVE = 1.25  # planning is taken to need so much more than it lately did
_REFUSALS = 3  # in a row, each of which doubles the lead
_MORE = 1.5  # times as long as a step that was cut off
_LOOK = 0.05  # steps are looked for this often, at least [s]
_STEPS = 4  # steps whose length is remembered


class Timing:
    """Lengths of the last steps, on the planner's clock, and what they mean on the robot's.

    Args:
        config: of the planner's node.
        replan: time into a trajectory at which the next one takes over [s].

    Attributes:
        rate: the robot's seconds in one of the planner's clock.
    """

    def __init__(self, config: PlannerNodeConfig, replan: float) -> None:
        self._config, self._replan = config, replan
        self._taken: deque[float] = deque(maxlen=_STEPS)
        self._first, self._late, self._refused = config.budget, False, 0
        self.rate = 1.0

    def took(self, time: float, *, moving: bool, cut: bool) -> None:
        """A step is over.

        Args:
            time: that it took on the planner's clock [s].
            moving: it did not begin at rest.
            cut: it would have gone on with more time. How much more is not known: it counts as no shorter than steps
                are taken to be, or those that begin too late to certify anything would have all that follow begin so.
        """
        self._late = False
        time = max(_MORE * time, self.needs / _RESERVE) if cut else time
        if moving:
            self._taken.append(time)
        else:
            self._first = max(self._config.budget, _RESERVE * time)

    def late(self) -> None:
        """The last step was finished after its takeover: the next one has to have its time."""
        self._late = True

    def note_answer(self, accepted: bool) -> None:
        """The fate of a trajectory that was sent; after a refusal the next start from rest gets more time."""
        self._refused = 0 if accepted else min(self._refused + 1, _REFUSALS)

    @property
    def lead(self) -> float:
        """From the end of planning to a start from rest, on the robot's clock [s]."""
        return float(self._config.lead * 2**self._refused)

    @property
    def needs(self) -> float:
        """Time that a step is taken to need on the planner's clock [s]."""
        return _RESERVE * max(self._taken) if self._taken else self._first

    def takeover(self, elapsed: float, replan: float | None = None) -> float | None:
        """Time into the trajectory in execution at which the next one takes over; None: it is too early to plan that.

        Where there is not the usual time left, what the quickest of the last steps took will have to do, or the budget;
        where not even that is left, the takeover is later.

        Args:
            elapsed: of the trajectory in execution, on the robot's clock [s].
            replan: when the next one is to take over, where that is not as usual [s].
        """
        margin, replan = self._config.margin, self._replan if replan is None else replan
        if elapsed + self.rate * (self.needs + _LOOK) + margin < replan:
            return None
        least = self.needs if self._late else min([self._config.budget, *(_RESERVE * time for time in self._taken)])
        return max(replan, elapsed + self.rate * least + margin)
