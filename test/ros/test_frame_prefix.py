# SPDX-License-Identifier: Apache-2.0
"""Several robots of a kind on one tree of transforms: what nodes say of frames begins with the robot's prefix."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from shared.actuator_session import VALUES as DRIVES
from visualization_msgs.msg import MarkerArray

from sysid_nodes.robots import load_robot
from sysid_nodes.ros import qos
from sysid_nodes.ros.nodes.actuator_identifier import ActuatorIdentifierNode
from sysid_nodes.ros.nodes.bayesian_identifier import BayesianIdentifierNode
from sysid_nodes.ros.nodes.spi_identifier import SpiIdentifierNode
from sysid_nodes.ros.simulation import legged_publishers
from sysid_nodes.simulation.legged import ImuReading, PoseReading

LOOPS = {"bayesian.mechanism.loops": ["rod_end:lever_pin"], "bayesian.mechanism.passive": ["rod_joint", "knee"]}


@pytest.mark.ros
@pytest.mark.parametrize(
    ("node", "parameters", "root"),
    [
        (ActuatorIdentifierNode, DRIVES, "base"),
        (BayesianIdentifierNode, LOOPS, "base"),
        (SpiIdentifierNode, {}, "base"),
    ],
)
def test_markers_are_in_frames_with_the_prefix(bench: Any, node: Any, parameters: dict[str, Any], root: str) -> None:
    """Whether or not anything is identified: the first array takes older markers away, in the robot's root."""
    running = bench.add(node, parameters | {"frame_prefix": "left/"})
    bench.start(running)
    heard = bench.listen(MarkerArray, f"/{running.get_name()}/markers", qos.LATCHED)
    bench.until(lambda: heard)
    frames = {marker.header.frame_id for message in heard for marker in message.markers}
    assert f"left/{root}" in frames
    assert all(frame.startswith("left/") for frame in frames)


def test_a_simulated_robot_says_where_its_base_is_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """tf2_msgs is not among the wheels; a stand-in takes its place, and a node that only collects."""
    monkeypatch.setattr(legged_publishers, "TFMessage", SimpleNamespace)
    sent: dict[str, list[Any]] = {}

    def create_publisher(_: Any, topic: str, __: Any) -> Any:
        rows = sent.setdefault(topic, [])
        return SimpleNamespace(publish=rows.append, topic_name=topic)

    node: Any = SimpleNamespace(create_publisher=create_publisher)
    turn, place = np.array([0.0, 0.0, 0.6, 0.8]), np.array([1.0, 2.0, 3.0])
    readings = [
        PoseReading(stamp=0.5, arrival=0.5, position=place, orientation=turn),
        ImuReading(stamp=0.5, arrival=0.5, orientation=turn, gyro=np.zeros(3), accelerometer=np.zeros(3)),
    ]
    for tf in (False, True):
        sent.clear()
        robot = load_robot("go2")
        publishers = legged_publishers.LeggedPublishers(node, robot, low_state=False, tf=tf, prefix="left/")
        for reading in readings:
            publishers.publish(reading)
        assert sent["imu/data"][0].header.frame_id == f"left/{robot.imu}"
        assert ("/tf" in sent) == tf
    ((transform,),) = (message.transforms for message in sent["/tf"])
    assert (transform.header.frame_id, transform.child_frame_id) == ("world", "left/base")
    moved = transform.transform
    assert [moved.translation.x, moved.translation.y, moved.translation.z] == place.tolist()
    assert [moved.rotation.z, moved.rotation.w] == [0.6, 0.8]
