# SPDX-License-Identifier: Apache-2.0
"""The purpose of a planning step: to learn about the body or the drives, or to reach a joint goal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sysid_nodes.models.bezier import Bezier, State
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.robots.robot import Array
from sysid_nodes.systems.certified.search.config import ExciteConfig
from sysid_nodes.systems.certified.search.costs import Cost
from sysid_nodes.systems.certified.search.excitation import ExcitationCost
from sysid_nodes.systems.certified.search.informative import InformativeCost, Objective, RowModel, Subject


@dataclass(frozen=True, eq=False)
class Excite:
    """Learn the parameters of the body or of the drives, counting what executed plans have told.

    Attributes:
        body: index of the body.
        scales: (10,) half-widths of its parameters known beforehand.
        config: objective and errors.
        past: information of what was executed; empty for none.
        sure: time after which the next plan takes over [s]; 0 where none does.
    """

    chain: Chain
    body: int
    scales: Array
    config: ExciteConfig
    past: Array | tuple[()] = ()
    sure: float = 0.0

    def cost(self, state: State, duration: float, box: ModelBox) -> Cost:
        """Of plans from a state."""
        config = self.config
        if config.objective == "condition":
            return ExcitationCost(self.chain, self.body, state, duration, samples=config.samples, past=self.past)
        model = self._model(box)
        past = np.asarray(self.past) if len(self.past) else np.zeros((model.size, model.size))
        objective: Objective = config.objective  # type: ignore[assignment]  # checked by the configuration
        subject: Subject = config.subject  # type: ignore[assignment]  # so is this
        return InformativeCost(model, state, duration, past, objective, config.samples, self.sure, config.late, subject)

    def with_plan(self, plan: Bezier, until: float, box: ModelBox) -> Excite:
        """The same, knowing what a plan executed up to a time [s] has told; box: of the time it was planned."""
        if self.config.objective == "condition":
            cost = ExcitationCost(self.chain, self.body, plan(0.0), plan.duration, samples=self.config.samples)
            gained = cost.information(plan, until)
        else:
            gained = self._model(box).information(plan, until)
        return replace(self, past=gained + (np.asarray(self.past) if len(self.past) else 0.0))

    def _model(self, box: ModelBox) -> RowModel:
        config = self.config
        return RowModel(self.chain, self.body, box, self.scales, config.torque_relative, config.torque_absolute)


@dataclass(frozen=True)
class Reach:
    """Go to a joint goal.

    Attributes:
        path: waypoints (n,) in order, the goal last; joints without limits count modulo a turn.
    """

    path: Sequence[Array]

    @property
    def goal(self) -> Array:
        """(n,) where the way ends."""
        return np.asarray(self.path[-1], dtype=np.float64)
