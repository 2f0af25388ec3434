# SPDX-License-Identifier: Apache-2.0
"""Chance as a planner, the least clever there is: what it makes is certified all the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sysid_nodes.data.scene import Scene
from sysid_nodes.models.bezier import Bezier, brake
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.sessions.certified.config import CertifiedPlannerConfig, Setup
from sysid_nodes.sessions.certified.motion_planner import build_planner
from sysid_nodes.systems.certified.search.objective import Excite, Reach
from sysid_nodes.systems.certified.search.plan_result import PlanResult, PlanStatus, Start


class RandomPlanner:
    """Draws displacements, smaller and smaller ones, and at last the plain stop; see `MotionPlanner`.

    Models, objectives and stops among other obstacles are the planner's own. Goals are not aimed at.

    Args:
        setup, config, clock: as for build_planner.
        rng: source of the draws.
        ranges: half-widths of the displacement, one draw each [rad].
    """

    def __init__(
        self,
        setup: Setup,
        config: CertifiedPlannerConfig,
        clock: Callable[[], float],
        *,
        rng: np.random.Generator,
        ranges: Sequence[float] = (0.4, 0.3, 0.2, 0.1, 0.05),
    ) -> None:
        planner = build_planner(setup, config, clock)
        self.certifier, self._config = planner.certifier, config.planner
        self.box, self.excite = planner.box, planner.excite
        self.reach, self.has_reached, self.plan_escape = planner.reach, planner.has_reached, planner.plan_escape
        self._rng, self._ranges = rng, tuple(ranges)

    def plan(self, start: Start, box: ModelBox, scene: Scene, objective: Excite | Reach, deadline: float) -> PlanResult:
        """Draws until something is certified."""
        del deadline  # whoever simulates states its time
        config = self._config
        stop = brake(*start.state, config.exciting[0] if isinstance(objective, Excite) else config.duration)
        reason, count = "", 0
        for count, width in enumerate((*self._ranges, 0.0), start=1):
            shift = self._rng.uniform(-width, width, stop.n)
            plan = Bezier(*start.state, stop.k + shift, stop.duration)
            found = self.certifier.certify(plan, box, start.entry, scene)
            reason = found.binding
            if found.certified:
                return PlanResult(PlanStatus.CERTIFIED, plan, found, np.nan, count, count, {}, reason, 0.0, 0.0)
        nothing = PlanStatus.NOTHING_CERTIFIED
        return PlanResult(nothing, None, None, np.nan, count, count, {}, reason, 0.0, 0.0)
