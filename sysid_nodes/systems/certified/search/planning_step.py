# SPDX-License-Identifier: Apache-2.0
"""Effort and findings of one planning step so far, and why a step from rest found nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from sysid_nodes.data.scene import Scene
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.results.certificate import Certificate, Verdict
from sysid_nodes.robots.robot import Array, Robot
from sysid_nodes.systems.certified.search.effort import effort
from sysid_nodes.systems.certified.search.nearness import Nearness
from sysid_nodes.systems.certified.search.plan_result import PlanResult, PlanStatus

_STILL = 1e-3
"""A displacement no larger than this [rad] is standing still."""


class Step:
    """Tally of one planning step.

    Args:
        clock: [s].
        deadline: on that clock [s].
    """

    def __init__(self, clock: Callable[[], float], deadline: float) -> None:
        self._clock, self._started, self.deadline = clock, clock(), deadline
        self.proposals = self.certificates = 0
        self.certifying, self.cost = 0.0, np.inf
        self.refusals: Counter[Verdict] = Counter()
        self.verdict: Verdict | None = None
        self.reason = "there was no time for a certificate"
        self.plan: Bezier | None = None
        self.certificate: Certificate | None = None

    @property
    def moves(self) -> bool:
        """Whether it has a plan that is more than standing still."""
        return self.plan is not None and float(np.abs(self.plan.k).max()) > _STILL

    def take(self, plan: Bezier, certificate: Certificate, cost: float, taken: float) -> None:
        """Counts a certificate that took so long [s]; holds the plan if it is certified and the best so far."""
        self.certificates += 1
        self.certifying += taken
        self.verdict = certificate.verdict
        if not certificate.certified:
            self.refusals[certificate.verdict] += 1
        elif cost < self.cost or self.plan is None:
            self.plan, self.certificate, self.cost = plan, certificate, cost
        if self.plan is None or certificate.certified:
            self.reason = certificate.binding

    def result(self, status: PlanStatus) -> PlanResult:
        """The step's outcome."""
        cost = self.cost if self.plan is not None else float("nan")
        return PlanResult(
            status, self.plan, self.certificate, cost, self.proposals, self.certificates, dict(self.refusals),
            self.reason, self._clock() - self._started, self.certifying,
        )  # fmt: skip


def why_not_even(
    robot: Robot, chain: Chain, nearness: Nearness, q: Array, box: ModelBox, scene: Scene, step: Step, keep: float
) -> str:
    """Reason to refuse standing still at q (n,), in one line; keep: distance that the certifier keeps free [m]."""
    words = f"standing still is refused: {step.reason}"
    if step.verdict is Verdict.TRACKING:
        none = np.zeros(robot.n)
        found = effort(chain, box, Bezier(q, none, none, none, 1.0), np.ones(1)).doubt[0]
        worst = int(np.argmax(found**2 / box.armature_lower))
        words += f", {found[worst]:.1f} N m at {robot.joint_names[worst]}; narrower bounds are needed"
    touching = nearness.least(q[None], scene, 1.0)[0] < keep
    return f"{words}; {nearness.words(q, scene)}" if touching else words
