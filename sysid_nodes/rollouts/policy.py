# SPDX-License-Identifier: Apache-2.0
"""Policies that obey commands: what rollouts and simulated robots want of one, scripted or trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

ALL_OBEYED: Array = np.full(5, np.inf)
"""Of a controller that knows no largest commands."""

FALLEN_TILT = 0.5
"""Cosine of the tilt below which a robot has fallen."""


@dataclass(frozen=True)
class Command:
    """Of B robots.

    Attributes:
        velocity: (B, 3) forward and left [m/s] and turn rate [rad/s], in the heading's axes.
        attitude: (B, 2) roll and pitch [rad].
        height: (B,) of the base above the ground [m].
        gait: (B,) numbers of `GAITS`.
        frequency: (B,) of the stride [Hz].
    """

    velocity: Array
    attitude: Array
    height: Array
    gait: npt.NDArray[np.int64]
    frequency: Array

    @classmethod
    def standing(cls, count: int, height: float = 0.29) -> Command:
        """All of `count` robots stand."""
        none = np.zeros(count, dtype=np.int64)
        return cls(np.zeros((count, 3)), np.zeros((count, 2)), np.full(count, height), none, np.full(count, 2.4))


_M = TypeVar("_M", bound="Memory")


@dataclass(frozen=True)
class Memory:
    """State of a policy of B robots between two calls, in arrays (B, ...).

    Attributes:
        fallen: (B,) robots that have fallen; their drives only damp.
    """

    fallen: BoolArray

    def take(self: _M, which: npt.NDArray[np.int64]) -> _M:
        """Of robots (B',) of these."""
        return type(self)(**{f.name: getattr(self, f.name)[which] for f in fields(self)})

    @classmethod
    def join(cls: type[_M], parts: Sequence[_M]) -> _M:
        """Of all robots of these."""
        return cls(**{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(cls)})


class CommandedPolicy(Protocol):
    """Controller of B robots.

    Attributes:
        memory: of the motion so far; None begins one.
        period: between two set-points [s].
        id: digest of all that decides what it does, for plans that are for it alone.
        posture: (n,) joints of a robot that stands [rad].
        walking_height: of the base, at which it walks well [m].
        obeyed: (5,) largest commands that are sensible: speed forward and sideways, turn rate, roll, pitch
            [m/s, m/s, rad/s, rad, rad].
    """

    memory: Any
    id: str
    period: float
    posture: Array
    walking_height: float
    obeyed: Array

    @property
    def standing_height(self) -> float:
        """Of the base above the ground in `posture` with the base level and the feet on it [m]."""

    def set_points(self, state: Array, command: Command) -> Array:
        """(B, n) positions for the drives during the next period [rad]; states (B, nq + nv) are MuJoCo's."""
