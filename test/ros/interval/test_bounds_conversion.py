# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from builtin_interfaces.msg import Time
from online_sysid.msg import ParameterBounds
from shared.interval_result import make_result

from sysid_nodes.data import PARAMETER_NAMES
from sysid_nodes.results import Contradiction, Status
from sysid_nodes.ros.conversions import to_seconds
from sysid_nodes.ros.interval.bounds_message import to_parameter_bounds
from sysid_nodes.sessions.interval.news import Subject

SUBJECT = Subject(
    robot="kinova_gen3", body="bracelet_link", target="body", frame="bracelet_link", method="set_membership"
)


def test_status_constants_are_the_enum() -> None:
    assert {status.name: getattr(ParameterBounds, status.name) for status in Status} == {
        s.name: s.value for s in Status
    }


def test_every_field_of_a_result_arrives() -> None:
    message = to_parameter_bounds(make_result(Status.PROVEN), SUBJECT)
    assert (message.header.stamp, message.header.frame_id) == (Time(sec=12, nanosec=250_000_000), "bracelet_link")
    assert (message.robot, message.body, message.method) == ("kinova_gen3", "bracelet_link", "set_membership")
    assert (message.status, message.message) == (ParameterBounds.PROVEN, Status.PROVEN.message)
    assert tuple(message.names) == PARAMETER_NAMES
    np.testing.assert_array_equal(message.nominal, np.arange(10.0))
    np.testing.assert_array_equal(message.lower, np.arange(10.0) - 1.0)
    np.testing.assert_array_equal(message.upper, np.arange(10.0) + 1.0)
    assert message.condition_number == 250.0
    assert list(message.singular_values) == list(range(9, -1, -1))
    assert list(message.blind_directions) == ["Izz"]
    assert (message.window, message.samples_used, message.samples_rejected) == (7, 800, 43)
    assert dict(zip(message.rejected_reasons, message.rejected_counts, strict=True)) == {"not finite": 3, "gap": 40}
    assert message.solve_time == 0.02
    assert message.contradiction_assumption == ""


def test_a_contradiction_names_windows_assumption_and_times() -> None:
    clash = Contradiction((3, 6), np.array([[1.0, 1.5], [2.0, 2.5]]), "torque noise", {"torque noise": 1.4}, True, 2.5)
    message = to_parameter_bounds(make_result(Status.INCONSISTENT, clash), SUBJECT)
    assert np.isnan(message.lower).all()
    assert np.isnan(message.upper).all()
    assert message.message.endswith("the payload changed at about t = 2.500 s, or else the robot did")
    assert (message.contradiction_assumption, message.contradiction_factor) == ("torque noise", 1.4)
    assert list(message.contradiction_windows) == [3, 6]
    assert [to_seconds(stamp) for stamp in message.contradiction_start] == [1.0, 2.0]
    assert [to_seconds(stamp) for stamp in message.contradiction_end] == [1.5, 2.5]
    assert message.payload_changed
    assert to_seconds(message.change_time) == 2.5
