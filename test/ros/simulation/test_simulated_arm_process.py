# SPDX-License-Identifier: Apache-2.0
"""The arm that moves on its own, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from diagnostic_msgs.msg import DiagnosticArray
from online_sysid.msg import StopRequest
from sensor_msgs.msg import JointState
from shared.refusal import check_refusal

from sysid_nodes.robots import load_robot
from sysid_nodes.ros import qos
from sysid_nodes.ros.conversions import to_seconds
from sysid_nodes.simulation.arm import gen3_excitation

pytestmark = pytest.mark.ros

CONFIG = Path(__file__).resolve().parents[3] / "config/kinova_gen3_simulated.yaml"


def words(**parameters: object) -> list[str]:
    return [word for name, value in parameters.items() for word in ("-p", f"simulated_arm.{name}:={value}")]


def test_it_waits_for_its_listener_plays_its_motion_and_tells_the_truth_to_a_file_only(
    bench: Any, executables: Any, tmp_path: Path
) -> None:
    heard = bench.listen(JointState, "/joint_states", qos.stream("reliable", 5000))
    reports = bench.listen(DiagnosticArray, "/diagnostics", 100)
    stops = bench.tester.create_publisher(StopRequest, "stop_request", qos.stream("reliable", 100))
    settings = words(interface="playback", listeners=1, truth_file=tmp_path / "truth.json")
    arm = executables.start("simulated_arm", *settings, "--params-file", str(CONFIG))
    bench.until(lambda: len(heard) >= 1000 and stops.get_subscription_count())
    played = heard[:1000]
    stops.publish(StopRequest())
    bench.until(lambda: reports and "protective stop" in reports[-1].status[0].message)
    bench.until(lambda: np.abs(heard[-1].velocity).max() < 1e-3)
    assert "simulated kinova_gen3, playback, in real time" in executables.end(arm)
    # No reading is left out, and none comes before its listener is there.
    t = np.array([to_seconds(message.header.stamp) for message in played])
    np.testing.assert_allclose(np.diff(t), 1e-3, atol=1e-6)
    wanted = gen3_excitation()(t - t[0]).q
    turns = (np.array([message.position for message in played]) - wanted) / (2.0 * np.pi)
    assert np.abs(turns - np.round(turns)).max() * 2.0 * np.pi < 0.01
    assert np.abs(np.ptp(wanted, axis=0)).max() > 0.1
    theta = np.array(json.loads((tmp_path / "truth.json").read_text())["parameters"])
    hand = load_robot("kinova_gen3").inertial_parameters()[6]
    assert theta[0] - hand[0] == pytest.approx(6.0 * 0.45359237)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"pounds": -1.0}, "simulated_arm: 'simulated_arm.pounds' must be at least 0, got -1.0"),
        ({"masss": 1.0}, "simulated_arm: parameters: unknown key 'simulated_arm.masss'"),
        ({"truth_file": "no_such_folder/truth.json"}, "no_such_folder/truth.json: cannot write"),
    ],
)
def test_an_arm_that_cannot_start_says_so_in_one_line(
    arguments: dict[str, object], line: str, capfd: pytest.CaptureFixture[str]
) -> None:
    check_refusal(line, "simulated_arm", *words(**arguments), capfd=capfd)


@pytest.mark.parametrize(
    ("robot", "line"),
    [
        ("go2", "simulated_arm: robot 'go2' has a floating base; the simulated arm needs a fixed one"),
        ("ur10", "simulated_arm: 'simulated_arm.start' has 7 positions, robot 'ur10' has 6 joints"),
    ],
)
def test_a_robot_that_is_no_such_arm(robot: str, line: str, capfd: pytest.CaptureFixture[str]) -> None:
    check_refusal(line, "simulated_arm", "-p", f"robot:={robot}", capfd=capfd)
