# SPDX-License-Identifier: Apache-2.0
"""Set-points of a recording: their times, and what is refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sysid_nodes.exceptions import LogError
from sysid_nodes.logs.command_reader import RawSetPoints, from_low_command, read_set_points
from sysid_nodes.logs.writer import BagWriter

JOINT_STATE, TRAJECTORY = "sensor_msgs/msg/JointState", "trajectory_msgs/msg/JointTrajectory"
RECORDED = 7.5  # [s]


def recorded(folder: Path, kind: str, message: dict[str, Any]) -> list[RawSetPoints]:
    with BagWriter(folder / "bag") as bag:
        bag.add_topic("/commands", kind)
        bag.write("/commands", RECORDED, message)
    return list(read_set_points(folder / "bag", "/commands"))


def stamped(sec: int, nanosec: int) -> dict[str, Any]:
    return {"stamp": {"sec": sec, "nanosec": nanosec}}


@pytest.mark.parametrize(
    ("header", "begin", "has_stamp"), [(stamped(3, 500_000_000), 3.5, True), (stamped(0, 0), RECORDED, False)]
)
def test_points_count_from_the_stamp_or_where_there_is_none_from_the_recording(
    tmp_path: Path, header: dict[str, Any], begin: float, has_stamp: bool
) -> None:
    later = [{"positions": [float(k)], "time_from_start": {"sec": k, "nanosec": 250_000_000}} for k in (0, 1)]
    (found,) = recorded(tmp_path, TRAJECTORY, {"header": header, "joint_names": ["a"], "points": later})
    assert found.begin == pytest.approx(begin, abs=1e-9)  # from whole nanoseconds
    assert (found.stamped, found.names, found.qd) == (has_stamp, ("a",), None)
    np.testing.assert_allclose(found.t, [begin + 0.25, begin + 1.25])
    np.testing.assert_array_equal(found.q, [[0.0], [1.0]])


@pytest.mark.parametrize(
    ("kind", "message", "words"),
    [
        (JOINT_STATE, {"name": ["a", "b"], "position": np.zeros(1)}, "1 positions for 2 joints"),
        (TRAJECTORY, {"joint_names": ["a"], "points": [{"positions": []}]}, "without a position for each of its 1"),
    ],
)
def test_points_without_positions_are_refused(tmp_path: Path, kind: str, message: dict[str, Any], words: str) -> None:
    with pytest.raises(LogError, match=words):
        recorded(tmp_path, kind, message)


def low_command(motors: int, **fields: int) -> SimpleNamespace:
    motor = SimpleNamespace(q=0.5, dq=0.0, tau=0.0, kp=20.0, kd=1.0)
    return SimpleNamespace(motor_cmd=[motor] * motors, **fields)


def test_a_low_cmd_of_more_motors_gives_those_of_the_robot() -> None:
    found = from_low_command(low_command(20, mode_pr=0), ("a", "b"), 2.0)
    np.testing.assert_array_equal(found.q, [[0.5, 0.5]])
    np.testing.assert_array_equal(found.t, [2.0])


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (low_command(1), "has 1 motors, the robot 2"),
        (low_command(2, mode_pr=1), "in motor coordinates"),  # of a G1: not the joints' angles
    ],
)
def test_a_low_cmd_that_is_not_of_these_joints_is_refused(message: SimpleNamespace, words: str) -> None:
    with pytest.raises(LogError, match=words):
        from_low_command(message, ("a", "b"), 2.0)
