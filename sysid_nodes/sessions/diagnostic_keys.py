# SPDX-License-Identifier: Apache-2.0
"""Keys and words in diagnostics that other programs act on: who writes them and who reads them has them from here."""

from __future__ import annotations

from collections.abc import Mapping

WAITING = "messages waiting"
"""Messages that the node has received and not looked at."""

OVERLOAD = "messages lost to overload"
"""Messages that it dropped because too many waited."""

RECEIVED = "received on "
"""Begins the keys of the messages received, by topic."""

ROBOT_FINISHED = "finished"
"""State of a simulated robot whose motion is over."""

ROBOT_FALLEN = "fallen"
"""Trouble of a simulated robot that lies on the ground."""

CLOSEST_SHAPE = "shape closest to an obstacle"
"""The simulated arm's body whose distance to an obstacle was least so far, as `LINK/NUMBER`."""

CLOSEST_OBSTACLE = "obstacle closest to the robot"
"""The obstacle that this body was closest to; empty in an empty scene."""

_SAME = 2  # reports of nothing new and nothing waiting, after which a node is done


def received_on(topic: str) -> str:
    """Key of the messages that were received on a topic."""
    return RECEIVED + topic


def not_used(reason: str, stream: str = "") -> str:
    """Key of what was not used for a reason: messages, or readings of a stream."""
    return f"not used of {stream}: {reason}" if stream else f"not used: {reason}"


class Backlog:
    """Work that an identifying node still has with what was sent to it, by its diagnostics."""

    def __init__(self) -> None:
        self._reports: list[tuple[dict[str, str], str]] = []

    def clear(self) -> None:
        """Forgets all reports."""
        self._reports.clear()

    def hear(self, values: Mapping[str, str]) -> None:
        """Takes the node's next report; one that counts no messages is of something else."""
        received = {key: value for key, value in values.items() if key.startswith(RECEIVED)}
        if received and WAITING in values:
            self._reports.append((received, values[WAITING]))

    @property
    def done(self) -> bool:
        """Whether nothing has come for some reports and nothing waits."""
        last = self._reports[-_SAME:]
        return len(last) == _SAME and all(report == (last[0][0], "0") for report in last)
