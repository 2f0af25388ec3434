# SPDX-License-Identifier: Apache-2.0
"""News from a demo's recorder: how many readings are in the bag, and the newest diagnostics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from sysid_nodes.sessions.diagnostic_keys import (
    BEHIND,
    ELAPSED,
    OVERLOAD,
    PUBLISHED,
    RECEIVED,
    ROBOT_FINISHED,
    SOLVE_TIME,
    STATE,
    WAITING,
)


class LiveWatch:
    """The latest of everything that the recorder tells; each demo adds its own.

    Attributes:
        recorded: readings of the robot in the bag.
    """

    def __init__(self) -> None:
        self.recorded = 0
        self._heard: Mapping[str, Mapping[str, str]] = {}

    def take(self, line: Mapping[str, Any]) -> None:
        """Takes one line of the recorder's."""
        if "diagnostics" in line:
            self.recorded, self._heard = line["count"], line["diagnostics"]
        self.recorded = line.get("recorded", self.recorded)

    def _text(self, component: str, key: str) -> str:
        """A component's newest value; empty before there is one."""
        return self._heard.get(component, {}).get(key, "")

    def _number(self, component: str, key: str) -> float:
        """The same as a number; zero before there is one."""
        return float(self._heard.get(component, {}).get(key, 0.0))

    def _counts(self, component: str, prefix: str) -> dict[str, int]:
        """A component's newest counts under keys that begin with a prefix, by the rest of the key."""
        values = self._heard.get(component, {})
        return {key[len(prefix) :]: int(text) for key, text in values.items() if key.startswith(prefix)}


class IdentifyingWatch(LiveWatch, ABC):
    """The watch of a demo whose robot plays a motion that a node identifies from."""

    @property
    @abstractmethod
    def finished(self) -> bool:
        """Whether the robot has ended its motion."""

    @property
    @abstractmethod
    def waiting(self) -> bool:
        """Whether the node has messages that it has not got to yet."""


class MotionWatch(IdentifyingWatch):
    """The watch of a demo whose robot tells its motion by one status, and its identifier by another.

    Args:
        robot, identifier: their statuses in the diagnostics.
    """

    def __init__(self, robot: str, identifier: str) -> None:
        super().__init__()
        self._robot_status, self._identifier_status = robot, identifier

    @property
    def finished(self) -> bool:
        return self._text(self._robot_status, STATE) == ROBOT_FINISHED

    @property
    def waiting(self) -> bool:
        """Whether the identifier has messages that it has not got to yet."""
        sent = self._counts(self._robot_status, PUBLISHED)
        heard = self._counts(self._identifier_status, RECEIVED)
        return sent != heard or self._number(self._identifier_status, WAITING) > 0

    @property
    def elapsed(self) -> float:
        """Time of the robot's motion [s]."""
        return self._number(self._robot_status, ELAPSED)

    @property
    def behind(self) -> float:
        """By which the motion took longer than its stamps say [s]."""
        return self._number(self._robot_status, BEHIND)

    @property
    def overloaded(self) -> bool:
        """Whether the identifier has lost messages because it could not keep up: then no replay equals it."""
        return self._number(self._identifier_status, OVERLOAD) > 0

    @property
    def solve_time(self) -> float:
        """Of the newest window [s]."""
        return self._number(self._identifier_status, SOLVE_TIME)
