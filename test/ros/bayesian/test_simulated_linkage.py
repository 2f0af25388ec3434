# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import mujoco
import rclpy
from rclpy.executors import ExternalShutdownException

from sysid_nodes.ros.nodes.simulated_linkage import SimulatedLinkageNode

pytestmark = pytest.mark.ros


def test_a_shutdown_ends_the_simulation_that_a_linkage_begins_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes seconds: before, Ctrl-C was not noticed until its end, and launch had to send SIGTERM."""
    steps, step = [], mujoco.mj_step

    def shut_down_at_the_tenth(*given: Any) -> None:
        steps.append(given)
        if len(steps) == 10:
            rclpy.shutdown()
        step(*given)

    monkeypatch.setattr(mujoco, "mj_step", shut_down_at_the_tenth)
    rclpy.init()
    try:
        with pytest.raises(ExternalShutdownException):
            SimulatedLinkageNode()
    finally:
        rclpy.try_shutdown()
    assert len(steps) < 100  # of 120 000
