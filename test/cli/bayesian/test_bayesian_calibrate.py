# SPDX-License-Identifier: Apache-2.0
"""sysid calibrate --method bayesian and both: one file that replays read, and methods that exclude each other."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from shared.bare_arm import LOAD, UR10, bare_arm, loaded, unloaded_run, write_configuration
from shared.payload_problem import Problem, SineMotion
from shared.recorded import record

from sysid_nodes.cli.bayesian import calibrate as calibrate_bayesian
from sysid_nodes.cli.bayesian.calibrate import posterior_of
from sysid_nodes.cli.main import main
from sysid_nodes.reports.interval.result_file import read_result
from sysid_nodes.results.bayesian import BayesianResult, BayesianStatus
from sysid_nodes.robots import Robot
from sysid_nodes.systems.bayesian import BayesianConfig, arm_posterior
from sysid_nodes.systems.bayesian.mechanism import build_mechanism
from sysid_nodes.systems.interval.calibration_file import load_calibration

QUICK = [
    f"--set=bayesian.{setting}"
    for setting in ("step=0.05", "search.starts=1", "search.sharpening=3", "noise.rounds=2", "verdict.samples=200")
]
UR10E = Path(__file__).parents[4] / "shared" / "data" / "ur10e_payload"


@pytest.fixture(scope="module")
def arm() -> Problem:
    return bare_arm(np.random.default_rng(21), UR10)


@pytest.fixture(scope="module")
def folder(arm: Problem, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("arm")
    rng = np.random.default_rng(22)
    record(folder / "unloaded", unloaded_run(arm, rng, duration=8.0).samples)
    record(folder / "again", unloaded_run(arm, rng, duration=8.0).samples)
    record(folder / "loaded", unloaded_run(loaded(arm, LOAD, SineMotion.random(rng, 6)), rng, 3.0).samples)
    write_configuration(folder / "arm.yaml")
    return folder


def calibrate(folder: Path, *words: str, bags: tuple[str, ...] = ("unloaded",)) -> int:
    recorded = [str(folder / bag) for bag in bags]
    return main(["calibrate", *recorded, "--config", str(folder / "arm.yaml"), *words, "--out", str(folder / "c.json")])


def test_a_payload_is_weighed_on_a_posterior(folder: Path, arm: Problem, tmp_path: Path) -> None:
    assert calibrate(folder, "--method", "bayesian", *QUICK) == 0
    found = load_calibration(folder / "c.json")
    assert ((found.lower <= arm.p) & (arm.p <= found.upper)).all()
    assert (np.abs(found.rows @ arm.p) <= found.rows_radius).all()
    words = [str(folder / "loaded"), "--config", str(folder / "arm.yaml"), "--out", str(tmp_path / "out")]
    assert main(["replay", *words, "--calibration", str(folder / "c.json")]) == 0
    document = read_result(tmp_path / "out")
    assert document["status"] == "ESTIMATED"  # never proven: what it rests on is probable
    assert "a posterior's intervals, which hold with 95 % probability" in " ".join(document["assumptions"])
    for row, truth in zip(document["parameters"], LOAD, strict=True):
        assert row["lower"] <= truth <= row["upper"], row["name"]
    assert abs(document["parameters"][0]["nominal"] - LOAD[0]) < 0.1
    assert document["parameters"][0]["upper"] - document["parameters"][0]["lower"] < 2.0  # of the prior's 8


def test_what_any_run_raises_is_told(
    arm: Problem, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [unloaded_run(arm, np.random.default_rng(k), duration=1.0) for k in range(2)]
    findings = iter([("the first run's", "both runs'"), ("both runs'",)])

    def further(_known: object, _log: object, robot: Robot, config: BayesianConfig) -> tuple[BayesianResult, object]:
        own = build_mechanism(robot, config, power=False).parameters
        told = dict.fromkeys(field.name for field in fields(BayesianResult))
        told |= {"status": BayesianStatus.LOCAL_MINIMUM_SUSPECTED, "findings": next(findings)}  # type: ignore[dict-item]
        told |= {"theta": own.mean[own.free], "covariance": np.eye(len(own.free))}
        return BayesianResult(**told), object()  # type: ignore[arg-type]

    monkeypatch.setattr(arm_posterior, "identify_further", further)
    assert posterior_of(arm.robot, UR10, [run.samples for run in runs], "bare", [], lambda *_: None) is not None
    told = [line.rpartition(": ")[2] for line in capsys.readouterr().err.splitlines()]
    assert told == [BayesianStatus.LOCAL_MINIMUM_SUSPECTED.message, "both runs'", "the first run's"]


def test_all_that_speaks_against_a_posterior_is_told(
    arm: Problem, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no page to read the rest on."""
    told = dict.fromkeys(field.name for field in fields(BayesianResult))
    told |= {"status": BayesianStatus.CONTRADICTED, "findings": ("the reason", "the hint")}  # type: ignore[dict-item]
    result = BayesianResult(**told)  # type: ignore[arg-type]
    monkeypatch.setattr(calibrate_bayesian, "identify_arm", lambda *_: (result, None))
    runs = [unloaded_run(arm, np.random.default_rng(1), duration=1.0).samples]
    assert posterior_of(arm.robot, UR10, runs, "bare", [], lambda *_: None) is None
    assert capsys.readouterr().err.endswith("nothing is claimed; the reason; the hint\n")


