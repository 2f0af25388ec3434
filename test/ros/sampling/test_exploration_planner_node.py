# SPDX-License-Identifier: Apache-2.0
"""The exploration planner's node in a ROS graph of its own: a plan for an estimate, and none for another's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from online_sysid.msg import ExplorationPlan, SamplingPosterior
from online_sysid.srv import Save
from shared.exploration import PLAN_OPTIONS, posterior_of
from visualization_msgs.msg import MarkerArray

from sysid_nodes.exceptions import InputError
from sysid_nodes.messages.fill import to_message
from sysid_nodes.messages.geometry import header
from sysid_nodes.messages.sampling.plan import to_plan
from sysid_nodes.messages.sampling.posterior import posterior_fields
from sysid_nodes.reports.sampling.exploration import read_plan
from sysid_nodes.results.exploration import require_estimate
from sysid_nodes.ros import qos
from sysid_nodes.ros.conversions import as_fields
from sysid_nodes.ros.nodes.exploration_planner import ExplorationPlannerNode
from sysid_nodes.systems.sampling.unknowns import Unknowns

pytestmark = pytest.mark.ros

OPTIONS = {f"exploration__{name.replace('.', '__')}": value for name, value in PLAN_OPTIONS.items()}


def estimate(node: Any, **changes: Any) -> SamplingPosterior:
    session = node._live.session
    posterior = posterior_of(Unknowns(session.robot, session.config.sampling))
    fields = {"header": header(7.5), "robot": "go2", "config_id": session.config_id, "number": 1, "status": "USABLE"}
    return to_message(SamplingPosterior, fields | posterior_fields(posterior) | changes)


def test_it_plans_for_an_estimate_and_for_no_other(bench: Any, tmp_path: Path) -> None:
    given = {**OPTIONS, "sampling__threads": 1, "diagnostics_period": 0.05}
    node = bench.add(ExplorationPlannerNode, given)
    bench.start(node)
    publisher = bench.tester.create_publisher(SamplingPosterior, "/spi_identifier/posterior", qos.LATCHED)
    heard = bench.listen(ExplorationPlan, "/exploration_planner/plan", qos.LATCHED)
    markers = bench.listen(MarkerArray, "/exploration_planner/markers", qos.LATCHED)
    reports = bench.listen(DiagnosticArray, "/diagnostics")

    refused = bench.call(Save, "/exploration_planner/save", Save.Request(path=str(tmp_path / "out")))
    assert not refused.success
    assert "there is no plan" in refused.message

    publisher.publish(estimate(node, config_id="another"))
    bench.until(lambda: reports and "estimate of configuration another" in reports[-1].status[0].message)
    assert reports[-1].status[0].level == DiagnosticStatus.ERROR
    publisher.publish(estimate(node, duration=8.0, values=[0.0] * len(estimate(node).names)))
    bench.until(lambda: "not what its id says" in reports[-1].status[0].message)
    assert not heard

    message = estimate(node)
    publisher.publish(message)
    bench.until(lambda: heard and markers)
    plan = to_plan(as_fields(heard[0]))
    assert (heard[0].header.stamp.sec, heard[0].header.stamp.nanosec) == (7, 500000000)
    assert (plan.estimate, plan.robot, plan.vetting.draws) == (message.id, "go2", 4)
    assert np.median([spread.after / spread.before for spread in plan.spreads]) < 1.0
    assert len(markers[0].markers[1].points) == len(plan.path)  # the first one takes older ones away
    with pytest.raises(InputError, match=f"made for estimate {message.id}, not for another"):
        require_estimate(plan, "another")
    bench.until(lambda: reports[-1].status[0].level == DiagnosticStatus.OK)

    answer = bench.call(Save, "/exploration_planner/save", Save.Request(path=str(tmp_path / "out")))
    assert answer.success, answer.message
    assert read_plan(tmp_path / "out" / "plan.json").id == plan.id
