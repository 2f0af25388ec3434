# SPDX-License-Identifier: Apache-2.0
"""A certifier's answer about a trajectory."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


PROOFS = ("energy", "delayed")
"""Of the errors: systems/certified/certificate/tracking.py and delayed.py."""


class Verdict(IntEnum):
    """Reason to refuse a trajectory, or that there is none. Numbers are those of CertifiedTrajectory.msg's verdict."""

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
        position_norm, reference_norm: bounds on the norms of e and r in the metric of the delayed proof; infinite where
            the level and the position are all that is known.
        position_error, reference_error: (n,) bounds on |e| [rad] and |r| [rad/s]; infinite likewise.
        apart_norm, apart_error: bounds on the norm of r - r_bar and (n,) on each, r_bar being what r settles at by a
            delayed proof for the nominal model below; infinite likewise.
        theta: (n, 10) that nominal model; empty where there is none.
    """

    level: float
    position: float
    speed: float
    jerk: Array
    position_norm: float = np.inf
    reference_norm: float = np.inf
    position_error: Array = field(default_factory=lambda: np.array(np.inf))
    reference_error: Array = field(default_factory=lambda: np.array(np.inf))
    apart_norm: float = np.inf
    apart_error: Array = field(default_factory=lambda: np.array(np.inf))
    theta: Array = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class Settling:
    """Distance of r from what it settles at, r_bar, over the time intervals of a delayed proof.

    Attributes:
        norm: (T,) bound on the norm of r - r_bar in the metric of the proof.
        error: (T, n) the same by joint [rad/s].
        theta: (n, 10) nominal model that r_bar is of.
    """

    norm: Array
    error: Array
    theta: Array

    def at(self, interval: int) -> tuple[float, Array, Array]:
        """The three in an interval."""
        return float(self.norm[interval]), self.error[interval], self.theta


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
        change: (T,) bound on dr/dt in the metric of the proof; where none is given, ``speed``, which is no less.
        weight: w with M <= w diag(metric); 1 where the norms of level and position are those of M and I_a.
        settling: of a delayed proof, None otherwise.
    """

    edges: Array
    level: Array
    position: Array
    position_error: Array
    reference_error: Array
    acceleration: Array
    speed: Array
    jerk: Array
    change: Array = field(default_factory=lambda: np.zeros(0))
    weight: float = 1.0
    settling: Settling | None = None

    def __post_init__(self) -> None:
        if not self.change.size:
            object.__setattr__(self, "change", self.speed)

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
            float(self.weight * self.level[i]),
            float(np.sqrt(self.weight) * self.position[i]),
            float(self.speed[after].max()),
            self.jerk[after].max(axis=0),
            float(self.position[i]),
            float(np.sqrt(2.0 * self.level[i])) * (1.0 + 1e-12),
            self.position_error[i],
            self.reference_error[i],
            *(() if self.settling is None else self.settling.at(i)),
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
        proof: how the errors were bounded, one of PROOFS.
    """

    verdict: Verdict
    margins: Margins
    binding: str
    robust_limit: Array
    torque: Array
    envelope: Envelope | None
    iterations: int
    unproven: tuple[Verdict, ...] = ()
    proof: str = "energy"

    @property
    def certified(self) -> bool:
        """Whether the trajectory may be executed."""
        return self.verdict is Verdict.CERTIFIED