@pytest.mark.slow
def test_both_give_one_file(folder: Path, arm: Problem) -> None:
    """Box and rows are the proven ones, which hold the truth; the estimate within is the posterior's, of all runs."""
    assert calibrate(folder, "--method", "both", *QUICK, bags=("unloaded", "again")) == 0
    both = load_calibration(folder / "c.json")
    assert (both.method, len(both.rows)) == ("both", 240)
    assert ((both.lower <= arm.p) & (arm.p <= both.upper)).all()
    assert (np.abs(both.rows @ arm.p) <= both.rows_radius).all()
    np.testing.assert_array_equal(np.clip(both.belief.point[:90], both.lower, both.upper), both.estimate)
    # stages of 50 ms blur where friction turns its sign
    np.testing.assert_allclose(both.estimate[60:66], arm.p[60:66], rtol=0.06)


def test_methods_that_exclude_each_other_write_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Friction is stated to be less than it is: the data stay within what is stated, a posterior goes beyond."""
    (folder / "c.json").unlink(missing_ok=True)
    stated = "--set=known_robot.coulomb=3,10,10,4,4,4"
    capsys.readouterr()
    assert calibrate(folder, "--method", "both", stated, *QUICK) == 3
    lines = [line for line in capsys.readouterr().err.splitlines() if "exclude each other" in line]
    assert any("Coulomb friction of shoulder_pan_joint: the data leave [" in line for line in lines)
    assert not (folder / "c.json").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "bayesian.step=0.02"], "--set: 'bayesian.step' is for the methods bayesian and both"),
        (["--method", "both", "--set", "bayesian.stride=1"], "bayesian.stride"),
        (
            ["--method", "bayesian", "--set", "bayesian.mechanism.couplings=wrist_3_joint:wrist_2_joint"],
            "is not JOINT:OTHER:TURNS",
        ),
        (["--method", "bayesian", "--set", "bayesian.mechanism.passive=wrist_3_joint"], "an open chain with a motor"),
        (
            ["--method", "bayesian", "--loaded", "bag", "--known-mass", "2"],
            "--loaded is for the methods interval and both",
        ),
        (["--method", "guess"], "invalid choice: 'guess'"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    capsys.readouterr()
    assert calibrate(folder, *words) == 2
    assert message in capsys.readouterr().err.strip().splitlines()[-1]


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("method", ["bayesian", "both"])
def test_a_real_ur10e_weighs_what_it_carries(tmp_path: Path, method: str) -> None:
    if not UR10E.exists():
        pytest.skip("no recorded real logs here")
    words = ["--config", "config/ur10e.yaml", "--urdf", str(UR10E / "ur10e.urdf")]
    calibration = ["--method", method, "--set=bayesian.search.starts=1", "--out", str(tmp_path / "c.json")]
    assert main(["calibrate", str(UR10E / "unloaded_mcap"), *words, *calibration]) == 0
    replay = ["--calibration", str(tmp_path / "c.json"), "--out", str(tmp_path / "out")]
    assert main(["replay", str(UR10E / "loaded_2805g_mcap"), *words, *replay]) == 0
    mass = read_result(tmp_path / "out")["parameters"][0]
    assert mass["lower"] < 2.805 < mass["upper"]
    assert mass["likely_lower"] < 2.805 < mass["likely_upper"]
    assert abs(mass["nominal"] - 2.805) < 0.03 * 2.805


@pytest.mark.parametrize("method", ["bayesian", "both"])
def test_a_joint_whose_effort_tells_nothing_is_for_the_other_method(
    folder: Path, method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    unread = "--set=noise.torque_absolute=[1.0, 1.0, 1.0, 1.0, 1.0, 60.0]"
    assert calibrate(folder, "--method", method, unread, *QUICK) == 2
    said = capsys.readouterr().err
    assert f"method {method} takes efforts for torques; by 'noise.torque_absolute' that of 'wrist_3_joint'" in said
