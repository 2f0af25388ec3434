# SPDX-License-Identifier: Apache-2.0
"""A certifier's answer about a trajectory."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Verdict(IntEnum):
    """Why a trajectory is refused, or that it is not. Numbers are those of CertifiedTrajectory.msg's verdict."""

    CERTIFIED = 0
    TRACKING = 1
    TORQUE = 2
    POSITION = 3
    VELOCITY = 4
    OBSTACLE = 5
    SELF_COLLISION = 6

    @property
    def message(self) -> str:
        """One sentence for people."""
        return _MESSAGES[self]


_MESSAGES = {
    Verdict.CERTIFIED: "safe for every model in the bounds",
    Verdict.TRACKING: "the controller's errors cannot be bounded for every model in the bounds",
    Verdict.TORQUE: "a torque limit may be exceeded",
    Verdict.POSITION: "a position limit may be exceeded",
    Verdict.VELOCITY: "a velocity limit may be exceeded",
    Verdict.OBSTACLE: "an obstacle may be touched",
    Verdict.SELF_COLLISION: "the robot may touch itself",
}


@dataclass(frozen=True)
class Margins:
    """Least distance of the possible motion from each limit; negative where unproven, infinite without a limit.

    Attributes:
        torque, position, velocity: (n,) by joint [N m, rad, rad/s].
        obstacle: between the robot with its load and any obstacle [m].
        self_distance: between parts of the robot [m].
    """

    torque: Array
    position: Array
    velocity: Array
    obstacle: float
    self_distance: float

    def worst(self) -> tuple[Verdict, float]:
        """The first kind of limit that is not kept, with its margin; else CERTIFIED and 0."""
        kinds = (
            (Verdict.TORQUE, float(self.torque.min(initial=np.inf))),
            (Verdict.POSITION, float(self.position.min(initial=np.inf))),
            (Verdict.VELOCITY, float(self.velocity.min(initial=np.inf))),
            (Verdict.OBSTACLE, self.obstacle),
            (Verdict.SELF_COLLISION, self.self_distance),
        )
        # "not >=", so that NaN refuses as well.
        return next(((kind, margin) for kind, margin in kinds if not margin >= 0.0), (Verdict.CERTIFIED, 0.0))


@dataclass(frozen=True)
class Entry:
    """Bounds on the errors where a trajectory begins.

    Attributes:
        level: bound on V = r' M r / 2 [J].
        position: bound on sqrt(sum I_a,j e_j^2) [kg^0.5 rad].
        speed: bound on |dr/dt| in the norm of M while torques of the former trajectory act.
        jerk: (n,) bound on the jerk that the former trajectory desires meanwhile [rad/s3].
    """

    level: float
    position: float
    speed: float
    jerk: Array


@dataclass(frozen=True)
class Envelope:
    """Proven errors over the time intervals of a trajectory; the last interval has no end.

    Attributes:
        edges: (T + 1,) [s]; the last is infinite.
        level: (T,) bound on V [J].
        position: (T,) bound on sqrt(sum I_a,j e_j^2) [kg^0.5 rad].
        position_error, reference_error: (T, n) the same by joint: bounds on |e| [rad] and |r| [rad/s].
        acceleration: (T, n) bound on each |dr/dt| [rad/s2].
        speed: (T,) bound on |dr/dt| in the norm of M.
        jerk: (T, n) bound on the desired jerk [rad/s3].
    """

    edges: Array
    level: Array
    position: Array
    position_error: Array
    reference_error: Array
    acceleration: Array
    speed: Array
    jerk: Array

    def interval(self, t: float) -> int:
        """Index of the interval that holds a time."""
        return int(np.clip(np.searchsorted(self.edges, t, side="right") - 1, 0, len(self.level) - 1))

    def entry(self, t: float) -> Entry:
        """Error bounds for a trajectory that takes over at a time.

        Torques of this one act for a little longer, perhaps in the next interval.
        """
        i = self.interval(t)
        after = slice(i, i + 2)
        return Entry(
            float(self.level[i]), float(self.position[i]), float(self.speed[after].max()), self.jerk[after].max(axis=0)
        )


@dataclass(frozen=True)
class Certificate:
    """The certifier's answer.

    Attributes:
        verdict: CERTIFIED, or why not.
        margins: by kind of limit; all minus infinite where errors cannot be bounded.
        binding: the quantity nearest to its limit, in words.
        robust_limit: (n,) clip of the robust input, part of what was certified [N m].
        torque: (n,) largest command, robust input included [N m].
        envelope: proven errors; None where there are none.
        iterations: passes of the error bound.
        unproven: kinds of limits whose margins are only estimated.
    """

    verdict: Verdict
    margins: Margins
    binding: str
    robust_limit: Array
    torque: Array
    envelope: Envelope | None
    iterations: int
    unproven: tuple[Verdict, ...] = ()

    @property
    def certified(self) -> bool:
        """Whether the trajectory may be executed."""
        return self.verdict is Verdict.CERTIFIED
