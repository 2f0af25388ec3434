# SPDX-License-Identifier: Apache-2.0
"""The estimator node in a ROS graph of its own: topics, services, life cycle, faults."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import TwistStamped
from nav_msgs.msg import Odometry
from online_sysid.msg import ContactForces, InertialEstimate
from online_sysid.srv import Save
from sensor_msgs.msg import Imu, JointState
from shared.legged_readings import FAST, START, StillHorizon, leaning, make_session, record, spoilt
from shared.low_state import GoLowState
from shared.refusal import check_that_configuring_says
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from sysid_nodes.data.readings import Readings
from sysid_nodes.messages.unitree.low_state_reader import LowStateReader
from sysid_nodes.results.prime_status import PrimeStatus
from sysid_nodes.ros import qos
from sysid_nodes.ros.nodes import prime_estimator
from sysid_nodes.ros.nodes.prime_estimator import PrimeEstimatorNode
from sysid_nodes.ros.simulation.legged_publishers import LeggedPublishers
from sysid_nodes.sensors.messages import read_imu, read_joint_state
from sysid_nodes.simulation.legged import Fault, VelocityReading

pytestmark = pytest.mark.ros

PATIENT = {**FAST, "diagnostics_period": 0.05, "inertia_period": 0.1}


def estimator(bench: Any, **parameters: Any) -> Any:
    return bench.add(PrimeEstimatorNode, PATIENT | parameters)


class Robot:
    """Publishes recorded readings and waits, more often than steps wait for a stream, until the node has taken them."""

    def __init__(self, bench: Any, node: Any, *, velocity: bool = False) -> None:
        self._bench, self._node = bench, node
        self.publishers = LeggedPublishers(bench.tester, make_session().robot, low_state=False, velocity=velocity)
        bench.until(lambda: self.publishers.listeners >= 1)

    def play(self, readings: Any) -> None:
        live = self._node._live
        due = START
        for reading in readings:
            if reading.arrival > due:
                due += 0.02
                # Best effort: what is not taken in time is lost, and the middleware owes nobody a sample.
                goal = dict(self.publishers.published)
                self._bench.until(lambda goal=goal: all(live.received[k] >= n for k, n in goal.items()))
            self.publishers.publish(reading)
        self._bench.until(lambda: not len(live._worker))


def values(report: DiagnosticArray) -> dict[str, str]:
    return {item.key: item.value for item in report.status[0].values}


def test_from_three_streams_to_all_that_is_published(bench: Any) -> None:
    node = estimator(bench)
    bench.start(node)
    forces = bench.listen(ContactForces, "/contact_forces", qos.stream("reliable", 1000))
    odometry = bench.listen(Odometry, "/odom", qos.stream("reliable", 1000))
    joints = bench.listen(JointState, "/joint_states_smoothed", qos.stream("reliable", 1000))
    markers = bench.listen(MarkerArray, "/contact_markers", qos.stream("reliable", 1000))
    reports = bench.listen(DiagnosticArray, "/diagnostics")
    robot = Robot(bench, node)
    readings, mass = record(1.5)
    robot.play(readings)
    bench.until(lambda: forces and odometry and joints and markers and reports)
    late = bench.listen(InertialEstimate, "/torso_inertia", qos.LATCHED)  # who joins later hears it too
    bench.until(lambda: late)
    found = late[-1]
    assert abs(found.estimate[0] - mass) < 5.0 * found.sigma[0]
    assert found.sigma[0] < 0.2
    weight = [sum(contact.force.z for contact in message.contacts) for message in forces[20:]]
    # The rest of the robot weighs 8 kg; it sways, so that only the mean is its weight.
    assert np.mean(weight) == pytest.approx(9.81 * (mass + 8.1), rel=0.05)
    assert all(contact.force_sigma.z > 0.0 for contact in forces[-1].contacts)
    stamps = [message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec for message in forces]
    np.testing.assert_allclose(np.diff(stamps), 0.01, atol=1e-6)
    assert odometry[-1].pose.covariance[0] > 0.0
    assert 0.2 < odometry[-1].pose.pose.position.z < 0.4
    assert {marker.ns for marker in markers[-1].markers} == {"contact", "force", "friction_cone", "status"}
    bench.until(lambda: int(values(reports[-1])["solves"]) > 0)
    said = values(reports[-1])
    assert {"lag [s]", "solve time [s]", "window [stages]", "steps between solves", "finding", "status"} <= set(said)
    assert int(said["received on /imu/data"]) == robot.publishers.published["/imu/data"]


@pytest.mark.parametrize(("kind", "velocity_type"), [(Odometry, "odometry"), (TwistStamped, "twist")])
def test_velocities_reach_the_estimator_of_either_type(bench: Any, kind: Any, velocity_type: str) -> None:
    node = estimator(bench, prime__sensors__base_velocity__enabled=True, velocity_type=velocity_type)
    taken: list[Readings] = []
    bench.start(node)
    node._live._session.take = taken.append
    publisher = bench.tester.create_publisher(kind, "/velocity", qos.stream("best_effort", 10))
    bench.until(lambda: publisher.get_subscription_count() == 1)
    message = kind()
    message.header.stamp.sec, message.header.stamp.nanosec = 100, 250000000
    twist = message.twist.twist if kind is Odometry else message.twist
    twist.linear.x, twist.linear.y, twist.linear.z = 0.1, 0.2, 0.3

    def heard() -> bool:
        publisher.publish(message)
        return bool(taken)

    bench.until(heard)
    assert taken[0].stamp == 100.25
    assert {name: value.tolist() for name, value in taken[0].values.items()} == {"base_velocity": [0.1, 0.2, 0.3]}


def test_the_simulated_robots_velocities_are_used(bench: Any) -> None:
    node = estimator(bench, prime__sensors__base_velocity__enabled=True)
    bench.start(node)
    reports = bench.listen(DiagnosticArray, "/diagnostics")
    readings, _ = record(1.0, velocity=True)
    Robot(bench, node, velocity=True).play(readings)
    sent = sum(isinstance(reading, VelocityReading) for reading in readings)
    bench.until(lambda: reports and values(reports[-1]).get("received on /velocity") == str(sent))
    assert sent == pytest.approx(50, abs=1)
    fit = node._live._session.estimate.fit["base_velocity"]
    assert fit.rms < 2.0


def test_without_being_asked_for_nobody_listens_to_velocities(bench: Any) -> None:
    node = estimator(bench)
    bench.start(node)
    assert "/velocity" not in {stream.topic_name for stream in node._streams}


def test_a_poisoned_stream_is_named_in_status_and_diagnostics(bench: Any) -> None:
    node = estimator(bench)
    bench.start(node)
    forces = bench.listen(ContactForces, "/contact_forces", qos.stream("reliable", 1000))
    reports = bench.listen(DiagnosticArray, "/diagnostics")
    robot = Robot(bench, node)
    robot.play(spoilt(record(1.5)[0], Fault("mocap", "nan", START + 0.5)))
    bench.until(lambda: reports and "garbage" in values(reports[-1]).get("fault of mocap_pose", ""))
    assert int(values(reports[-1])["not used of mocap_pose: not finite"]) > 50
    statuses = [message.status for message in forces]
    assert PrimeStatus.GOOD in statuses
    assert PrimeStatus.DEGRADED in statuses
    assert all(np.isfinite(contact.force.z) for message in forces for contact in message.contacts)


def test_a_fall_is_said_until_the_robot_stands_or_the_node_is_reset(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages, diagnostics and one line of the node's log; what costs nothing estimates."""
    monkeypatch.setattr(prime_estimator, "make_horizon", lambda robot, _: StillHorizon(robot))
    node = estimator(bench)
    said: list[str] = []
    monkeypatch.setattr(node, "_warn", said.append)
    bench.start(node)
    forces = bench.listen(ContactForces, "/contact_forces", qos.stream("reliable", 1000))
    reports = bench.listen(DiagnosticArray, "/diagnostics")
    Robot(bench, node).play(leaning(record(1.5)[0], lambda t: float(np.interp(t, [0.5, 0.9], [0.0, 1.6]))))
    bench.until(lambda: reports and values(reports[-1]).get("fault of robot") == "fallen")
    assert reports[-1].status[0].level == DiagnosticStatus.ERROR
    assert "the robot has fallen: its base leans by up to" in values(reports[-1])["finding"]
    assert len([line for line in said if "the robot has fallen" in line]) == 1
    bench.until(lambda: forces and forces[-1].status == PrimeStatus.DOUBTFUL)
    statuses = [message.status for message in forces if message.status != PrimeStatus.STARTING]
    assert statuses == sorted(statuses), "GOOD before it, and never again"
    assert bench.call(Trigger, "/prime_estimator/reset", Trigger.Request()).success
    assert not node._live._session.judgement.fallen


