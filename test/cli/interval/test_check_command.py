# SPDX-License-Identifier: Apache-2.0
"""sysid check and sysid init: what they print mends a log, and a real Gen3's log works from the shipped file alone."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from shared.payload_problem import Problem
from shared.recorded import PAPER, record

from sysid_nodes.cli.main import main
from sysid_nodes.data import JointSamples
from sysid_nodes.reports.interval.result_file import read_result
from sysid_nodes.robots import load_robot


def test_a_second_of_motion_is_not_called_an_agreement(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(log), *PAPER]) == 0
    told = capsys.readouterr().out
    assert "501 joint states in 1.0 s, 500 Hz" in told
    assert "nothing found to mend, but this motion tells too little of the torques" in told


def test_a_log_too_short_for_a_calibration_is_said(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A replay of it would claim nothing."""
    words = ["check", str(log), *PAPER, "--calibration", "any.json", "--set"]
    assert main([*words, "weigh_first=11"]) == 3
    line = "only 10 windows of 0.1 s can be used: nothing is claimed before 11, 1.1 s, are weighed against"
    assert line in capsys.readouterr().out
    assert main([*words, "weigh_first=10"]) == 0


@pytest.mark.parametrize(("words", "said"), [([], True), (["--set", "robot=kinova_gen3"], False), (PAPER, False)])
def test_a_robot_that_nobody_named_is_said(
    log: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: bool
) -> None:
    main(["check", str(log), *words])
    line = "no robot is named (--robot, --urdf or --config): taken for a kinova_gen3"
    assert (line in capsys.readouterr().err) == said


