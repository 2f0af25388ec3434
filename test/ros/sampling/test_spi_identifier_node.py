# SPDX-License-Identifier: Apache-2.0
"""The identifier's node in a ROS graph of its own: what it listens to, when it identifies, and what it says then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from geometry_msgs.msg import PoseStamped
from online_sysid.msg import ActuatorModels, InertialEstimate, SamplingPosterior
from online_sysid.srv import Save
from sensor_msgs.msg import Imu, JointState
from std_srvs.srv import Trigger

from sysid_nodes.exceptions import LogError
from sysid_nodes.robots import load_robot
from sysid_nodes.ros import qos
from sysid_nodes.ros.conversions import to_seconds, to_stamp
from sysid_nodes.ros.nodes.spi_identifier import SpiIdentifierNode

pytestmark = pytest.mark.ros

NAMES = list(load_robot("go2").joint_names)


def stream() -> Any:
    """Topic and message; the joints move from 1 s to 3 s."""
    for t in np.arange(0.0, 4.5, 0.02):
        angle = 0.2 * np.sin(6.0 * t) if 1.0 <= t < 3.0 else 0.0
        joints = JointState(name=NAMES, position=[angle] * 12, velocity=[0.0] * 12)
        pose, imu = PoseStamped(), Imu()
        pose.pose.position.x = imu.angular_velocity.x = 1e-3 * t  # what repeats itself would be lost
        for topic, message in {
            "/joint_states": joints,
            "/joint_commands": JointState(name=NAMES, position=[angle] * 12),
            "/imu/data": imu,
            "/mocap/pose": pose,
        }.items():
            message.header.stamp = to_stamp(100.0 + t)
            yield topic, message


def test_it_identifies_when_a_motion_has_ended_and_says_why_nothing_came_of_it(
    bench: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    asked: list[float] = []

    def identify(self: Any, progress: Any = None, *, until: float = np.inf) -> Any:
        asked.append(until)
        raise LogError(f"{len(self.readings(until).joints.t)} joint states tell nothing")

    monkeypatch.setattr("sysid_nodes.sessions.sampling.session.SamplingSession.identify", identify)
    node = bench.add(SpiIdentifierNode, {"least": 1.0, "reliability": "reliable", "diagnostics_period": 0.05})
    bench.start(node)
    heard = bench.listen(SamplingPosterior, "/spi_identifier/posterior", qos.LATCHED)
    inertia = bench.listen(InertialEstimate, "/spi_identifier/inertial_estimate", qos.LATCHED)
    models = bench.listen(ActuatorModels, "/spi_identifier/actuator_models", qos.LATCHED)
    bench.until(lambda: heard and inertia and models)
    assert (heard[0].status, heard[0].number) == ("WAITING", 0)

    profile = qos.stream("reliable", 1000)
    publishers: dict[str, Any] = {}
    for topic, message in stream():
        if topic not in publishers:
            publishers[topic] = bench.tester.create_publisher(type(message), topic, profile)
            bench.until(lambda made=publishers[topic]: made.get_subscription_count() == 1)
        publishers[topic].publish(message)
    bench.until(lambda: heard[-1].number == 1 and inertia[-1].message == heard[-1].message)
    assert 103.4 < asked[0] < 104.3, "half a second of rest after the motion's end"
    assert to_seconds(heard[-1].header.stamp) == pytest.approx(asked[0], abs=1e-9)
    assert "joint states tell nothing" in heard[-1].message
    assert len(heard[-1].names) == len(models[-1].models) == 0
    assert np.isnan(inertia[-1].estimate).all()

    refused = bench.call(Save, "/spi_identifier/save", Save.Request(path=str(tmp_path / "out")))
    assert not refused.success
    assert not (tmp_path / "out").exists()
    assert bench.call(Trigger, "/spi_identifier/reset", Trigger.Request()).success
    bench.until(lambda: heard[-1].number == 0)
