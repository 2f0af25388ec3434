# SPDX-License-Identifier: Apache-2.0
"""Closed loops, of which a URDF is silent, as a configuration says them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sysid_nodes.exceptions import RobotError

POINT, HINGE, WELD, PLANE, SLIDER = "point", "hinge", "weld", "plane", "slider"
KINDS = (POINT, HINGE, WELD, PLANE, SLIDER)
"""Of closures. Hinges turn about, sliders move along, planes lie across the ends' common z axis."""

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


def is_file(word: str) -> bool:
    """Whether a word of the configuration names a file instead of two links."""
    return Path(word).suffix in _FILES


def loop_of(word: str) -> Loop:
    """The loop of "LINK:LINK" or "LINK:LINK:KIND": two links whose frames coincide.

    Raises:
        RobotError: it says something else.
    """
    first, _, rest = (part.strip() for part in word.partition(":"))
    second, _, kind = (part.strip() for part in rest.partition(":"))
    if not first or not second or (kind or POINT) not in KINDS:
        raise RobotError(f"a loop is closed by LINK:LINK or LINK:LINK:KIND with {', '.join(KINDS)}; got '{word}'")
    return Loop(LoopEnd(first), LoopEnd(second), kind or POINT)
