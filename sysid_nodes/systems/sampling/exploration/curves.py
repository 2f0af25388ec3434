# SPDX-License-Identifier: Apache-2.0
"""Command curves: five Bezier curves a segment, each segment with one gait, joined without a jump."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb

import numpy as np
import numpy.typing as npt

from sysid_nodes.results.exploration import ExplorationPlan
from sysid_nodes.rollouts import FREQUENCY, GAITS, Command

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_LEAST = 0.4  # part of the largest commands that is bold


@dataclass(frozen=True)
class CommandCurves:
    """Of B robots over S segments; before the first and after the last they stand.

    Attributes:
        points: (B, S, 5, D + 1) control points.
        gaits: (B, S) numbers of gaits.
        segment: [s].
        height: of the base [m].
    """

    points: Array
    gaits: IntArray
    segment: float
    height: float

    @classmethod
    def of(cls, plan: ExplorationPlan) -> CommandCurves:
        """Of one robot that follows a plan."""
        gaits = np.array([[GAITS.index(name) for name in plan.gaits]])
        return cls(plan.points[None], gaits, plan.segment, plan.height)

    @classmethod
    def standing(cls, count: int, height: float, segment: float = 1.0, degree: int = 1) -> CommandCurves:
        """Of robots that stand."""
        return cls(np.zeros((count, 0, 5, degree + 1)), np.zeros((count, 0), dtype=np.int64), segment, height)

    @classmethod
    def joined(cls, parts: Sequence[CommandCurves]) -> CommandCurves:
        """Of the robots of all parts, whose segments and heights are those of the first."""
        points, gaits = (np.concatenate([getattr(part, name) for part in parts]) for name in ("points", "gaits"))
        return replace(parts[0], points=points, gaits=gaits)

    @property
    def duration(self) -> float:
        """[s]."""
        return float(self.segment * self.gaits.shape[1])

    def at(self, time: float) -> Command:
        """The commands at a time since the start of the first segment [s]."""
        count, segments = self.gaits.shape
        k = int(np.floor(time / self.segment + 1e-9))
        if not 0 <= k < segments:
            return Command.standing(count, self.height)
        values = self.points[:, k] @ self._basis(time / self.segment - k)
        gait = self.gaits[:, k]
        height = np.full(count, self.height)
        return Command(values[:, :3], values[:, 3:], height, gait, FREQUENCY[gait])

    def repeat(self, times: int) -> CommandCurves:
        """Those of each robot so many times, one after the other."""
        return self.take(np.repeat(np.arange(len(self.gaits)), times))

    def take(self, which: IntArray) -> CommandCurves:
        """Those of robots (B',) of these."""
        return replace(self, points=self.points[which], gaits=self.gaits[which])

    def append(self, points: Array, gaits: IntArray) -> CommandCurves:
        """With one more segment: control points (B, 5, D + 1) and gaits (B,)."""
        return replace(
            self,
            points=np.concatenate([self.points, points[:, None]], axis=1),
            gaits=np.column_stack([self.gaits, gaits]),
        )

    def _basis(self, s: float) -> Array:
        degree = self._degree
        powers = s ** np.arange(degree + 1) * (1.0 - s) ** np.arange(degree, -1, -1)
        return np.asarray(self._binomials * powers)

    @property
    def _degree(self) -> int:
        return int(self.points.shape[-1]) - 1

    @cached_property
    def _binomials(self) -> Array:
        return np.array([comb(self._degree, k) for k in range(self._degree + 1)], dtype=np.float64)


@dataclass(frozen=True)
class CurveSpace:
    """Numbers from -1 to 1 that stand for one segment: its control points, and a last one for the gait.

    Attributes:
        largest: (5,) commands.
        gaits: numbers of those to choose from.
        degree: of the curves.
    """

    largest: Array
    gaits: Sequence[int]
    degree: int

    @property
    def size(self) -> int:
        """Of a vector."""
        return 5 * self.degree + 1

    def segment(self, vectors: Array, before: Array, *, scale: float = 1.0, last: bool) -> tuple[Array, IntArray]:
        """Control points (P, 5, D + 1) and gaits (P,) of vectors (P, size).

        Args:
            vectors: numbers from -1 to 1.
            before: (5,) where the segment before ends.
            scale: of the largest commands.
            last: whether the commands are to end at zero.
        """
        count = len(vectors)
        points = np.empty((count, 5, self.degree + 1))
        points[..., 0] = before
        points[..., 1:] = vectors[:, :-1].reshape(count, 5, self.degree) * scale * self.largest[:, None]
        if last:
            points[..., -1] = 0.0
        share = np.clip(0.5 * (vectors[:, -1] + 1.0), 0.0, 1.0 - 1e-9)
        return points, np.asarray(self.gaits, dtype=np.int64)[(share * len(self.gaits)).astype(np.int64)]

    def stop_segment(self, before: Array, segment: float, height: float) -> CommandCurves:
        """A segment in which the robot stands, its commands going back to zero from where the segment before ends."""
        points = np.zeros((1, 1, 5, self.degree + 1))
        points[..., 0] = before
        return CommandCurves(points, np.full((1, 1), GAITS.index("stand")), segment, height)

    def draw_large(self, count: int, rng: np.random.Generator) -> Array:
        """(P, size) vectors of large commands that turn round once or not at all; every gait as often."""
        sides = rng.choice([-1.0, 1.0], (count, 5, 1)) * rng.uniform(_LEAST, 1.0, (count, 1, 1))
        turns = rng.integers(1, 2 * self.degree, (count, 5, 1))
        curves = np.where(np.arange(self.degree) < turns, sides, -sides)
        gaits = (2.0 * (np.arange(count) % len(self.gaits)) + 1.0) / len(self.gaits) - 1.0
        return np.column_stack([curves.reshape(count, -1), gaits])
