# SPDX-License-Identifier: Apache-2.0
"""Nodes that are given a robot, or a recording, that they can do nothing with: one line, status 2."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from shared.refusal import check_refusal

pytestmark = pytest.mark.ros


@pytest.mark.parametrize("node", ["spi_identifier", "exploration_planner"])
def test_an_arm_for_rollouts_of_walking_robots(node: str, capfd: pytest.CaptureFixture[str]) -> None:
    line = "robot 'panda' has a fixed base; the legged simulation needs a floating one"
    check_refusal(line, node, "-p", "robot:=panda", capfd=capfd)


def test_a_player_without_a_recording(capfd: pytest.CaptureFixture[str]) -> None:
    check_refusal("bag_player: 'bag' must name the recording to play", "bag_player", capfd=capfd)