def test_the_printed_lines_mend_the_log(gen3: Problem, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def spoil(_: int, fields: dict[str, Any]) -> dict[str, Any]:
        effort = [-1000.0 * x if k == 3 else x for k, x in enumerate(fields["effort"])]
        return fields | {"effort": effort}

    bag = record(tmp_path / "bag", gen3.samples(10.0 + np.arange(1000) / 200.0), spoil)
    assert main(["check", str(bag), *PAPER]) == 3
    told = capsys.readouterr().out
    assert "effort of 'joint_4' has the opposite sign of the torque gravity needs, and seems to be in N mm" in told
    lines = told.partition("below ros__parameters:\n")[2].splitlines()
    mend = yaml.safe_load("\n".join(line for line in lines if line.startswith("  ")))
    file = tmp_path / "mended.yaml"
    text = Path(PAPER[1]).read_text(encoding="utf-8")
    tree = yaml.safe_load(text)
    tree["/**"]["ros__parameters"] |= mend
    file.write_text(yaml.safe_dump(tree), encoding="utf-8")
    assert main(["check", str(bag), "--config", str(file)]) == 0
    assert "nothing to mend: signals and configuration agree" in capsys.readouterr().out
    assert main(["replay", str(bag), "--config", str(file), "--out", str(tmp_path / "out")]) == 0
    mass = read_result(tmp_path / "out")["parameters"][0]
    assert mass["lower"] <= gen3.theta[0] <= mass["upper"]


def test_a_joint_that_rests_has_a_dash_for_what_it_does_not_tell(
    gen3: Problem, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = gen3.samples(10.0 + np.arange(400) / 200.0)
    rests = np.arange(7) == 6
    still = replace(samples, q=np.where(rests, 0.3, samples.q), qd=np.where(rests, 0.0, samples.qd))
    main(["check", str(record(tmp_path / "bag", still)), *PAPER])
    told = capsys.readouterr().out
    assert next(line for line in told.splitlines() if line.startswith("joint_7")).split()[3] == "-"
    assert "nan" not in told


def test_turns_of_positions_in_degrees_are_not_taken_for_jumps(
    gen3: Problem, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Read as rad the angle that goes from 180 to -180 degrees has jumped by many turns."""

    def degrees(_: int, fields: dict[str, Any]) -> dict[str, Any]:
        turned = np.degrees(np.array(fields["position"]) + np.pi)
        position = (turned + 180.0) % 360.0 - 180.0
        return fields | {"position": position.tolist(), "velocity": np.degrees(fields["velocity"]).tolist()}

    samples = gen3.samples(10.0 + np.arange(1000) / 200.0)
    assert (np.diff(np.sign(samples.q), axis=0) != 0.0).any()  # half a turn away the reading wraps here
    bag = record(tmp_path / "bag", samples, degrees)
    assert main(["check", str(bag), *PAPER]) == 3
    told = capsys.readouterr().out
    assert "position_unit: [deg]" in told or "position_unit: [deg," in told
    assert "turn unknown" not in told and "joint states are not used" not in told


def test_what_cannot_be_checked_is_one_line(gen3: Problem, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def rename(_: int, fields: dict[str, Any]) -> dict[str, Any]:
        return fields | {"name": ["arm", *fields["name"][1:]]}

    bag = record(tmp_path / "bag", gen3.samples(10.0 + np.arange(20) / 200.0), rename)
    assert main(["check", str(bag), *PAPER]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "has no joint joint_1 of robot 'kinova_gen3'; it has arm, joint_2" in error
    bag = record(
        tmp_path / "empty", gen3.samples(10.0 + np.arange(20) / 200.0), lambda _, fields: fields | {"effort": []}
    )
    assert main(["check", str(bag), *PAPER]) == 2
    assert "no two joint states can be judged (rejected: missing effort 20)\n" in capsys.readouterr().err


def test_a_clock_set_back_is_named(gen3: Problem, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def delay(k: int, fields: dict[str, Any]) -> dict[str, Any]:
        header = fields["header"]
        stamp = header["stamp"] | {"sec": header["stamp"]["sec"] + (100 if k < 50 else 0)}
        return fields | {"header": header | {"stamp": stamp}}

    bag = record(tmp_path / "bag", gen3.samples(10.0 + np.arange(300) / 200.0), delay)
    assert main(["check", str(bag), *PAPER]) == 3
    assert "within the recording: clock went back; cut it there\n" in capsys.readouterr().out


def test_windows_that_lack_samples_are_counted(
    gen3: Problem, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two lost samples spoil two windows where the torque between samples is an assumption about each of them."""
    t = 10.0 + np.delete(np.arange(300) / 200.0, [53, 153])
    bag = record(tmp_path / "bag", gen3.samples(t))
    words = ["check", str(bag), *PAPER, "--set", "noise.torque_interpolation=hold"]
    assert main(words) == 0
    assert "\n2 of 14 windows of 0.1 s are left out: window lacks samples\n" in capsys.readouterr().out


@pytest.fixture(scope="module")
def real(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The second log of a real Gen3 as a bag."""
    data = np.load(shared_data / "kinova_gen3_real" / "joint_sensor_2.npz")
    names = load_robot("kinova_gen3").joint_names
    samples = JointSamples(names, data["t"], data["q"], data["qd"], data["tau"])
    return record(tmp_path_factory.mktemp("real") / "bag", samples)


SHIPPED = ["--config", str(Path(__file__).resolve().parents[3] / "config/kinova_gen3.yaml")]


@pytest.mark.real_data
def test_a_real_gen3_works_from_the_shipped_file_alone(real: Path, tmp_path: Path) -> None:
    assert main(["check", str(real), *SHIPPED]) == 0
    assert main(["calibrate", str(real), *SHIPPED, "--out", str(tmp_path / "calibration.json")]) == 0
    assert main(["replay", str(real), *SHIPPED, "--out", str(tmp_path / "out")]) == 0
    mass = read_result(tmp_path / "out")["parameters"][0]
    # The arm carried nothing; the stated offsets and errors leave half a kilogram.
    assert mass["lower"] == 0.0
    assert mass["upper"] < 0.8
    assert abs(mass["nominal"]) < 0.1


@pytest.mark.parametrize(("coulomb", "constants"), [(0.2, None), (3.0, [0.15])])
def test_a_draft_knows_torques_of_motor_currents_by_their_friction(
    gen3: Problem, tmp_path: Path, coulomb: float, constants: list[float] | None
) -> None:
    """Dry friction of every joint beyond the sensor's or within the motor's current; limits are 39 and 9 N m."""
    samples = gen3.samples(10.0 + np.arange(1000) / 200.0)
    own = gen3.p[70:77]
    samples = replace(samples, tau=samples.tau + (coulomb - own) * np.sign(samples.qd))
    urdf, file = tmp_path / "arm.urdf", tmp_path / "arm.yaml"
    urdf.write_text(load_robot("kinova_gen3", variant="bare").urdf, encoding="utf-8")
    bag = record(tmp_path / "bag", samples)
    assert main(["init", str(urdf), str(bag), "--out", str(file)]) == 0
    known = yaml.safe_load(file.read_text(encoding="utf-8"))["/**"]["ros__parameters"]["known_robot"]
    assert known.get("gain_relative") == constants


@pytest.mark.real_data
def test_a_draft_from_urdf_and_log_answers_without_a_number_by_hand(
    real: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    urdf, file = tmp_path / "arm.urdf", tmp_path / "arm.yaml"
    urdf.write_text(load_robot("kinova_gen3", variant="bare").urdf, encoding="utf-8")
    assert main(["init", str(urdf), str(real), "--out", str(file)]) == 0
    assert "torque_sign: [-1.0, " in file.read_text(encoding="utf-8")
    words = ["--config", str(file), "--urdf", str(urdf)]
    assert main(["check", str(real), *words]) == 0
    assert main(["replay", str(real), *words, "--out", str(tmp_path / "out")]) == 0
    mass = read_result(tmp_path / "out")["parameters"][0]
    assert mass["lower"] == 0.0 and mass["upper"] < 1.0
    capsys.readouterr()
    assert main(["init", str(urdf), str(real), "--out", str(file)]) == 2
    assert "exists already" in capsys.readouterr().err


def test_the_next_command_is_complete_and_does_what_it_says(
    gen3: Problem, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    urdf, file = tmp_path / "my arm.urdf", tmp_path / "my arm.yaml"
    urdf.write_text(load_robot("kinova_gen3", variant="bare").urdf, encoding="utf-8")
    bag = record(tmp_path / "my bag", gen3.samples(10.0 + np.arange(1000) / 200.0), topic="/left/joint_states")
    assert main(["init", str(urdf), str(bag), "--topic", "/left/joint_states", "--out", str(file)]) == 0
    words = shlex.split(capsys.readouterr().out.splitlines()[-1].removeprefix("next: "))
    assert words[0] == "sysid"
    assert main(words[1:]) == 0


def test_a_draft_from_a_urdf_alone_loads(tmp_path: Path) -> None:
    from sysid_nodes.data.config import load_yaml
    from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

    urdf, file = tmp_path / "arm.urdf", tmp_path / "arm.yaml"
    urdf.write_text(load_robot("kinova_gen3", variant="bare").urdf, encoding="utf-8")
    assert main(["init", str(urdf), "--out", str(file)]) == 0
    config = load_yaml(IntervalIdentifierConfig, file)
    assert config.noise.model == "window" and config.prior.upper[0] > 1.0


def test_a_draft_of_a_robot_that_has_a_name_needs_no_urdf(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from sysid_nodes.data.config import load_yaml
    from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

    file = tmp_path / "ur10.yaml"
    assert main(["init", "ur10", "--out", str(file)]) == 0
    assert capsys.readouterr().out.endswith(f"sysid check BAG --config {file}\n")
    config = load_yaml(IntervalIdentifierConfig, file)
    assert config.robot == "ur10" and not config.urdf and config.prior.upper[0] > 10.0


def test_a_draft_of_neither_a_file_nor_a_name_says_the_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", "go2", "--out", str(tmp_path / "a.yaml")]) == 2
    line = capsys.readouterr().err
    assert line.startswith("sysid: error: go2: neither a URDF file nor an arm's name (") and "panda" in line


def test_joints_of_another_robot_name_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = load_robot("ur10").joint_names
    still = np.zeros((20, 6))
    bag = record(tmp_path / "bag", JointSamples(names, 0.01 * np.arange(20), still, still, still))
    assert main(["check", str(bag)]) == 2
    assert "as robot 'ur10' has" in capsys.readouterr().err