def test_silence_of_all_streams_is_published_as_lost(bench: Any) -> None:
    node = estimator(bench)
    bench.start(node)
    forces = bench.listen(ContactForces, "/contact_forces", qos.stream("reliable", 1000))
    reports = bench.listen(DiagnosticArray, "/diagnostics")
    Robot(bench, node).play(record(0.5)[0])
    bench.until(lambda: forces and forces[-1].status == PrimeStatus.LOST)
    bench.until(lambda: values(reports[-1]).get("fault of joint_position") == "off")
    assert reports[-1].status[0].level == DiagnosticStatus.ERROR


def test_before_any_message_it_is_starting_and_names_what_is_missing(bench: Any) -> None:
    node = estimator(bench)
    bench.start(node)
    reports = bench.listen(DiagnosticArray, "/diagnostics")
    bench.until(lambda: reports)
    assert values(reports[-1])["status"] == "STARTING"
    assert reports[-1].status[0].level == DiagnosticStatus.WARN


def test_reset_and_save(bench: Any, tmp_path: Path) -> None:
    node = estimator(bench)
    bench.start(node)
    Robot(bench, node).play(record(0.5)[0])
    answer = bench.call(Save, "/prime_estimator/save", Save.Request(path=str(tmp_path / "out")))
    assert answer.success, answer.message
    document = json.loads(Path(answer.path).read_text(encoding="utf-8"))
    assert document["pipeline"] == "prime"
    assert document["bodies"][0]["parameters"][0]["name"] == "m"
    assert document["config"]["robot"] == "go2"
    refused = bench.call(Save, "/prime_estimator/save", Save.Request(path=" "))
    assert not refused.success
    assert "path is empty" in refused.message
    assert bench.call(Trigger, "/prime_estimator/reset", Trigger.Request()).success
    assert node._live._session.estimate is None


