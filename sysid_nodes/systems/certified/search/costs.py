# SPDX-License-Identifier: Apache-2.0
"""Costs that a planner minimises over k, among them the cost of being away from a joint goal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError, SamplesError
from sysid_nodes.models.bezier import Bezier, State

Array = npt.NDArray[np.float64]


class Cost(Protocol):
    """A smooth function of the displacement k (n,) [rad]: value and gradient (n,)."""

    def __call__(self, k: Array) -> tuple[float, Array]: ...


@dataclass(frozen=True, eq=False)
class ReachCost:
    """Squared distance to a joint goal: sum_j w_j (q_j(t_f) - goal_j)^2 + early sum_j w_j (q_j(t_p) - goal_j)^2.

    The second term asks for progress before the next plan takes over: without it a goal far outside the k-range is
    approached only as fast as the resting position shows.

    Attributes:
        start: (n,) state the plan starts from.
        duration: t_f [s].
        goal: (n,) [rad], unwrapped like the start.
        weights: (n,) w, not negative [1/rad2]; empty for ones.
        replan: t_p [s], not beyond t_f.
        early: weight of the second term.

    Raises:
        SamplesError: a vector has another length than the start or is not finite.
        ConfigError: weights, times or early are out of range.
    """

    start: State
    duration: float
    goal: Array
    weights: Array | tuple[()] = ()
    replan: float = 0.0
    early: float = 0.0

    def __post_init__(self) -> None:
        start = Bezier(*self.start, np.zeros(np.shape(self.start[0])), self.duration)  # checks state and duration
        goal = np.asarray(self.goal, dtype=np.float64)
        weights = np.asarray(self.weights if np.size(self.weights) else np.ones(start.n), dtype=np.float64)
        for name, value in (("goal", goal), ("weights", weights)):
            if value.shape != (start.n,) or not np.isfinite(value).all():
                raise SamplesError(f"{name} must be {start.n} finite numbers, one a joint, got {value}")
        if (weights < 0.0).any() or not self.early >= 0.0:
            raise ConfigError("the weights of a goal must not be negative")
        if not 0.0 <= self.replan <= start.duration:
            raise ConfigError(f"t_p = {self.replan:g} s is not within the plan of {start.duration:g} s")
        object.__setattr__(self, "goal", goal)
        object.__setattr__(self, "weights", weights)

    def __call__(self, k: Array) -> tuple[float, Array]:
        """Value and gradient (n,). Raises SamplesError if k is not (n,) finite numbers."""
        motion = Bezier(*self.start, k, self.duration)
        away, away_early = motion.goal - self.goal, motion(self.replan).q - self.goal
        share = motion.derivative_wrt_k(self.replan)[0]
        weights = np.asarray(self.weights)
        value = weights @ away**2 + self.early * (weights @ away_early**2)
        return float(value), 2.0 * weights * (away + self.early * share * away_early)
