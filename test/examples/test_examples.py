# SPDX-License-Identifier: Apache-2.0
"""Every example runs, and what it shows is true."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from sysid_nodes.cli.main import main as sysid
from sysid_nodes.data.config import load_yaml
from sysid_nodes.results import Status
from sysid_nodes.robots import load_robot
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PROVEN = (Status.PROVEN, Status.NOT_EXCITED)
SCRIPTS = ("identify_from_arrays", "identify_own_arm", "plot_result", "own_arm/record_logs")


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name.replace("/", "_"), EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def recorder() -> ModuleType:
    return load("own_arm/record_logs")


@pytest.fixture(scope="module")
def bags(recorder: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fourteen seconds each: enough for the 48 windows that bounds on a calibration are weighed by first."""
    folder = tmp_path_factory.mktemp("own_arm") / "bags"
    recorder.main(["--out", str(folder), "--seconds", "14"])
    return folder


@pytest.fixture(scope="module")
def replayed(bags: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the tutorial's commands make of the same recordings."""
    folder = tmp_path_factory.mktemp("replayed")
    chosen = ["--config", str(EXAMPLES / "own_arm/own_arm.yaml"), "--urdf", str(EXAMPLES / "own_arm/own_arm.urdf")]
    calibration = str(folder / "calibration.json")
    assert sysid(["calibrate", str(bags / "unloaded"), *chosen, "--out", calibration]) == 0
    out = folder / "loaded"
    assert sysid(["replay", str(bags / "loaded"), *chosen, "--calibration", calibration, "--out", str(out)]) == 0
    return out


def test_every_script_is_tested_and_told_of() -> None:
    found = {str(path.relative_to(EXAMPLES).with_suffix("")) for path in EXAMPLES.rglob("*.py")}
    assert found == set(SCRIPTS)
    told = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"{name}.py" in told for name in found)


def test_arrays_to_bounds() -> None:
    result, truth = load("identify_from_arrays").main(["--seconds", "2"])
    assert result.status in PROVEN
    assert ((result.lower <= truth) & (truth <= result.upper)).all()
    # The prior allows 4 kg of width; two seconds of gravity alone must have taken most of it.
    assert result.upper[0] - result.lower[0] < 2.0


def test_own_arm_contains_its_payload_and_agrees_with_the_command_line(
    recorder: ModuleType, bags: Path, replayed: Path
) -> None:
    result = load("identify_own_arm").main([str(bags)])
    assert result.status in PROVEN
    assert ((result.lower <= recorder.PAYLOAD) & (result.upper >= recorder.PAYLOAD)).all()
    assert result.upper[0] - result.lower[0] < 2.0  # of the prior's 4 kg
    document = json.loads((replayed / "result.json").read_text(encoding="utf-8"))
    assert [row["lower"] for row in document["parameters"]] == result.lower.tolist()
    assert [row["upper"] for row in document["parameters"]] == result.upper.tolist()


def test_own_arm_keeps_what_its_parameter_file_states(recorder: ModuleType) -> None:
    stated = load_yaml(IntervalIdentifierConfig, EXAMPLES / "own_arm/own_arm.yaml")
    robot = load_robot("", urdf=EXAMPLES / "own_arm/own_arm.urdf")
    t = np.linspace(100.0, 140.0, 20001)
    q, qd, qdd = recorder.motion(t)
    # Central differences at 2 ms: error below omega^2 dt^2 / 6 of the largest derivative, here 2e-5 of it.
    np.testing.assert_allclose((q[2:] - q[:-2]) / (t[2:] - t[:-2])[:, None], qd[1:-1], atol=1e-3)
    np.testing.assert_allclose((qd[2:] - qd[:-2]) / (t[2:] - t[:-2])[:, None], qdd[1:-1], atol=1e-2)
    assert (np.abs(qdd) <= stated.noise.acceleration[0]).all()
    assert stated.noise.torque_relative[0] >= recorder.TORQUE_ERROR
    assert stated.noise.velocity_error[0] >= recorder.VELOCITY_ERROR
    assert stated.noise.position_error[0] >= 0.5 * recorder.ENCODER_STEP
    for nominal, true in (
        (stated.known_robot.coulomb, recorder.COULOMB),
        (stated.known_robot.viscous, recorder.VISCOUS),
        (stated.known_robot.armature, recorder.ARMATURE),
    ):
        assert (np.abs(true - np.array(nominal)) <= np.array(nominal)).all()  # 100 % of it
    assert (np.abs(recorder.OFFSET) <= stated.known_robot.offset_absolute[0]).all()
    assert stated.prior.bounds.contains(recorder.PAYLOAD)
    assert (np.abs(q) <= np.where(robot.wraps, np.inf, robot.limits.position_upper)).all()


def test_own_arm_s_torque_changes_no_faster_than_stated(recorder: ModuleType) -> None:
    stated = load_yaml(IntervalIdentifierConfig, EXAMPLES / "own_arm/own_arm.yaml")
    robot = load_robot("", urdf=EXAMPLES / "own_arm/own_arm.urdf")
    samples = recorder.run(robot, recorder.PAYLOAD, seconds=4.0, seed=2)
    noise = recorder.TORQUE_ERROR * np.abs(samples.tau)
    # Coulomb friction jumps where the true speed passes zero, which may be before or after the reading does.
    uncertain = recorder.VELOCITY_ERROR + stated.noise.acceleration[0] * np.diff(samples.t)[:, None]
    smooth = np.minimum(np.abs(samples.qd[1:]), np.abs(samples.qd[:-1])) > uncertain
    assert smooth.mean() > 0.9
    change = np.abs(np.diff(samples.tau, axis=0)) - noise[1:] - noise[:-1]
    allowed = np.array(stated.noise.torque_rate) * np.diff(samples.t)[:, None]
    assert (change[smooth] <= np.broadcast_to(allowed, change.shape)[smooth]).all()


def test_recordings_are_not_overwritten(recorder: ModuleType, bags: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        recorder.main(["--out", str(bags)])
    assert stop.value.code == 2
    assert "exists" in capsys.readouterr().err


@pytest.mark.parametrize("parameter", ["m", "Izz"])
def test_plot(replayed: Path, tmp_path: Path, parameter: str) -> None:
    picture = tmp_path / "plot.png"
    load("plot_result").main([str(replayed / "result.json"), "--parameter", parameter, "--out", str(picture)])
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_plot_refuses_a_schema_of_the_future(replayed: Path, tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    document = json.loads((replayed / "result.json").read_text(encoding="utf-8"))
    file.write_text(json.dumps(document | {"schema": 99}), encoding="utf-8")
    with pytest.raises(SystemExit):
        load("plot_result").main([str(file), "--out", str(tmp_path / "plot.png")])
    assert not (tmp_path / "plot.png").exists()
