# SPDX-License-Identifier: Apache-2.0
"""sysid export of a posterior: links, friction, rotors and loops in URDF and MJCF, read back by other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from shared.leg_bag import CONFIG, QUICK, write_leg

from sysid_nodes.cli.main import main
from sysid_nodes.reports.bayesian.export import bodies, joints
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.description import build_robot
from sysid_nodes.robots.fourbar_leg import LINKS
from sysid_nodes.simulation.fourbar.leg import LegTruth, mjcf


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("leg")
    write_leg(folder / "bag", 2.4)
    assert main(["replay", str(folder / "bag"), "--config", str(CONFIG), *QUICK, "--out", str(folder / "out")]) == 0
    return folder / "out"


def document(result: Path) -> Any:
    return json.loads((result / "result.json").read_text(encoding="utf-8"))


def test_a_urdf_has_the_most_probable_leg(result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    described, target = tmp_path / "leg.urdf", tmp_path / "found.urdf"
    described.write_text(load_robot("fourbar_leg").urdf, encoding="utf-8")
    assert main(["export", str(result), "--into", str(described), "--out", str(target)]) == 0
    said = capsys.readouterr()
    assert "4 links, 4 joints, 1 loops" in said.out
    assert "constants are not observed; there the links have the prior's values" in said.err
    found = load_robot("fourbar_leg", urdf=str(target)).inertial_parameters()
    expected = bodies(document(result))
    assert set(expected) == {link.name for link in LINKS}
    for row, link in zip(found, LINKS, strict=True):
        np.testing.assert_allclose(row, expected[link.name], atol=1e-12)
    text = target.read_text(encoding="utf-8")
    hip = next(joint for joint in joints(document(result)) if joint.name == "hip")
    assert f'damping="{hip.told["viscous"]!r}"' in text
    assert f'friction="{hip.told["coulomb"]!r}"' in text


def test_constants_of_a_coupled_motor_are_not_a_joints(
    result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = document(result)
    told["config"]["bayesian.mechanism.couplings"] = ["hip:crank_motor:0.5"]
    (tmp_path / "result.json").write_text(json.dumps(told), encoding="utf-8")
    described, target = tmp_path / "leg.urdf", tmp_path / "found.urdf"
    described.write_text(load_robot("fourbar_leg").urdf, encoding="utf-8")
    assert main(["export", str(tmp_path), "--into", str(described), "--out", str(target)]) == 0
    assert "sysid: hip: not written: " in (said := capsys.readouterr().err)
    assert ": its motor turns with another joint, too\n" in said
    hip, other = (next(joint for joint in joints(told) if joint.name == name) for name in ("hip", "crank_motor"))
    assert not hip.told and other.told
    dynamics = [
        path.read_text(encoding="utf-8").split('joint name="hip"')[1].split("</joint>")[0].split("<dynamics")[1:]
        for path in (described, target)
    ]
    assert dynamics[0] == dynamics[1]


def test_what_hangs_on_a_locked_joint_is_part_of_its_link(result: Path, tmp_path: Path) -> None:
    described, target, text = tmp_path / "leg.urdf", tmp_path / "found.urdf", load_robot("fourbar_leg").urdf
    hung = (
        f'<joint name="clip" type="revolute"><parent link="{LINKS[0].name}"/><child link="clip"/>'
        '<origin xyz="0 0 -0.01"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        '<link name="clip"><inertial><mass value="0.01"/>'
        '<inertia ixx="1e-6" ixy="0" ixz="0" iyy="1e-6" iyz="0" izz="1e-6"/></inertial></link></robot>'
    )
    described.write_text(text.replace("</robot>", hung), encoding="utf-8")
    assert main(["export", str(result), "--into", str(described), "--out", str(target)]) == 0
    found = build_robot(target.read_text(encoding="utf-8"), locked=("clip",)).inertial_parameters()[0]
    np.testing.assert_allclose(found, bodies(document(result))[LINKS[0].name], atol=1e-12)


def test_mujoco_needs_the_torques_that_were_read(result: Path, tmp_path: Path) -> None:
    """The exported leg, loop and all, against the hidden one: what the motors give is what the posterior is about."""
    drawn, target = tmp_path / "leg.xml", tmp_path / "found.xml"
    truth = LegTruth.draw(np.random.default_rng(5))  # of the recording
    other = LegTruth.draw(np.random.default_rng(77), 0.3)
    before, loop = mjcf(other).split("<equality>")
    drawn.write_text(before + "<actuator>" + loop.split("<actuator>")[1], encoding="utf-8")
    assert mujoco.MjModel.from_xml_path(str(drawn)).neq == 0
    assert main(["export", str(result), "--into", str(drawn), "--out", str(target)]) == 0
    model = mujoco.MjModel.from_xml_path(str(target))
    assert model.neq == 1
    reached = [swing(found) for found in (model, mujoco.MjModel.from_xml_string(mjcf(truth)))]
    assert reached[0][1] < 1e-5  # of the loop's gap [m]
    described = swing(mujoco.MjModel.from_xml_string(mjcf(other)))
    assert np.abs(reached[0][0] - reached[1][0]).max() < 0.2 * np.abs(described[0] - reached[1][0]).max()
    again = tmp_path / "again.xml"
    assert main(["export", str(result), "--into", str(target), "--out", str(again)]) == 0
    assert mujoco.MjModel.from_xml_path(str(again)).neq == 1  # a loop that is there is not closed twice


def swing(model: mujoco.MjModel) -> tuple[np.ndarray, float]:
    """Positions after motor torques of 0.3 s, and the loop's gap."""
    data = mujoco.MjData(model)
    for k in range(3000):
        data.ctrl[:] = [4.0 * np.sin(0.002 * k), 3.0 * np.cos(0.0015 * k)]
        mujoco.mj_step(model, data)
    return data.qpos.copy(), float(np.linalg.norm(data.efc_pos[:3]))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "isaaclab"], "--format is for actuators; a posterior needs --into"),
        (["--into", "leg.urdf", "--link", "rod"], "--link is for one identified body"),
        (["--into", "empty.urdf"], "empty.urdf: has no link"),
        (["--into", "open.xml"], "open.xml: has neither sites nor bodies 'rod_end' and 'lever_pin'"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    result: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("leg.urdf").write_text(load_robot("fourbar_leg").urdf, encoding="utf-8")
    Path("empty.urdf").write_text('<robot name="r"><link name="base"/></robot>', encoding="utf-8")
    Path("open.xml").write_text(mjcf(LegTruth.draw(np.random.default_rng(1))).replace("rod_end", "end"), "utf-8")
    capsys.readouterr()
    assert main(["export", str(result), *words, "--out", "out.xml"]) == 2
    assert message in capsys.readouterr().err
    assert not Path("out.xml").exists()


def test_nothing_is_exported_that_is_not_claimed(
    result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = tmp_path / "result.json"
    spoilt = document(result) | {"status": "CONTRADICTED", "message": "the log contradicts", "coordinates": None}
    refused.write_text(json.dumps(spoilt), encoding="utf-8")
    assert main(["export", str(refused), "--into", "leg.urdf", "--out", str(tmp_path / "out.urdf")]) == 2
    assert "there is nothing to export" in capsys.readouterr().err
