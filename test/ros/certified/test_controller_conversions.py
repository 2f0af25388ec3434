# SPDX-License-Identifier: Apache-2.0
"""A planner hears the same of its controller through messages and, in closed loops in simulated time, without them."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.ros.certified.controller_conversions import to_controller_status, to_seen
from sysid_nodes.sessions.certified.state import Seen
from sysid_nodes.systems.certified.control.output import ControllerOutput, Mode

pytestmark = pytest.mark.ros


@pytest.mark.parametrize("refused", [StopReason.NONE, StopReason.TRAJECTORY_LATE])
@pytest.mark.parametrize("mode", Mode)
def test_what_a_planner_sees_of_a_controller(mode: Mode, refused: StopReason) -> None:
    output = ControllerOutput(
        mode, StopReason.NONE, 2.5, trajectory_id="one", refused_id="two" if refused else "", refused_reason=refused
    )
    status = to_controller_status(
        output, ("joint",), np.zeros(0), np.ones(1), period=0.0, age=0.0, age_watched=True, start_rate=0.25
    )
    assert to_seen(status) == Seen.of(output, 0.25)
    assert bool(status.refused_text) == bool(refused)