def test_it_may_be_deactivated_cleaned_up_and_started_again(bench: Any) -> None:
    node = estimator(bench)
    for _ in range(2):
        bench.start(node)
        assert node._live is not None
        node.trigger_deactivate()
        node.trigger_cleanup()
        assert node._live is None


def test_an_imu_without_orientation_and_joints_without_effort_are_taken(bench: Any) -> None:
    session = make_session()
    imu, joints = Imu(), JointState()
    imu.header.stamp.sec = joints.header.stamp.sec = 100
    imu.orientation_covariance[0] = -1.0
    joints.name, joints.position = list(session.robot.joint_names), [0.0] * 12
    session.take(read_imu(imu))
    session.take(read_joint_state(joints))
    assert session.received == 2
    assert not session.unusable
    assert not any(session.rejected.values())


def test_low_state_messages_reach_the_session_as_joints_and_imu() -> None:
    session = make_session()
    read = LowStateReader(session.robot)
    for tick in range(0, 1000, 2):
        message = GoLowState(tick=tick)
        message.imu_state.accelerometer = np.array([0.0, 0.0, 9.81 + 1e-3 * (tick % 7)])
        message.motor_state[0].q = 1e-3 * (tick % 5)
        for readings in read(message, 50.0 + 1e-3 * tick).readings():
            session.take(readings)
    assert session.received == 1000
    assert session.time == pytest.approx(50.998, abs=2e-3)
    assert session.solves > 0


@pytest.mark.parametrize(
    ("parameters", "line"),
    [
        ({"robot": "r2d2"}, "unknown robot 'r2d2'"),
        ({"robot": "kinova_gen3"}, "kinova_gen3"),
        ({"prime__inertia__bodies": "tail"}, "tail"),
        ({"low_state": True}, "needs the message package unitree_go, not installed"),
        ({"contacts__links": "FL_foot", "contacts__radii": [0.1, 0.2]}, "one radius"),
    ],
)
def test_what_cannot_be_configured_says_why(
    bench: Any, parameters: dict[str, Any], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_that_configuring_says(line, estimator(bench, **parameters), monkeypatch)


def test_the_worker_s_thread_ends_with_the_node(bench: Any) -> None:
    import threading

    before = threading.active_count()
    node = estimator(bench)
    bench.start(node)
    assert threading.active_count() > before
    node.release()
    deadline = time.monotonic() + 10.0
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before
