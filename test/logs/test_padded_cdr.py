"""Messages as Python nodes publish them: elements of empty sequences are aligned, which rosbags does not expect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rosbags.typesys import Stores, get_typestore

from sysid_nodes.logs import BagWriter
from sysid_nodes.logs.command_reader import JOINT_TRAJECTORY, read_set_points
from sysid_nodes.logs.padded_cdr import decode_padded

STORE = get_typestore(Stores.ROS2_JAZZY)
# One point of joint 'a' at 0.5 rad, no velocity, acceleration or effort, after 3 s and 7 ns; all lengths padded to 8.
TEXT = """
00010000 00000000 00000000 01000000 00000000 01000000 02000000 61000000 01000000
01000000 00000000 00000000 0000e03f 00000000 00000000 00000000 00000000 00000000 00000000 03000000 07000000
"""
DATA = bytes.fromhex("".join(TEXT.split()))


def fields(message: Any) -> tuple[Any, ...]:
    (point,) = message.points
    return (
        message.joint_names, point.positions.tolist(), point.velocities.tolist(), point.accelerations.tolist(),
        point.effort.tolist(), point.time_from_start.sec, point.time_from_start.nanosec,
    )  # fmt: skip


def test_padded_lengths_of_empty_sequences_are_read() -> None:
    with pytest.raises(Exception, match="mismatch"):
        STORE.deserialize_cdr(DATA, JOINT_TRAJECTORY)
    assert fields(decode_padded(STORE, DATA, JOINT_TRAJECTORY)) == (["a"], [0.5], [], [], [], 3, 7)


def test_a_recording_of_them_is_read(tmp_path: Path) -> None:
    with BagWriter(tmp_path / "bag") as bag:
        bag.add_topic("/wanted", JOINT_TRAJECTORY)
        bag.write_serialized("/wanted", 5_000_000_000, DATA)
    (found,) = read_set_points(tmp_path / "bag", "/wanted")
    assert (found.begin, found.stamped, found.names) == (5.0, False, ("a",))
    assert found.t.tolist() == [8.000000007] and found.q.tolist() == [[0.5]] and found.qd is None


@pytest.mark.parametrize("cut", range(0, len(DATA), 4))
def test_what_ends_too_early_is_no_message(cut: int) -> None:
    with pytest.raises(ValueError):
        decode_padded(STORE, DATA[:cut], JOINT_TRAJECTORY)


def test_what_goes_on_too_long_is_no_message() -> None:
    with pytest.raises(ValueError, match="length"):
        decode_padded(STORE, DATA + b"\0" * 8, JOINT_TRAJECTORY)


def test_it_is_what_a_python_node_publishes() -> None:
    pytest.importorskip("rclpy", reason="rclpy is not installed")
    from rclpy.serialization import serialize_message
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    message = JointTrajectory(joint_names=["a", "bc"], points=[JointTrajectoryPoint(positions=[1.0, 2.0])])
    message.points[0].time_from_start.sec = 4
    data = serialize_message(message)
    try:
        found = STORE.deserialize_cdr(data, JOINT_TRAJECTORY)
    except Exception:  # depends on the middleware
        found = decode_padded(STORE, data, JOINT_TRAJECTORY)
    assert fields(found) == (["a", "bc"], [1.0, 2.0], [], [], [], 4, 0)
