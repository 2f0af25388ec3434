# SPDX-License-Identifier: Apache-2.0
"""Planner and a robot with a position interface, as processes of their own: certified motion, and what ends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from online_sysid.msg import CertifiedTrajectory, StopRequest
from sensor_msgs.msg import JointState
from shared import children
from shared.certified_processes import PLANNER, start_node
from shared.waiting import spin_until
from trajectory_msgs.msg import JointTrajectory

from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.results.certificate import Verdict
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.robots import load_robot
from sysid_nodes.ros import qos
from sysid_nodes.ros.certified.controller_conversions import nanoseconds
from sysid_nodes.ros.certified.set_point_messages import set_points
from sysid_nodes.ros.spinning import make_executor
from sysid_nodes.signals.set_points import SetPoints
from sysid_nodes.systems.certified.control.tracking_bound import measure_tracking

pytestmark = pytest.mark.ros

POSITION, VELOCITY, FASTEST = 0.03, 0.1, 0.6
"""The interface is 30 ms late, 18 mrad at this speed; load and acceleration add some mrad."""

SPEED = 0.4
"""The robot's seconds in one of the machine's: a robot with a position interface waits for nobody, and a busy machine
plans more slowly."""

ROBOT = {
    "simulated_arm.interface": "position",
    "simulated_arm.speed": SPEED,
    "simulated_arm.pounds": 2.0,
    "simulated_arm.vendor.bandwidth": 60.0,
}
TRACKED = {
    **PLANNER,
    "certified_planner.output": "position",
    "certified_planner.streaming.silence": 10.0,  # the machine's own pauses are not what is tested
    "tracking.position_error": [POSITION],
    "tracking.velocity_error": [VELOCITY],
    "tracking.fastest": [FASTEST],
    "certified_planner.diagnostics_period": 0.2,
}


class Streamed:
    """The processes, and what went over the wires."""

    def __init__(self) -> None:
        self.robot = load_robot("kinova_gen3")
        self.order = JointOrder(self.robot.joint_names)
        self.processes = {
            "robot": start_node("simulated_arm", ROBOT),
            "planner": start_node("certified_planner", TRACKED),
        }
        rclpy.init()
        self.node = rclpy.create_node("tester")
        self._executor = make_executor()
        self._executor.add_node(self.node)
        self.sent: list[JointTrajectory] = []
        self.records: list[CertifiedTrajectory] = []
        self.states: list[tuple[float, np.ndarray, np.ndarray]] = []
        self.stop = StopRequest()
        self.diagnostics: dict[str, Any] = {}
        listen = self.node.create_subscription
        listen(JointTrajectory, "joint_trajectory_controller/joint_trajectory", self.sent.append, 10)
        listen(CertifiedTrajectory, "certified_trajectory", self.records.append, 10)
        listen(JointState, "joint_states", self._joints, qos.stream("best_effort", 100))
        listen(StopRequest, "robot_stop", lambda message: setattr(self, "stop", message), qos.LATCHED)
        listen(DiagnosticArray, "/diagnostics", self._diagnose, 10)

    def until(self, condition: Callable[[], Any]) -> None:
        spin_until(self._executor, condition, lambda: f"{len(self.sent)} sent, {self.stop}, {self.diagnostics}")

    def value(self, key: str) -> str:
        status = self.diagnostics.get("certified_planner: planning")
        return "" if status is None else next(item.value for item in status.values if item.key == key)

    def desired(self) -> SetPoints:
        """What the messages ask for, on the stamps' clock from the first one's."""
        points = SetPoints(self.robot.n)
        for message in self.sent:
            begin = self.seconds(nanoseconds(message.header.stamp))
            t, q, qd = set_points(message, self.order)
            points.take(begin, begin + t, q, qd)
        return points

    def seconds(self, stamp: int) -> float:
        return 1e-9 * (stamp - nanoseconds(self.sent[0].header.stamp))

    def close(self) -> None:
        children.kill(*self.processes.values())
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown()

    def _joints(self, message: JointState) -> None:
        columns = self.order.columns(message.name)
        q, qd = np.array(message.position)[columns], np.array(message.velocity)[columns]
        self.states.append((nanoseconds(message.header.stamp), q, qd))

    def _diagnose(self, message: DiagnosticArray) -> None:
        self.diagnostics.update({status.name: status for status in message.status})


@pytest.fixture(scope="module")
def run() -> Iterator[Streamed]:
    made = Streamed()
    yield made
    made.close()


def test_certified_motion_is_followed_within_the_certified_errors(run: Streamed) -> None:
    run.until(lambda: len(run.sent) >= 2 and run.states)  # the robot may be discovered after the planner
    last = nanoseconds(run.sent[1].header.stamp)
    run.until(lambda: run.states[-1][0] > last + 800_000_000)
    desired = run.desired()
    t = np.array([run.seconds(stamp) for stamp, _, _ in run.states])
    told = np.flatnonzero(t >= 0.0)
    told = told[np.append(True, np.diff(t[told]) > 0.0)]
    q, qd = (np.array([run.states[k][part] for k in told]) for part in (1, 2))
    found = measure_tracking(t[told], *desired.at(t[told]), q, qd, safety_factor=1.0, wraps=run.robot.wraps)
    assert (found.worst_position < POSITION).all() and (found.worst_velocity < VELOCITY).all()
    assert found.worst_position.max() > 1e-3  # it moves, and not perfectly
    assert found.fastest.max() > 0.1 and (found.fastest <= FASTEST).all()
    # a machine too slow to plan in time lets the robot come to its certified rest, and says so
    assert run.stop.reason == 0 and run.value("reason") in ("NONE", "PLANNER_SILENT")
    assert 0.0 < float(run.value("share of the tracking errors")) < 1.0
    record = run.records[0]
    assert record.verdict == Verdict.CERTIFIED and "torque is not proven" in record.binding
    assert np.isinf(record.error_energy).all()


def test_without_the_planner_the_robot_comes_to_its_certified_rest(run: Streamed) -> None:
    run.until(lambda: run.value("execution") == "TRACKING" and run.states)
    children.kill(run.processes["planner"])
    count = len(run.sent)

    def end() -> int:  # of the newest, which may still have been on its way
        final = run.sent[-1]
        return nanoseconds(final.header.stamp) + nanoseconds(final.points[-1].time_from_start)

    run.until(lambda: run.states[-1][0] > end() + 200_000_000)
    assert len(run.sent) in (count, count + 1) and run.stop.reason == 0
    goal = set_points(run.sent[-1], run.order)[1][-1]
    _, q, qd = run.states[-1]
    error = goal - q
    error -= np.where(run.robot.wraps, 2.0 * np.pi * np.round(error / (2.0 * np.pi)), 0.0)
    assert (np.abs(error) < POSITION).all() and (np.abs(qd) < 2e-3).all()


@pytest.mark.slow  # without processes: test_position_streaming.py
def test_a_robot_that_does_not_follow_as_certified_is_stopped(run: Streamed) -> None:
    """A planner that counts on a tenth of the errors goes on from rest, until the first of them is larger."""
    children.kill(run.processes["planner"])
    run.diagnostics.clear()
    wrong = {**TRACKED, "tracking.position_error": [0.1 * POSITION], "tracking.fastest": [0.6]}
    run.processes["planner"] = start_node("certified_planner", wrong)
    run.until(lambda: run.stop.reason == StopReason.TRACKING_ERROR)
    run.until(lambda: run.value("reason") == "TRACKING_ERROR")
    assert run.value("execution") == "STOPPED"
    _, q, _ = run.states[-1]
    assert np.isfinite(q).all()
