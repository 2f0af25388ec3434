# SPDX-License-Identifier: Apache-2.0
"""Simulated robot and estimator as users run them: a process each, real DDS, real time, signals."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from online_sysid.msg import ContactForces, InertialEstimate
from sensor_msgs.msg import Imu, JointState
from shared import children
from shared.legged_log import KNOWN
from shared.refusal import check_refusal

from sysid_nodes.ros import qos
from sysid_nodes.ros.nodes.simulated_legged_robot import parse_faults

pytestmark = pytest.mark.ros

SENSOR = qos.stream("best_effort", 2000)


def given(*parameters: str) -> list[str]:
    return [word for parameter in parameters for word in ("-p", parameter)]


def values(reports: list[DiagnosticArray], node: str) -> dict[str, str]:
    """The newest report of a node."""
    for report in reversed(reports):
        for status in report.status:
            if status.name.startswith(node):
                return {item.key: item.value for item in status.values}
    return {}


@pytest.mark.slow  # the same two processes: test_prime_demo.py; what is published: test_prime_node.py
def test_a_simulated_go2_is_weighed_live(bench: Any, executables: Any, tmp_path: Path, project_root: Path) -> None:
    reports = bench.listen(DiagnosticArray, "/diagnostics", 100)
    forces = bench.listen(ContactForces, "/contact_forces", qos.stream("reliable", 1000))
    inertia = bench.listen(InertialEstimate, "/torso_inertia", qos.LATCHED)
    # Drives that are taken at their word: with those that are not, no mass is known to 0.1 kg.
    known = [f"prime.{name}:={value}" for name, value in KNOWN.items()]
    node = executables.start("prime_estimator", *given("diagnostics_period:=0.2", "pacing.max_lag:=5.0", *known))
    motion = given("motion:=sway", "load.mass:=3.0", "listeners:=1", f"truth_file:={tmp_path / 'truth.json'}")
    robot = executables.start("simulated_legged_robot", *motion)
    bench.until(lambda: forces and inertia and inertia[-1].sigma[0] < 0.1)
    truth = json.loads((tmp_path / "truth.json").read_text(encoding="utf-8"))
    found = inertia[-1]
    assert abs(found.estimate[0] - truth["theta"][0]) < 5.0 * found.sigma[0]
    assert [contact.frame for contact in forces[-1].contacts] == truth["contacts"]
    bench.until(lambda: "rate of /imu/data [Hz]" in values(reports, "prime_estimator"))
    bench.until(lambda: "processor time [s]" in values(reports, "simulated_legged_robot"))
    robot.send_signal(signal.SIGINT)
    # the robot is gone: that is said, and nothing falls over
    bench.until(lambda: values(reports, "prime_estimator").get("fault of mocap_pose") == "off")
    bench.until(lambda: values(reports, "prime_estimator").get("status") == "LOST")
    assert "-> LOST" in executables.end(node)
    children.finish(robot)
    assert robot.returncode == 0


def test_the_simulated_robot_publishes_each_stream_at_its_rate_and_writes_the_truth(
    bench: Any, executables: Any, tmp_path: Path
) -> None:
    joints, imu, poses = (
        bench.listen(kind, topic, SENSOR)
        for kind, topic in ((JointState, "/joint_states"), (Imu, "/imu/data"), (PoseStamped, "/mocap/pose"))
    )
    reports = bench.listen(DiagnosticArray, "/diagnostics", 100)
    truth = bench.listen(ContactForces, "/truth/contact_forces")
    motion = given(
        "duration:=1.0", "motion:=stand", "listeners:=1", "vendor_order:=true", "truth_topics:=true",
        f"truth_series:={tmp_path / 'truth.npz'}", "sensors.mocap.dropout:=0.0",
    )  # fmt: skip
    robot = executables.start("simulated_legged_robot", *motion)
    bench.until(lambda: values(reports, "simulated_legged_robot").get("state") == "finished")
    bench.until(lambda: joints and imu and poses and truth)
    sent = {key: int(text) for key, text in values(reports, "simulated_legged_robot").items() if "published" in key}
    assert sent["published on /joint_states"] == pytest.approx(500, abs=2)
    assert sent["published on /imu/data"] == pytest.approx(500, abs=2)
    assert sent["published on /mocap/pose"] == pytest.approx(100, abs=2)
    for heard, rate in ((joints, 500.0), (imu, 500.0), (poses, 100.0)):
        stamps = np.array([m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in heard])
        assert np.median(np.diff(stamps)) == pytest.approx(1.0 / rate, rel=0.1)
    assert joints[0].name[:3] == ["FR_hip_joint", "FR_thigh_joint", "FR_calf_joint"]
    assert np.linalg.norm([imu[0].linear_acceleration.z]) == pytest.approx(9.8, abs=2.0)
    series = np.load(tmp_path / "truth.npz")
    assert series["force_mean"].shape[1:] == (4, 3)
    start = joints[0].header.stamp.sec + 1e-9 * joints[0].header.stamp.nanosec
    assert abs(series["time"][0] - start) < 0.5
    executables.end(robot, signal.SIGTERM)


@pytest.mark.parametrize(
    ("node", "parameters", "line"),
    [
        ("simulated_legged_robot", ["robot:=r2d2"], "'robot' must be one of go2, g1, got 'r2d2'"),
        ("simulated_legged_robot", ["faults:=mocap"], "'faults' must be like mocap:off:2:3, got 'mocap'"),
        ("simulated_legged_robot", ["low_state:=true"], "needs the message package unitree_go, not installed"),
        ("prime_estimator", ["prime.step:=-1.0"], "'prime.step' must be at least 0.0001, got -1.0"),
        ("prime_estimator", ["pacing.hop:=20"], "'most_hop' must not be below 'hop'"),
    ],
)
def test_what_cannot_start_says_so_in_one_line(
    node: str, parameters: list[str], line: str, capfd: pytest.CaptureFixture[str]
) -> None:
    check_refusal(line, node, *given(*parameters), capfd=capfd)


def test_faults_are_read_from_their_text() -> None:
    first, second, third = parse_faults("mocap:off, imu:nan:1.5,joints:stuck:2:3")
    assert (first.stream, first.kind, first.start, first.end) == ("mocap", "off", 0.0, np.inf)
    assert (second.kind, second.start) == ("nan", 1.5)
    assert (third.start, third.end) == (2.0, 3.0)
    assert parse_faults(" ") == ()
