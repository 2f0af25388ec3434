# SPDX-License-Identifier: Apache-2.0
"""Closed loops and contacts, of which a URDF is silent, as a configuration says them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sysid_nodes.exceptions import RobotError

POINT, HINGE, WELD, PLANE, SLIDER, TOUCH = "point", "hinge", "weld", "plane", "slider", "touch"
KINDS = (POINT, HINGE, WELD, PLANE, SLIDER, TOUCH)
"""Of closures. Hinges turn about, sliders move along, planes lie across the ends' common z axis; a point that touches
stays in the plane z = 0 of the other end."""
CONTACTS = (POINT, TOUCH)
"""Kinds that may begin and end."""

_FILES = (".xml", ".mjcf", ".sdf", ".world")
_SAME = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True)
class LoopEnd:
    """A frame fixed to a link of a URDF.

    Attributes:
        link: by name; `universe` for the base's surroundings.
        place: of the frame in the link [m].
        turn: its orientation there, a quaternion x, y, z, w.
    """

    link: str
    place: tuple[float, ...] = _SAME[0]
    turn: tuple[float, ...] = _SAME[1]


@dataclass(frozen=True)
class Loop:
    """Two frames that a closed loop holds together, but for what its kind leaves free."""

    first: LoopEnd
    second: LoopEnd
    kind: str = POINT


@dataclass(frozen=True)
class Contact:
    """A point of a link that meets the plane z = 0 of another for some time.

    Attributes:
        loop: the plane's frame, then the point's.
        since: when it strikes [s from the beginning of a log]; it may have touched before the log.
        until: when it leaves, at least as late; the same where it bounces.
    """

    loop: Loop
    since: float
    until: float

    @property
    def bounces(self) -> bool:
        """Whether it leaves at once."""
        return self.until == self.since


def is_file(word: str) -> bool:
    """Whether a word of the configuration names a file instead of two links."""
    return Path(word).suffix in _FILES


def parse_loop(word: str) -> Loop:
    """The loop of "LINK:LINK" or "LINK:LINK:KIND": two links whose frames coincide.

    Raises:
        RobotError: it says something else.
    """
    first, _, rest = (part.strip() for part in word.partition(":"))
    second, _, kind = (part.strip() for part in rest.partition(":"))
    if not first or not second or (kind or POINT) not in KINDS:
        raise RobotError(f"a loop is closed by LINK:LINK or LINK:LINK:KIND with {', '.join(KINDS)}; got '{word}'")
    if kind == TOUCH:  # of which the plane's axes count
        first, second = second, first
    return Loop(LoopEnd(first), LoopEnd(second), kind or POINT)


def parse_contact(word: str) -> Contact:
    """The contact of "LINK:PLANE:KIND@SINCE..UNTIL", or "LINK:PLANE:touch@WHEN" of a point that bounces.

    Raises:
        RobotError: it says something else.
    """
    ends, _, when = word.partition("@")
    try:
        since, dots, until = (part.strip() for part in when.partition(".."))
        times = float(since), float(until if dots else since)
        loop = parse_loop(ends)
        possible = np.isfinite(times).all() and times[0] <= times[1] and (loop.kind == TOUCH or times[0] < times[1])
    except ValueError:
        possible = False
    if not possible or loop.kind not in CONTACTS:
        raise RobotError(
            "a contact is LINK:PLANE:touch@WHEN of a point that bounces, or LINK:PLANE:KIND@SINCE..UNTIL with "
            f"{' or '.join(CONTACTS)}, in s; got '{word}'"
        )
    plane, point = (loop.first, loop.second) if loop.kind == TOUCH else (loop.second, loop.first)
    return Contact(Loop(plane, point, loop.kind), *times)
