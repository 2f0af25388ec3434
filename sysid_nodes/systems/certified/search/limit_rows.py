# SPDX-License-Identifier: Apache-2.0
"""Room that limits leave to a displacement, linearised: the constraints of a search.

Nothing here is a proof. `Budget` is what a certificate takes beyond what sampling a trajectory shows; it is learned
from the certificates made (learned_budget.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.data.scene import Scene
from sysid_nodes.models.bezier import Bezier, State
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.robots.robot import Array
from sysid_nodes.systems.certified.search.effort import doubt_rows, effort, torque_rows
from sysid_nodes.systems.certified.search.nearness import Nearness

PENALTY = 3000.0
"""Weight of a squared shortfall, a limit's share or a decimetre being one, against a cost of order ten."""

_LOOK = 0.1
"""Distances beyond the wanted one by more than this [m] do not concern a search."""

_SPARE = 0.4
"""Nor does a motor with more than this share of its limit left."""

_DECIMETRE = 0.1


@dataclass(frozen=True)
class Budget:
    """Shares of the limits that certificates use.

    Attributes:
        distance: between the sampled distance and the certified one, margin included [m].
        torque: gap of `torque_rows`.
        doubt: most that `doubt_norm` may be.
        position, velocity: (n,) largest tracking errors [rad, rad/s].
    """

    distance: float
    torque: float
    doubt: float
    position: Array
    velocity: Array


@dataclass(frozen=True)
class Problem:
    """One planning step: where the trajectory starts and what it has to respect.

    Attributes:
        start: (n,) state.
        duration: t_f [s].
        scene: obstacles.
        budget: what certificates take.
        torque_limit: (n,) [N m].
        widest: (n,) largest |k|.
    """

    start: State
    duration: float
    box: ModelBox
    scene: Scene
    budget: Budget
    torque_limit: Array
    widest: Array


@dataclass(frozen=True)
class Rows:
    """Limits linearised in k: what each has left is offset + slope k, a whole limit or a decimetre being one.

    Attributes:
        offset: (M,).
        slope: (M, n) [1/rad].
    """

    offset: Array
    slope: Array

    def slack(self, k: Array) -> Array:
        """(M,) what is left at a displacement; negative where something is missing."""
        return np.asarray(self.offset + self.slope @ k)

    def penalty(self, k: Array) -> tuple[float, Array]:
        """Of what is missing, and its gradient (n,)."""
        missing = np.minimum(self.slack(k), 0.0)
        return PENALTY * float(missing @ missing), 2.0 * PENALTY * (missing @ self.slope)

    def shortfall(self, k: Array) -> float:
        """The most that is missing."""
        return float(np.maximum(-self.slack(k), 0.0).max(initial=0.0))

    def join(self, other: Rows) -> Rows:
        """Both."""
        return Rows(np.concatenate([self.offset, other.offset]), np.concatenate([self.slope, other.slope]))


def limit_rows(chain: Chain, nearness: Nearness, problem: Problem, plan: Bezier, samples: int) -> Rows:
    """Room that every limit that matters has left beyond its budget, linearised at a plan's k.

    Limits of position and velocity are not among them: they are intervals of k (k_range.py).

    Args:
        nearness: its distances.
        problem: the planning step; the plan may last as long as it likes.
        plan: a trajectory from the step's start.
        samples: instants looked at.
    """
    t = plan.duration * np.arange(1.0, samples + 1.0) / samples
    budget, found = problem.budget, effort(chain, problem.box, plan, t)
    parts = (
        torque_rows(found, problem.torque_limit, budget.torque),
        doubt_rows(found, problem.box.armature_lower, budget.doubt),
    )
    value, slope = (np.concatenate(part) for part in zip(*parts, strict=True))
    counts = value < _SPARE
    near = nearness.near(plan(t).q, problem.scene, budget.distance + _LOOK)
    share = plan.derivative_wrt_k(t)[0][near.sample, None] / _DECIMETRE
    left = np.concatenate([value[counts], (near.distance - budget.distance) / _DECIMETRE])
    slope = np.concatenate([slope[counts], near.gradient * share])
    return Rows(left - slope @ plan.k, slope)
