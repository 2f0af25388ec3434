# SPDX-License-Identifier: Apache-2.0
"""sysid export: the identified body in the user's file, or one line why not."""

from __future__ import annotations

import copy
from pathlib import Path

import mujoco
import numpy as np
import pytest
from shared.payload_problem import Problem

from sysid_nodes.cli.main import main
from sysid_nodes.reports.interval.result_file import read_result
from sysid_nodes.reports.json_text import encode
from sysid_nodes.robots import load_robot


@pytest.fixture
def urdf(gen3: Problem, tmp_path: Path) -> Path:
    file = tmp_path / "arm.urdf"
    file.write_text(gen3.robot.urdf)
    return file


def test_the_robot_read_back_has_the_identified_body(replayed: Path, gen3: Problem, urdf: Path, tmp_path: Path) -> None:
    out = tmp_path / "loaded.urdf"
    assert main(["export", str(replayed), "--into", str(urdf), "--out", str(out)]) == 0
    nominal = [row["nominal"] for row in read_result(replayed)["parameters"]]
    before, after = gen3.robot.inertial_parameters(), load_robot("kinova_gen3", urdf=out).inertial_parameters()
    # numbers are written in full, so what is lost is rounding in the shifts between frames
    np.testing.assert_allclose(after[-1], nominal, atol=1e-12)
    np.testing.assert_allclose(after[:-1], before[:-1], atol=1e-12)


def test_what_is_written_is_printed_as_far_as_it_is_known(
    replayed: Path, urdf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "x.urdf"
    main(["export", str(replayed), "--into", str(urdf), "--out", str(out)])
    document = read_result(replayed)
    first, mass, *others = capsys.readouterr().out.splitlines()
    assert first == f"{out}: {document['body']}:" and len(others) == 9
    value = mass.split()[1]
    row = document["parameters"][0]
    unsure = row["likely_upper"] - row["likely_lower"]
    step = 10.0 ** -len(value.partition(".")[2])
    assert 0.02 * unsure < step < unsure and abs(float(value) - row["nominal"]) <= 0.5 * step


def test_blind_directions_are_mentioned(
    replayed: Path, urdf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["export", str(replayed), "--into", str(urdf), "--out", str(tmp_path / "x.urdf")])
    assert bool(read_result(replayed)["excitation"]["blind"]) == ("say nothing about" in capsys.readouterr().err)


def test_a_payload_is_added_to_what_the_file_has(replayed: Path, gen3: Problem, urdf: Path, tmp_path: Path) -> None:
    document = read_result(replayed) | {"target": "payload"}
    result, out = tmp_path / "result.json", tmp_path / "loaded.urdf"
    result.write_text(encode(document))
    assert main(["export", str(result), "--into", str(urdf), "--out", str(out)]) == 0
    added = load_robot("kinova_gen3", urdf=out).inertial_parameters() - gen3.robot.inertial_parameters()
    np.testing.assert_allclose(added[-1], [row["nominal"] for row in document["parameters"]], atol=1e-12)
    np.testing.assert_allclose(added[:-1], 0.0, atol=1e-12)


def test_a_payload_is_added_to_a_body_of_an_mjcf(replayed: Path, tmp_path: Path) -> None:
    document = read_result(replayed) | {"target": "payload"}
    (tmp_path / "result.json").write_text(encode(document))
    (tmp_path / "scene.xml").write_text(
        '<mujoco><worldbody><body name="hand"><joint name="j"/>'
        '<inertial pos="0 0 0.1" mass="2" diaginertia="0.02 0.02 0.01"/></body></worldbody></mujoco>'
    )
    out = tmp_path / "out.xml"
    words = ["--into", str(tmp_path / "scene.xml"), "--link", "hand", "--out", str(out)]
    assert main(["export", str(tmp_path / "result.json"), *words]) == 0
    model = mujoco.MjModel.from_xml_string(out.read_text())
    assert model.body("hand").mass[0] == pytest.approx(2.0 + document["parameters"][0]["nominal"])


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("DOUBTFUL", "may miss the truth and are not proven"),
        ("UNWEIGHED", "too few windows yet to weigh the data against the calibration"),
    ],
)
def test_bounds_that_are_not_claimed_are_exported_with_a_warning(
    replayed: Path, urdf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], status: str, words: str
) -> None:
    result = tmp_path / "result.json"
    result.write_text(encode(read_result(replayed) | {"status": status}))
    assert main(["export", str(result), "--into", str(urdf), "--out", str(tmp_path / "out.urdf")]) == 0
    assert words in capsys.readouterr().err


def spoiled(document: dict, status: str) -> dict:
    document = copy.deepcopy(document) | {"status": status}
    for row in document["parameters"]:
        row |= {"nominal": None, "lower": None, "upper": None}
    return document


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ("INCONSISTENT", "the data contradict the stated assumptions; there is nothing to export"),
        ("WAITING", "nothing was identified; there is nothing to export"),
    ],
)
def test_a_result_that_claims_nothing_is_refused(
    replayed: Path, urdf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], status: str, message: str
) -> None:
    result = tmp_path / "result.json"
    result.write_text(encode(spoiled(read_result(replayed), status)))
    assert main(["export", str(result), "--into", str(urdf), "--out", str(tmp_path / "out.urdf")]) == 2
    assert capsys.readouterr().err == f"sysid: error: {result}: {message}\n"
    assert not (tmp_path / "out.urdf").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--into", "nowhere.urdf"), "nowhere.urdf: No such file or directory"),
        (("--link", "hand"), "has no link 'hand'"),
    ],
)
def test_what_cannot_be_written_is_said(
    replayed: Path, urdf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    line = ["export", str(replayed), "--into", str(urdf), *words, "--out", str(tmp_path / "out.urdf")]
    assert main(line) == 2
    text = capsys.readouterr().err
    assert message in text
    assert text.count("\n") == 1
    assert not (tmp_path / "out.urdf").exists()
