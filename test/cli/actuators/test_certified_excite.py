# SPDX-License-Identifier: Apache-2.0
"""sysid excite --certified: an arm's motion with its certificates, and what it tells of the arm's drives in MuJoCo."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from shared.small_motions import MIDDLE, SMALL_MOTIONS

from sysid_nodes.cli.main import main
from sysid_nodes.robots import load_robot
from sysid_nodes.simulation.actuators.stand import Drives, move_on_stand
from sysid_nodes.systems.actuators import ActuatorConfig, identify_actuators

# An empty hand.
HAND = (
    SMALL_MOTIONS
    + """    prior:
      lower: [1.2, -0.1, -0.1, -0.4, -0.1, -0.1, -0.1, -0.1, -0.1, -0.1]
      upper: [2.0, 0.1, 0.1, -0.05, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
"""
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certified")
    (folder / "hand.yaml").write_text(HAND, encoding="utf-8")
    arguments = ["excite", "--certified", str(folder / "hand.yaml"), MIDDLE, "--set", "duration=4"]
    assert main([*arguments, "--out", str(folder / "motion")]) == 0
    return folder / "motion"


def test_certificates_follow_one_another_from_rest_to_rest(made: Path) -> None:
    motion = np.load(made / "trajectory.npz")
    documents = [json.loads(path.read_text()) for path in sorted((made / "certificates").glob("*.json"))]
    assert len(documents) >= 4 and all(one["record"]["verdict"] == 0 for one in documents)
    assert documents[0]["former"] is None and [one["record"]["last"] for one in documents].index(True) + 1 == len(
        documents
    )
    at = 0.0
    for former, one in zip([None, *documents], documents, strict=False):
        if former is not None:
            assert one["former"] == former["record"]
            at += one["record"]["previous_time"]
        k = round(200.0 * at)
        np.testing.assert_allclose(motion["command"][k], one["record"]["q0"], atol=1e-3)
        np.testing.assert_allclose(motion["velocity"][k], one["record"]["qd0"], atol=1e-2)
    for end in (0, -1):
        np.testing.assert_allclose(motion["velocity"][end], 0.0, atol=1e-6)
    np.testing.assert_allclose(
        np.gradient(motion["command"], motion["t"], axis=0)[1:-1], motion["velocity"][1:-1], atol=2e-3
    )


def test_the_independent_checker_takes_a_folder_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a motion half as wide: it is coarser than the certifier, and not all that is certified can it verify."""
    (tmp_path / "hand.yaml").write_text(HAND.replace("k_range: [0.3]", "k_range: [0.15]"), encoding="utf-8")
    arguments = ["excite", "--certified", str(tmp_path / "hand.yaml"), MIDDLE, "--set", "duration=2"]
    assert main([*arguments, "--out", str(tmp_path / "motion")]) == 0
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "000.json").write_bytes((tmp_path / "motion" / "certificates" / "000.json").read_bytes())
    assert main(["verify", str(tmp_path / "one")]) == 0
    assert "every claim in scope is verified" in capsys.readouterr().out


def test_it_tells_the_drives(made: Path) -> None:
    """The truth is MuJoCo, coupled, with drives that nobody told it about."""
    robot, rng, motion = (
        load_robot("kinova_gen3", variant="gripper"),
        np.random.default_rng(1),
        np.load(made / "trajectory.npz"),
    )
    drives = replace(
        Drives.draw(robot.n, rng), stiffness=np.full(7, 2000.0), damping=np.full(7, 100.0),
        armature=robot.motor.armature * rng.uniform(0.8, 1.2, 7), viscous=robot.motor.viscous,
        coulomb=robot.motor.coulomb, encoder_bias=rng.uniform(-3e-3, 3e-3, 7),
    )  # fmt: skip
    log = move_on_stand(robot, drives, motion["t"], motion["command"], step=1e-3).read(noise=1e-5, rng=rng)
    result = identify_actuators(log, robot, ActuatorConfig())
    told = [(j, row) for j, joint in enumerate(result.joints) for row in joint.parameters if row.identifiable]
    assert len([j for j, row in told if row.name == "armature"]) >= 5
    for j, row in told:
        if row.name == "armature":
            assert row.estimate == pytest.approx(drives.armature[j], rel=0.02)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--robot", "go2"], "leave out --robot"),
        (["--set", "kind=chirp"], "unknown key 'kind'"),
        (["--set", "known_robot.friction_relative=0.0", "--set", "known_robot.armature_relative=0.0"], "known exactly"),
        (["--set", "planner.excite.objective=condition"], "the drives need another"),
        (
            ["--set=planner.excite.objective=condition", "--set=planner.excite.subject=body", "--middle=0"],
            "--middle needs 7",
        ),
        (["--middle=0,0.5,0,5,0,1,0"], "no motion from this posture is certified"),
    ],
)
def test_what_cannot_be_planned_is_one_line(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hand.yaml").write_text(HAND, encoding="utf-8")
    out = tmp_path / "out"
    assert main(["excite", "--certified", str(tmp_path / "hand.yaml"), *arguments, "--out", str(out)]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()
