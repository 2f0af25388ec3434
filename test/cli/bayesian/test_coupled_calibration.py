# SPDX-License-Identifier: Apache-2.0
"""sysid calibrate of an arm whose wrist is a differential: motors that turn with several joints, in one file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from shared.bare_arm import LOAD, UR10, bare_arm, loaded, unloaded_run, write_configuration
from shared.payload_problem import Problem, SineMotion
from shared.recorded import record

from sysid_nodes.cli.main import main
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.reports.interval.result_file import read_result
from sysid_nodes.reports.prediction import MODEL
from sysid_nodes.systems.interval.calibration_file import load_calibration

Array = npt.NDArray[np.float64]

COUPLING = np.eye(6)
COUPLING[5, 4], COUPLING[4, 5], COUPLING[2, 1] = 0.8, -0.6, 0.3
"""Both motors of the wrist turn with both of its joints, the elbow's with the shoulder."""
NAMES = ("shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "wrist_1_joint", "wrist_2_joint", "wrist_3_joint")
WORDS = [f"{NAMES[i]}:{NAMES[j]}:{COUPLING[i, j]}" for i, j in np.argwhere(COUPLING - np.eye(6))]
QUICK = [
    f"--set=bayesian.{setting}"
    for setting in ("step=0.05", "search.starts=1", "search.sharpening=3", "noise.rounds=2", "verdict.samples=200")
]


@dataclass(frozen=True)
class CoupledArm(Problem):
    """An arm whose torques are read, and whose friction and rotors are, at motors behind coupled gears.

    Errors last as the ripple of a gear does, which nobody is told of.
    """

    def torque(self, q: Array, qd: Array, qdd: Array) -> Array:
        n = self.robot.n
        coulomb, viscous, armature, offset, gain = self.p[10 * n :].reshape(5, n)
        rigid = standard_regressor(Chain.from_robot(self.robot), q, qd, qdd) @ self.p[: 10 * n]
        turn, v, a = (part @ COUPLING.T for part in (q, qd, qdd))
        given = np.linalg.solve(COUPLING.T, rigid.T).T
        ripple = 0.03 * coulomb * np.sin(40.0 * turn)
        return np.asarray((given + coulomb * np.sign(v) + viscous * v + armature * a + offset + ripple) / gain)


@pytest.fixture(scope="module")
def arm() -> Problem:
    own = bare_arm(np.random.default_rng(31), UR10)
    return CoupledArm(own.robot, own.p, own.motion)


@pytest.fixture(scope="module")
def folder(arm: Problem, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng = tmp_path_factory.mktemp("wrist"), np.random.default_rng(32)
    record(folder / "unloaded", unloaded_run(arm, rng, duration=8.0).samples)
    carrying = loaded(arm, LOAD, SineMotion.random(rng, 6))
    record(folder / "loaded", unloaded_run(CoupledArm(carrying.robot, carrying.p, carrying.motion), rng, 3.0).samples)
    write_configuration(folder / "arm.yaml")
    return folder


def calibrate(folder: Path, method: str, *words: str) -> int:
    told = ["--method", method, f"--set=bayesian.mechanism.couplings=[{', '.join(WORDS)}]", *QUICK, *words]
    named = ["--config", str(folder / "arm.yaml"), "--out", str(folder / f"{method}.json")]
    return main(["calibrate", str(folder / "unloaded"), *named, *told])


@pytest.fixture(scope="module")
def calibrated(folder: Path) -> Path:
    assert calibrate(folder, "bayesian") == 0
    return folder / "bayesian.json"


def test_motors_behind_coupled_gears_are_found(calibrated: Path, arm: Problem) -> None:
    found = load_calibration(calibrated)
    assert found.coupling is not None
    np.testing.assert_array_equal(found.coupling, COUPLING)
    assert ((found.lower <= arm.p) & (arm.p <= found.upper)).all()
    assert (np.abs(found.rows @ arm.p) <= found.rows_radius).all()
    # Stages of 50 ms blur where friction turns its sign, and the ripple is not told.
    np.testing.assert_allclose(found.estimate[60:66], arm.p[60:66], rtol=0.1)


def test_a_payload_is_weighed_on_it(calibrated: Path, folder: Path, tmp_path: Path) -> None:
    """The file says how motors turn; a reader that took them for joints would find no payload at all."""
    words = [str(folder / "loaded"), "--config", str(folder / "arm.yaml"), "--out"]
    assert main(["replay", *words, str(tmp_path / "out"), "--calibration", str(calibrated)]) == 0
    rows = read_result(tmp_path / "out")["parameters"]
    for row, truth in zip(rows, LOAD, strict=True):
        assert row["lower"] <= truth <= row["upper"], row["name"]
    assert abs(rows[0]["nominal"] - LOAD[0]) < 0.15
    tree = json.loads(calibrated.read_text())
    assert tree["schema"] == 6, "what knows of no couplings has to refuse it"
    forgetful = tmp_path / "forgetful.json"
    forgetful.write_text(json.dumps(tree | {"coupling": None}))
    main(["replay", *words, str(tmp_path / "without"), "--calibration", str(forgetful)])
    nominal = read_result(tmp_path / "without")["parameters"][0]["nominal"]
    assert nominal is None or abs(nominal - LOAD[0]) > 0.5


def test_torques_are_predicted_with_it(calibrated: Path, folder: Path, tmp_path: Path) -> None:
    words = [str(folder / "unloaded"), "--config", str(folder / "arm.yaml"), "--out", str(tmp_path / "predicted")]
    assert main(["predict", str(calibrated), *words]) == 0
    rms = json.loads((tmp_path / "predicted" / "result.json").read_text())["residual_rms"]
    for name in (MODEL, "least_squares"):  # windows in which a motor turns lack some of its friction: up to a fifth
        assert (np.array(rms[name]) < 0.3 * np.array(rms["urdf"])).all()


@pytest.mark.slow
def test_proven_bounds_have_the_same_gears(folder: Path, arm: Problem) -> None:
    assert calibrate(folder, "both") == 0
    both = load_calibration(folder / "both.json")
    assert ((both.lower <= arm.p) & (arm.p <= both.upper)).all()
    assert (np.abs(both.rows @ arm.p) <= both.rows_radius).all()


def test_errors_by_joints_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the minutes that a posterior takes."""
    monkeypatch.setattr("sysid_nodes.cli.bayesian.calibrate.identify_arm", lambda *_: pytest.fail("identifies first"))
    capsys.readouterr()
    assert calibrate(folder, "bayesian", "--set=noise.model=itemised") == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.endswith("with coupled gears 'noise.model' must be window: errors are itemised by joints, not motors")
