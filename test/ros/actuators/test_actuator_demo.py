# SPDX-License-Identifier: Apache-2.0
"""The actuators' demo as a user runs it: processes, real DDS, files, signals."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from shared.children import finish
from shared.demo_process import (
    DEMO_FILES,
    LONG,
    check_that_an_orphaned_recorder_drops_its_bag,
    interrupt_demo,
    run_demo,
    sysid,
)
from shared.views import check_view

from sysid_nodes.logs.reader import read_topics
from sysid_nodes.reports.files import read_document as read_result
from sysid_nodes.ros.actuators.recorder import TOPICS

pytestmark = pytest.mark.ros


@pytest.mark.slow
def test_the_demo_finds_the_drives_and_the_one_that_changes(tmp_path: Path) -> None:
    status, out, errors = run_demo("actuators", "--seed", "4", folder=tmp_path)
    assert status == 0, out + errors
    assert "ALARM: the friction of 'FL_hip_joint' changed" in out
    assert "are the live node's to the last bit" in out
    assert "--seed 4 --out out" in out
    assert [item.name for item in tmp_path.iterdir()] == ["out"]
    assert {item.name for item in (tmp_path / "out").iterdir()} == DEMO_FILES
    counts = {topic.name: topic.count for topic in read_topics(tmp_path / "out" / "bag")}
    assert set(counts) == {topic.name for topic in TOPICS} | {"/robot_description", "/tf"}
    assert counts["/robot_description"] == 1
    assert counts["/tf"] > 10
    for recording in ("bag", "result.mcap"):
        check_view("actuators.rviz", tmp_path / "out" / recording)
    online = read_result(tmp_path / "out")["online"]
    assert online["live"]["equal"] == online["live"]["published"] == 8
    again = sysid("replay", "out/bag", "--config", "out/config.yaml", "--online", "--out", "again", cwd=tmp_path)
    _, errors = finish(again, LONG)
    assert again.returncode == 0, errors
    assert "sysid: alarm: out/bag: the friction of 'FL_hip_joint' changed" in errors
    assert read_result(tmp_path / "again")["online"]["id"] == online["id"]


@pytest.mark.slow
def test_an_interrupt_leaves_nothing_behind(tmp_path: Path) -> None:
    assert interrupt_demo("actuators", tmp_path, "window 0", signal.SIGINT) == "sysid: interrupted\n"


def test_a_recorder_whose_parent_is_gone_drops_its_bag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_that_an_orphaned_recorder_drops_its_bag("actuators", tmp_path, monkeypatch, "FL_")
