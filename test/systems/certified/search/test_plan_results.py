# SPDX-License-Identifier: Apache-2.0
"""Outcomes of planning steps."""

from __future__ import annotations

import pytest

from sysid_nodes.systems.certified.search.plan_result import PlanStatus
from sysid_nodes.systems.certified.search.planning_step import Step


@pytest.mark.parametrize(
    ("status", "certificates", "timed_out"),
    [
        (PlanStatus.NOTHING_CERTIFIED, 0, True),
        (PlanStatus.NOTHING_CERTIFIED, 1, False),
        (PlanStatus.START_REFUSED, 0, False),
    ],
)
def test_only_a_step_that_judged_nothing_had_no_time(status: PlanStatus, certificates: int, timed_out: bool) -> None:
    step = Step(lambda: 0.0, 1.0)
    step.certificates = certificates
    assert step.result(status).timed_out is timed_out
