# SPDX-License-Identifier: Apache-2.0
"""`sysid tracking`: finds the errors that a recording was made with, and says clearly what is wrong with one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sysid_nodes.cli.main import main
from sysid_nodes.data.config import from_flat, own_parameters, read_parameters
from sysid_nodes.logs import BagWriter, stamp_fields
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.robots import load_robot
from sysid_nodes.systems.certified.certificate.config import TrackingConfig

COMMANDS = "/joint_trajectory_controller/joint_trajectory"
ROBOT = load_robot("kinova_gen3")
N = ROBOT.n
START = np.array([-1.16, 0.35, 2.6, -1.75, 0.2, -1.09, -0.2])
K = np.array([0.5, 0.3, 1.2, 0.4, -0.6, 0.3, 0.8])  # joint 3 leaves its turn
PLAN = Bezier(START, np.zeros(N), np.zeros(N), K, 3.0)
LATE = 0.03
EPOCH = 1_700_000_000.0
ORDER = list(reversed(range(N)))


def wrapped(q: np.ndarray) -> np.ndarray:
    return np.where(ROBOT.wraps, np.mod(q + np.pi, 2.0 * np.pi) - np.pi, q)


def trajectory(**changes: Any) -> dict[str, Any]:
    t = np.linspace(0.0, 3.0, 61)
    points = [
        {"positions": q[ORDER], "velocities": qd[ORDER], "time_from_start": stamp_fields(float(s))}
        for s, q, qd in zip(t, PLAN(t).q, PLAN(t).qd, strict=True)
    ]
    names = [ROBOT.joint_names[j] for j in ORDER]
    return {"header": {"stamp": stamp_fields(EPOCH + 0.5)}, "joint_names": names, "points": points, **changes}


def states(bag: BagWriter, *, offset: float = 0.0, velocity: bool = True, count: int = 400) -> None:
    """A robot that does what it was told LATE seconds ago, at 100 Hz."""
    bag.add_topic("/joint_states", "sensor_msgs/msg/JointState")
    for k in range(count):
        t = 0.01 * k
        now = PLAN(max(t - 0.5 - LATE, 0.0))
        bag.write(
            "/joint_states",
            EPOCH + t,
            {
                "header": {"stamp": stamp_fields(EPOCH + t + offset)},
                "name": list(ROBOT.joint_names),
                "position": wrapped(now.q),
                "velocity": now.qd if velocity else [],
            },
        )


def record(path: Path, messages: list[dict[str, Any]], **options: Any) -> str:
    with BagWriter(path) as bag:
        states(bag, **options)
        bag.add_topic(COMMANDS, "trajectory_msgs/msg/JointTrajectory")
        for k, message in enumerate(messages):
            bag.write(COMMANDS, EPOCH + 0.5 + 0.01 * k, message)
    return str(path)


def expected() -> tuple[np.ndarray, np.ndarray]:
    t = np.linspace(0.0, 3.5, 351)
    behind = PLAN(np.maximum(t - LATE, 0.0))
    return np.abs(PLAN(t).q - behind.q).max(axis=0), np.abs(PLAN(t).qd - behind.qd).max(axis=0)


def read(path: Path) -> TrackingConfig:
    values = own_parameters(TrackingConfig, {k.removeprefix("tracking."): v for k, v in read_parameters(path).items()})
    return from_flat(TrackingConfig, values)


@pytest.mark.parametrize("stamped", [True, False])
def test_lateness_is_found_joint_by_joint(tmp_path: Path, capsys: pytest.CaptureFixture[str], stamped: bool) -> None:
    message = trajectory() if stamped else trajectory(header={})
    out = tmp_path / "tracking.yaml"
    bag = record(tmp_path / "bag", [message])
    assert main(["tracking", bag, "--safety-factor", "2", "--out", str(out), "--set", "noise.velocity_error=0"]) == 0
    found, (q, qd) = read(out), expected()
    # Cubics between points 50 ms apart are off by 1e-6; numbers are rounded up; half an encoder step is added.
    np.testing.assert_allclose(found.position_error, 2.0 * q + 0.5 * ROBOT.encoder_step, atol=2e-5)
    np.testing.assert_allclose(found.velocity_error, 2.0 * qd, atol=4e-4)
    np.testing.assert_allclose(found.fastest, np.abs(PLAN(np.linspace(0.0, 3.0, 301)).qd).max(axis=0), atol=2e-3)
    assert "worst times 2" in found.source and not found.acceleration_error
    text = capsys.readouterr().out
    assert all(name in text for name in ROBOT.joint_names) and "Measured, not proven" in text


def test_the_snippet_is_printed_without_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tracking", record(tmp_path / "bag", [trajectory()])]) == 0
    text = capsys.readouterr().out
    (tmp_path / "copied.yaml").write_text(text[text.index("# Measured") :], encoding="utf-8")
    assert len(read(tmp_path / "copied.yaml").position_error) == N


def test_commands_may_be_joint_states(tmp_path: Path) -> None:
    path, out = tmp_path / "bag", tmp_path / "tracking.yaml"
    with BagWriter(path) as bag:
        states(bag)
        bag.add_topic("/wanted", "sensor_msgs/msg/JointState")
        for t in np.arange(0.0, 3.0, 0.02):
            now = PLAN(t)
            stamp = {"header": {"stamp": stamp_fields(EPOCH + 0.5 + t)}}
            fields = {"name": list(ROBOT.joint_names), "position": wrapped(now.q), "velocity": now.qd}
            bag.write("/wanted", EPOCH + 0.5 + t, stamp | fields)
    command = ["tracking", str(path), "--commands", "/wanted", "--safety-factor", "1", "--out", str(out)]
    assert main([*command, "--set", "noise.velocity_error=0"]) == 0
    np.testing.assert_allclose(read(out).position_error, expected()[0] + 0.5 * ROBOT.encoder_step, atol=2e-5)


@pytest.mark.parametrize(
    ("messages", "options", "arguments", "line"),
    [
        ([trajectory(joint_names=["x"] * N)], {}, [], "command 0 of '/joint_.*' has no joint 'joint_1'"),
        ([trajectory(points=[])], {}, [], "have no points"),
        ([trajectory(points=[{"positions": [1.0]}])], {}, [], "without a position for each of its 7 joints"),
        ([trajectory(points=[{"positions": [np.nan] * N}])], {}, [], "command 0 .* is not finite"),
        ([trajectory()], {"offset": -1e6}, [], "no joint state of '/joint_states' comes after the first command"),
        ([trajectory()], {"velocity": False}, [], "no usable joint state on '/joint_states'"),
        ([trajectory()], {"count": 60}, [], "samples are too few"),
        ([trajectory()], {}, ["--commands", "/other"], "has no topic '/other'"),
        ([trajectory()], {}, ["--states", COMMANDS], "is of type trajectory_msgs/msg/JointTrajectory"),
        ([trajectory()], {}, ["--safety-factor", "0.5"], "--safety-factor must be at least 1, got 0.5"),
        ([trajectory()], {}, ["--out", "/nowhere/at/all.yaml"], "cannot write"),
    ],
)
def test_bad_input_is_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    messages: list[dict[str, Any]],
    options: dict[str, Any],
    arguments: list[str],
    line: str,
) -> None:
    bag = record(tmp_path / "bag", messages, **options)
    assert main(["tracking", bag, *arguments]) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("sysid: error: ")
    assert re.search(line, error), error


def test_a_recording_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tracking", str(tmp_path / "none")]) == 2
    assert "no such file or folder" in capsys.readouterr().err


def test_the_delay_of_torques_is_told_and_configured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng, late = np.random.default_rng(0), 2
    torque = np.cumsum(rng.normal(0.0, 0.1, (1500, ROBOT.n)), axis=0)
    stamps = [stamp_fields(EPOCH + 1e-3 * k) for k in range(len(torque))]
    joints = list(ROBOT.joint_names)
    with BagWriter(tmp_path / "bag") as bag:
        bag.add_topic("/joint_states", "sensor_msgs/msg/JointState")
        bag.add_topic("/torque_command", "online_sysid/msg/TorqueCommand")
        for k, stamp in enumerate(stamps):
            state = {"header": {"stamp": stamp}, "name": joints, "position": np.zeros(7), "velocity": np.zeros(7)}
            bag.write("/joint_states", EPOCH + 1e-3 * k, state | {"effort": torque[max(k - late, 0)]})
            answer = {"header": {"stamp": stamp}, "joint_names": joints, "torque": torque[k]}
            bag.write("/torque_command", EPOCH + 1e-3 * k, answer)
    assert main(["tracking", str(tmp_path / "bag"), "--torques", "/torque_command"]) == 0
    told = capsys.readouterr().out
    assert "2.00 ms old, 2.00 ms at most" in told and "  delay: 0.0020" in told
