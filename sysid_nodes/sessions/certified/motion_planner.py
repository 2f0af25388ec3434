# SPDX-License-Identifier: Apache-2.0
"""The planner that a planning drives: models, objectives, certified motions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.scene import Scene
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.robots.robot import Array
from sysid_nodes.sessions.certified.config import CertifiedPlannerConfig, Setup
from sysid_nodes.systems.certified.certificate.certifier import Certifier
from sysid_nodes.systems.certified.search.objective import Excite, Reach
from sysid_nodes.systems.certified.search.plan_result import PlanResult, Start
from sysid_nodes.systems.certified.search.planner import Planner


class MotionPlanner(Protocol):
    """See `Planner`, which explains and implements each."""

    @property
    def certifier(self) -> Certifier: ...

    def box(self, bounds: Bounds) -> ModelBox: ...

    def excite(self, prior: Bounds) -> Excite: ...

    def reach(self, q: Array, goal: Array, scene: Scene) -> Reach: ...

    def has_reached(self, q: Array, goal: Array) -> bool: ...

    def plan(
        self, start: Start, box: ModelBox, scene: Scene, objective: Excite | Reach, deadline: float
    ) -> PlanResult: ...

    def plan_escape(self, start: Start, box: ModelBox, scene: Scene, deadline: float, *, rest: float) -> PlanResult: ...


def build_planner(setup: Setup, config: CertifiedPlannerConfig, clock: Callable[[], float]) -> Planner:
    """The planner of a node.

    Args:
        clock: of deadlines [s].

    Raises:
        SysidError: configuration and robot do not fit together.
    """
    node = config.certified_planner
    return Planner(
        setup.robot, setup.shapes, config.known_robot, config.control, config.certifier, config.planner, clock,
        seed=node.seed, body=config.body, target=config.target,
        tracking=config.tracking if node.output == "position" else None,
    )  # fmt: skip
