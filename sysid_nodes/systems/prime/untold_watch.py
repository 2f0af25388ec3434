# SPDX-License-Identifier: Apache-2.0
"""Effects that a moving horizon leaves out: the score test of untold.py on what left the window.

Every stage goes into the sums once, when it leaves (carried.py), and the sums are looked at four times a second. They
begin anew every ten seconds, as if effects began there: one that sets in late is not drowned by what was before. What
is taken for constants by then is lost to them, so that the first sums after an effect has begun show it best; one that
was shown stays, for constants have taken up what it did.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.results.prime import UntoldEffect
from sysid_nodes.systems.prime.carried import Carried
from sysid_nodes.systems.prime.directions import MOVED, SPRING, STEADY, Direction, Past, directions
from sysid_nodes.systems.prime.prior import prior_jacobian, prior_residual
from sysid_nodes.systems.prime.problem import Arrival, PrimeProblem
from sysid_nodes.systems.prime.trajectory import Trajectory
from sysid_nodes.systems.prime.untold import WEAK, Shown, shown_effect

Array = npt.NDArray[np.float64]

_LOOK = 0.25
"""Time between two looks [s], and for which a jump of markers is looked for: later it is in the place."""

_LOOKS = 40
"""Looks at sums until they begin anew."""

_CHANCE = 1e-5
"""Probability that white noise alone shows one effect at a look: there are thousands in an hour."""


@dataclass(frozen=True)
class _Followed:
    """An effect and its place among the sizes."""

    effect: Direction
    place: slice


class UntoldWatch:
    """Of one moving horizon.

    Attributes:
        shown: the effect of all looks that explains most, if any.
    """

    def __init__(self) -> None:
        self.shown: UntoldEffect | None = None
        self._explained = 0.0
        self._followed: dict[tuple[str, int], _Followed] = {}
        self._past: Past | None = None
        self._stages = self._looks = 0

    def restart(self) -> None:
        """A motion ends."""
        self._past = None

    def effects(
        self, problem: PrimeProblem, point: Trajectory, count: int, *, fits: bool
    ) -> tuple[PrimeProblem, Mapping[str, Array]]:
        """The problem with an arrival of all sizes, and derivatives (B, m, e) of residuals by them; once a stage.

        Args:
            problem: of a window, without limits.
            point: of linearisation.
            count: stages that leave next.
            fits: whether noise explains the window, and the robot moved. What an impact or a slip leaves would pass for
                any effect: sums begin anew then.
        """
        if not fits:
            self._past = None
            none = Carried.nothing(len(problem.arrival.carried.cross))
            return replace(problem, arrival=replace(problem.arrival, carried=none)), {}
        leaving, head = _leaving(problem, point, count)
        past = self._past or Past.beginning(point)
        self._past = past.after(leaving, head)
        seen: dict[str, int] = {}
        present = []
        for effect in directions(leaving, head, past):
            key = effect.name, seen.setdefault(effect.name, 0)
            seen[effect.name] += 1
            if key not in self._followed:
                first = self._count
                self._followed[key] = _Followed(replace(effect, columns={}), slice(first, first + effect.count))
            present.append((effect, self._followed[key].place))
        by: dict[str, Array] = {}
        for effect, place in present:
            for name, columns in effect.columns.items():
                whole = by.setdefault(name, np.zeros((*columns.shape[:2], self._count)))
                whole[:, :, place] = effect.harmless * columns
        arrival = problem.arrival
        return replace(problem, arrival=replace(arrival, carried=arrival.carried.widen(self._count))), by

    @property
    def _count(self) -> int:
        return max((one.place.stop for one in self._followed.values()), default=0)

    def look(self, problem: PrimeProblem, arrival: Arrival, count: int) -> Arrival:
        """Looks at what left the window if it is time; returns the arrival with the sums that go on.

        Args:
            problem: that has left.
            arrival: after the stages that left.
            count: stages that left.
        """
        self._stages += count
        if self._stages * problem.model.config.step < _LOOK:
            return arrival
        self._stages = 0
        if not len(arrival.carried.gradient):
            return arrival
        found = self._test(problem, arrival)
        if found is not None and found.explained > self._explained:
            self._explained, self.shown = found.explained, found.effect
        self._looks += 1
        if self._looks >= _LOOKS:
            self._looks = 0
            self._past = None if self._past is None else replace(self._past, place=arrival.q[0, :3])
            return replace(arrival, carried=Carried.nothing(len(arrival.carried.cross), self._count))
        jumps = [one.place for (name, _), one in self._followed.items() if name == MOVED]
        for place in jumps:
            arrival = replace(arrival, carried=arrival.carried.forget(place))
        return arrival

    def _test(self, problem: PrimeProblem, arrival: Arrival) -> Shown | None:
        """The effect that explains most, all constants and the window's first stages at their best."""
        left = _conclude(problem, arrival)
        sizes = (
            (one.effect, *self._size(left, one)) for one in self._followed.values() if left.information[one.place].any()
        )
        return shown_effect(sizes, left.excess, _CHANCE)

    def _size(self, left: Carried, one: _Followed) -> tuple[Array, Array]:
        """Size (e,) and covariance (e, e) of an effect, were it the only one, in its own unit.

        Where a spring is at rest is not known: a steady force is beside it.
        """
        places = [one.place, *([self._followed[STEADY, 0].place] if one.effect.name == SPRING else [])]
        chosen = np.concatenate([np.arange(self._count)[place] for place in places])
        count = one.place.stop - one.place.start
        information = left.information[np.ix_(chosen, chosen)]
        covariance = np.asarray(np.linalg.inv(information + WEAK**-2 * np.eye(len(chosen))))
        size = -covariance @ left.gradient[chosen]
        return one.effect.harmless * size[:count], one.effect.harmless**2 * covariance[:count, :count]


def _leaving(problem: PrimeProblem, point: Trajectory, count: int) -> tuple[PrimeProblem, Trajectory]:
    """The problem with the readings that leave with the first stages alone, and all stages that these are about."""
    kept = slice(count + 2)
    head = Trajectory(point.q[kept], point.w[kept], point.theta)
    return replace(problem, readings=tuple(one.between(count + 1, point, head) for one in problem.readings)), head


def _conclude(problem: PrimeProblem, arrival: Arrival) -> Carried:
    """The sums when all unknowns take their best values, the constants with their own prior."""
    parameters, inertia, theta = problem.model.parameters, problem.model.config.inertia, arrival.theta
    prior, split = arrival.prior, arrival.prior.root.shape[1] - arrival.prior.parameters
    linear = parameters.linear_jacobian(theta)
    own = prior_jacobian(parameters, inertia, theta)
    root = np.zeros((len(prior.root) + len(own), prior.root.shape[1]))
    root[: len(prior.root)] = prior.root
    root[: len(prior.root), split:] = prior.root[:, split:] @ linear
    root[len(prior.root) :, split:] = own
    offset = np.concatenate([prior.offset, prior_residual(parameters, inertia, theta)])
    slope = np.eye(root.shape[1])
    slope[split:, split:] = linear
    return arrival.carried.change_unknowns(slope).eliminate(root, offset, root.shape[1])
