# SPDX-License-Identifier: Apache-2.0
"""Whether a segment is fit to be executed: robots drawn from the posterior follow it, and none may come to harm.

They stop at its end. Without that, a segment could end in a step too long from which no next one saves the robot; with
it, there is one way to go on that nearly always is fit: to stand. A few robots go ahead of the others: a segment that
does harm to one in twenty is refused for a tenth of the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.results.exploration import Vetting
from sysid_nodes.robots import Robot
from sysid_nodes.rollouts import Walks
from sysid_nodes.rollouts.shells import Shell
from sysid_nodes.systems.sampling.exploration.crowd import Crowd, Places
from sysid_nodes.systems.sampling.exploration.curves import CommandCurves

Array = npt.NDArray[np.float64]

_STOPS = 0.03  # by which a joint presses into its soft stops [rad]

COARSE = 25
"""Steps between two states that are looked at."""

_COLUMNS = "fallen", "knelt", "excess", "reach"
_FIRST, _MORE = 16, 4  # robots that go ahead, and how many times as many follow each time


@dataclass(frozen=True)
class Vetted:
    """Behaviour of all robots in a segment, or of those that went ahead where one of these came to harm.

    Attributes:
        harmed: (R,) robots that came to harm; none of those that were not looked at.
        places: (R) at the segment's end; of a segment that does harm, of those that went ahead.
    """

    vetting: Vetting
    harmed: npt.NDArray[np.bool_]
    places: Places


@dataclass(frozen=True)
class Conditions:
    """Conditions that no robot may break.

    Attributes:
        robot: its limits.
        shell: what must not touch the ground.
        area: furthest that a robot may go [m].
        stop: time in which it comes to rest [s].
    """

    robot: Robot
    shell: Shell
    area: float
    stop: float

    def judge(self, walks: Walks, every: int = 1) -> Behaviour:
        """Of B robots; every so many of the recorded states are looked at."""
        limits, states = self.robot.limits, np.nan_to_num(walks.states[:, ::-every])
        q = states[..., 7 : 7 + self.robot.n]
        out = np.maximum(limits.position_lower - q, q - limits.position_upper).max(axis=(1, 2))
        fast, strong = (walks.rate - limits.velocity).max(axis=1), (walks.torque - limits.torque).max(axis=1)
        return Behaviour(
            walks.fallen,
            np.asarray(self.shell.touches(states).any(axis=1)),
            np.column_stack([out, fast, strong]),
            np.linalg.norm(states[..., :2], axis=2).max(axis=1),
            self.area,
        )


@dataclass(frozen=True)
class Behaviour:
    """Of B robots.

    Attributes:
        fallen: (B,).
        knelt: (B,) whether they touched the ground with more than their feet.
        excess: (B, 3) by how much joints left their limits of position [rad], speed [rad/s] and torque [N m].
        reach: (B,) furthest from the start [m].
        area: that is free [m].
    """

    fallen: npt.NDArray[np.bool_]
    knelt: npt.NDArray[np.bool_]
    excess: Array
    reach: Array
    area: float

    @property
    def harmed(self) -> npt.NDArray[np.bool_]:
        """(B,) whether they came to harm."""
        excessive = (self.excess > [_STOPS, 0.0, 0.0]).any(axis=1) | (self.reach > self.area)
        return np.asarray(self.fallen | self.knelt | excessive)

    def worse(self, other: Behaviour) -> Behaviour:
        """Of the same robots in this and in other motion."""
        return Behaviour(
            self.fallen | other.fallen,
            self.knelt | other.knelt,
            np.maximum(self.excess, other.excess),
            np.maximum(self.reach, other.reach),
            self.area,
        )

    @classmethod
    def join(cls, parts: Sequence[Behaviour]) -> Behaviour:
        """Of all robots of these."""
        fallen, knelt, excess, reach = (np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS)
        return cls(fallen, knelt, excess, reach, parts[0].area)

    @property
    def vetting(self) -> Vetting:
        """The verdict on all of them, the first of which is the estimated robot."""
        most, furthest, count = self.excess.max(axis=0), float(self.reach.max()), len(self.fallen)
        knelt, faults = int((self.knelt & ~self.fallen).sum()), []
        if self.fallen.any():
            faults.append(f"{self.fallen.sum()} of {count} robots that the estimate allows fall")
        if knelt:
            faults.append(f"{knelt} of {count} robots touch the ground with more than their feet")
        if most[0] > _STOPS:
            faults.append(f"a joint presses {most[0]:.2f} rad into its stop")
        if most[1] > 0.0:
            faults.append(f"a joint is {most[1]:.1f} rad/s faster than it may")
        if most[2] > 0.0:
            faults.append(f"a motor gives {most[2]:.1f} N m more than it may")
        if furthest > self.area:
            faults.append(f"a robot goes {furthest:.1f} m from its start, {self.area:.1f} m are free")
        return Vetting(count - 1, int(self.fallen.sum()), most, furthest, tuple(faults))


def vet(
    crowd: Crowd, places: Places, curves: CommandCurves, conditions: Conditions, tell: Callable[[int], None]
) -> Vetted:
    """All robots in a segment (curves of one robot), and in the stop after it.

    Args:
        crowd: the robots.
        places: where they are; positions are from where the plan begins.
        curves: of the segment.
        tell: called with the number of robots that have followed it.
    """
    seen: list[Behaviour] = []
    ends: list[Places] = []
    harmed, done, ahead = np.zeros(len(crowd), dtype=bool), 0, _FIRST
    while done < len(crowd) and not harmed.any():
        part = np.arange(done, min(done + ahead, len(crowd)))
        made = crowd.follow(part, places.take(part), curves.repeat(len(part)), curves.duration, every=COARSE)
        ends.append(Places.after(made))
        standing = CommandCurves.standing(len(part), curves.height)
        stopped = crowd.follow(part, ends[-1], standing, conditions.stop, every=COARSE)
        seen.append(conditions.judge(made).worse(conditions.judge(stopped)))
        harmed[part] = seen[-1].harmed
        done, ahead = done + len(part), _MORE * ahead
        tell(done)
    return Vetted(Behaviour.join(seen).vetting, harmed, Places.join(ends))


def together(parts: Sequence[Vetting]) -> Vetting:
    """Of one segment after the other."""
    return Vetting(
        parts[0].draws,
        parts[-1].fallen,
        np.max([part.excess for part in parts], axis=0),
        max(part.reach for part in parts),
        parts[-1].faults,
    )
