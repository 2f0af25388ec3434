# SPDX-License-Identifier: Apache-2.0
"""Robots that follow commands: the estimated one and others that the estimate allows, under one controller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from sysid_nodes.results.exploration import Posterior
from sysid_nodes.rollouts import CommandedPolicy, DrivenSimulations, Variants, Walks, walk
from sysid_nodes.rollouts.policy import Memory
from sysid_nodes.systems.sampling.exploration.criteria import invert
from sysid_nodes.systems.sampling.exploration.curves import CommandCurves
from sysid_nodes.systems.sampling.unknowns import Unknowns

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def draw(posterior: Posterior, unknowns: Unknowns, count: int, rng: np.random.Generator) -> list[Array]:
    """Vectors (K,) of robots that the estimate allows, within the bounds of the search.

    What a bound holds spreads, away from it, as the information has it.
    """
    held = np.diag(np.diag(posterior.covariance) <= 0.0).astype(np.float64)
    covariance = posterior.covariance + held @ invert(posterior.information) @ held
    values, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    sample = posterior.values + rng.standard_normal((count, len(values))) @ root.T
    return list(np.clip(sample, unknowns.column("lower"), unknowns.column("upper")))


@dataclass(frozen=True)
class Places:
    """Where B robots are between two segments: states (B, nq + nv) and what their controllers keep."""

    states: Array
    memory: Memory

    def take(self, which: IntArray) -> Places:
        """Of robots (B',) of these."""
        return Places(self.states[which], self.memory.take(which))

    @classmethod
    def join(cls, parts: Sequence[Places]) -> Places:
        """Of all robots of these."""
        memory = type(parts[0].memory).join([part.memory for part in parts])
        return cls(np.concatenate([part.states for part in parts]), memory)

    @classmethod
    def after(cls, walks: Walks) -> Places:
        """Where robots have come to."""
        return cls(walks.states[:, -1], walks.memory)


class Crowd:
    """R robots that one controller moves.

    Args:
        variants: (R) their parameters.
    """

    def __init__(self, simulations: DrivenSimulations, policy: CommandedPolicy, variants: Variants) -> None:
        self._simulations, self._policy, self._variants = simulations, policy, variants

    def __len__(self) -> int:
        return len(self._variants)

    def settle(self, height: float, duration: float) -> Places:
        """Where all of them are once they have stood for a duration [s]."""
        n = self._simulations.joints
        start = np.zeros((len(self), 13 + 2 * n))
        start[:, 3], start[:, 7 : 7 + n] = 1.0, self._policy.posture
        start[:, 2] = self._policy.standing_height
        least = max(duration, self._policy.period)
        standing = CommandCurves.standing(len(self), height)
        return Places.after(self._walk(np.arange(len(self)), start, None, standing, least, 50))

    def follow(
        self, which: IntArray, places: Places, curves: CommandCurves, duration: float, *, every: int = 1
    ) -> Walks:
        """Robots (B,) by their numbers, from places of B, under commands of B, for a duration [s]."""
        return self._walk(which, places.states, places.memory, curves, duration, every)

    def _walk(
        self, which: IntArray, start: Array, memory: Memory | None, curves: CommandCurves, duration: float, every: int
    ) -> Walks:
        parts = []
        for begin in range(0, len(which), self._simulations.capacity):
            part = np.arange(begin, min(begin + self._simulations.capacity, len(which)))
            own = curves.take(part)
            parts.append(
                walk(
                    self._simulations,
                    self._policy,
                    self._variants,
                    which[part],
                    start[part],
                    own.at,
                    duration,
                    every=every,
                    memory=None if memory is None else memory.take(part),
                )
            )
        return _join(parts)


def _join(parts: list[Walks]) -> Walks:
    if len(parts) == 1:
        return parts[0]
    memory = type(parts[0].memory).join([part.memory for part in parts])
    own = {f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Walks) if f.name != "memory"}
    return Walks(**own, memory=memory)
