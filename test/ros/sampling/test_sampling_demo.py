# SPDX-License-Identifier: Apache-2.0
"""The exploration's demo as a user runs it: processes, real DDS, files."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from shared.demo_process import check_that_an_orphaned_recorder_drops_its_bag, run_demo
from shared.views import check_view

from sysid_nodes.cli.demo.live_run import hidden_truth
from sysid_nodes.cli.demo.nodes import Nodes, free_domain
from sysid_nodes.cli.sampling.demo_config import robot_parameters
from sysid_nodes.logs.reader import read_topics
from sysid_nodes.reports.files import read_document
from sysid_nodes.ros.sampling.recorder import TOPICS

pytestmark = pytest.mark.ros


@pytest.mark.slow
def test_the_demo_plans_and_knows_more_after_the_plan(tmp_path: Path) -> None:
    status, out, errors = run_demo("spi", "--seed", "3", folder=tmp_path)
    assert status == 0, out + errors
    assert "out/report.html" in out
    assert [item.name for item in tmp_path.iterdir()] == ["out"]
    counts = {topic.name: topic.count for topic in read_topics(tmp_path / "out" / "bag")}
    assert set(counts) == {topic.name for topic in TOPICS} | {"/robot_description", "/tf"}
    assert counts["/robot_description"] == 1
    assert counts["/tf"] > 10
    assert counts["/exploration_planner/plan"] == 1
    for recording in ("bag", "result.mcap"):
        check_view("sampling.rviz", tmp_path / "out" / recording)
    assert read_document(tmp_path / "out")["exploration"]["replay_equals_live"]


def test_the_demo_s_robot_starts(tmp_path: Path) -> None:
    # no trained policy is an empty string, which ROS does not read unless it is quoted
    truth = tmp_path / "robot.json"
    parameters = robot_parameters(3, 4.7, truth)
    with Nodes(tmp_path, free_domain()) as nodes:
        nodes.recorder(tmp_path / "bag", module="sysid_nodes.ros.sampling.recorder")
        nodes.node("robot", "simulated_legged_robot", None, **parameters)
        assert hidden_truth(nodes, truth)["total_mass"] > 4.7


def test_a_recorder_whose_parent_is_gone_drops_its_bag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_that_an_orphaned_recorder_drops_its_bag("sampling", tmp_path, monkeypatch)
