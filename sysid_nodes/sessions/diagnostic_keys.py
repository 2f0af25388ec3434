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

PUBLISHED = "published on "
"""Begins the keys of the messages that a simulated robot sent, by topic."""

MESSAGE = "message"
"""Sentence of a status, which a demo's recorder puts beside its values."""

# Of a node that identifies.
FINDING = "finding"
REJECTED = "samples rejected"
SOLVE_TIME = "solve time [s]"
LAG = "lag [s]"
LONGEST_LAG = "longest lag [s]"
LOAD = "load [1]"
WINDOW = "window [stages]"
HOP = "steps between solves"
SOLVES = "solves"
SKIPPED = "steps skipped"

# Of a node that plans or controls.
PHASE = "phase"
LAST_OUTCOME = "last outcome"
UNCERTIFIED = "steps that certified nothing"
TIMED_OUT = "the last of them had no time"
LARGEST_SHARE = "largest share so far"
ACTIVITY = "activity"
FAULT = "fault"

# Of a simulated robot.
STATE = "state"
TROUBLE = "trouble"
FOLLOWS = "follows"
ELAPSED = "elapsed [s]"
BEHIND = "behind real time [s]"
AT_REST = "at rest"
REAL_TIME_FACTOR = "real-time factor"
CLEARANCE = "clearance to obstacles [m]"
CLOSEST_JOINT = "joint closest to an obstacle"
CLOSEST_OBSTACLE = "obstacle closest to it"

ROBOT_FINISHED = "finished"
"""State of a simulated robot whose motion is over."""

ROBOT_FALLEN = "fallen"
"""Trouble of a simulated robot that lies on the ground."""

_SAME = 2  # reports of nothing new and nothing waiting, after which a node is done


def received_on(topic: str) -> str:
    """Key of the messages that were received on a topic."""
    return RECEIVED + topic


def published_on(topic: str) -> str:
    """Key of the messages that were sent on a topic."""
    return PUBLISHED + topic


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
