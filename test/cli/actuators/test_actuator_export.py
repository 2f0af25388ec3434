# SPDX-License-Identifier: Apache-2.0
"""sysid export of actuators: read back by the programs it is for, or one line why not."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio
import pytest
from shared.actuator_session import feed, messages, run, session

from sysid_nodes.cli.main import main
from sysid_nodes.data.config import load_yaml
from sysid_nodes.models.actuator_network import ActuatorNetwork
from sysid_nodes.reports.actuators.live import session_run
from sysid_nodes.reports.actuators.run import FILES, actuator_document, write_actuator_run
from sysid_nodes.reports.json_text import encode
from sysid_nodes.robots import MotorConstants, load_robot
from sysid_nodes.rollouts.arm_model import arm_spec
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.sessions.prime.session import prime_robot
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig, sampling_robot
from sysid_nodes.systems.actuators import ActuatorConfig
from sysid_nodes.systems.actuators.methods.network import NetworkModel
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.sampling.identify import nominal_model

MJCF = """<mujoco>
  <option timestep="0.001"/>
  <worldbody>
    <body>
      <joint name="FL_hip_joint" damping='7' axis="1 0 0"/><geom size="0.1"/>
      <body>
        <joint name="FL_thigh_joint"/>
        <geom size="0.1"/>
        <body><joint name="FL_calf_joint"/><geom size="0.1"/></body>
      </body>
    </body>
  </worldbody>{}
</mujoco>
"""


NAMES = ("FL_hip_joint", "FL_thigh_joint", "FL_calf_joint")


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Of a leg that was heard live, and of which nothing but the law is thought possible."""
    heard = session(run(), actuators__doubt__torque_waves=0, actuators__doubt__friction_at_rest=False)
    feed(heard, messages(run()))
    path = str(tmp_path_factory.mktemp("result") / "result.json")
    file = FILES.save(path, session_run(heard, "test", 0.0), actuator_document, write_actuator_run)
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    assert all(row["identifiable"] for joint in found["joints"] for row in joint["parameters"] if named(row))
    return found


def named(row: dict[str, Any]) -> bool:
    return row["name"] in ("armature", "viscous", "coulomb", "delay")


@pytest.fixture
def result(document: dict[str, Any], tmp_path: Path) -> Path:
    return written(document, tmp_path)


def written(document: dict[str, Any], folder: Path) -> Path:
    file = folder / "result.json"
    file.write_text(encode(document), encoding="utf-8")
    return file


def told(document: dict[str, Any], name: str) -> list[float]:
    return [next(row["estimate"] for row in joint["parameters"] if row["name"] == name) for joint in document["joints"]]


def without(document: dict[str, Any], joint: int, name: str) -> dict[str, Any]:
    """The same with a parameter that the motion did not tell."""
    changed = copy.deepcopy(document)
    for row in changed["joints"][joint]["parameters"]:
        if row["name"] == name:
            row |= {"identifiable": False, "estimate": None, "reason": "known to -- hm -- nobody"}
    return changed


@pytest.mark.parametrize("actuators", ["", '<actuator><position name="old" joint="FL_calf_joint" kp="3"/></actuator>'])
def test_mujoco_reads_back_what_was_identified(
    document: dict[str, Any], result: Path, tmp_path: Path, actuators: str
) -> None:
    (tmp_path / "leg.xml").write_text(MJCF.format(actuators))
    assert main(["export", str(result), "--into", str(tmp_path / "leg.xml"), "--out", str(tmp_path / "out.xml")]) == 0
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))
    np.testing.assert_allclose(model.dof_armature, told(document, "armature"), rtol=1e-12)
    np.testing.assert_allclose(np.ravel(model.dof_damping)[:3], told(document, "viscous"), rtol=1e-12)
    np.testing.assert_allclose(model.dof_frictionloss, told(document, "coulomb"), rtol=1e-12)
    np.testing.assert_allclose(model.dof_solref[:, 0], 0.002)
    assert model.nu == 3
    for joint, delay in zip(document["joints"], told(document, "delay"), strict=True):
        drive = next(model.actuator(k) for k in range(3) if model.actuator(k).trnid[0] == model.joint(joint["name"]).id)
        assert drive.gainprm[0] == 20.0
        np.testing.assert_allclose(drive.biasprm[:3], [0.0, -20.0, -1.0])
        assert model.actuator_delay[drive.id] == pytest.approx(delay)
        assert model.actuator_history[drive.id][0] * model.opt.timestep > delay


def test_the_exported_model_moves_as_the_robot_did(document: dict[str, Any], result: Path, tmp_path: Path) -> None:
    """The coupled leg in MuJoCo, told the same commands, against the encoders; their noise is 0.8 mrad."""
    robot, log = run().robot, run().logs[0]
    none = np.zeros(robot.n)
    spec = arm_spec(robot, robot.model.inertias.tolist()[1:], MotorConstants(none, none, none, none), None)
    spec.option.timestep = 0.001
    spec.compile()
    (tmp_path / "bare.xml").write_text(spec.to_xml())
    assert main(["export", str(result), "--into", str(tmp_path / "bare.xml"), "--out", str(tmp_path / "out.xml")]) == 0
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))
    data = mujoco.MjData(model)
    data.qpos[:] = log.command[0]
    errors = []
    for k, t in enumerate(np.arange(0.0, 4.0, 0.001)):
        if k % 5 == 0 and t >= 1.0:  # until then it feels that nobody told the drives anything before
            errors.append(data.qpos - log.q[k // 5])
        at = np.searchsorted(log.command_t, t + 1e-9, side="right") - 1
        data.ctrl[:] = log.command[at] - told(document, "encoder_bias")
        mujoco.mj_step(model, data)
    assert np.sqrt(np.mean(np.square(errors), axis=0)).max() < 2e-3


def test_pinocchio_reads_back_what_was_identified(document: dict[str, Any], result: Path, tmp_path: Path) -> None:
    source = tmp_path / "go2.urdf"
    source.write_text(load_robot("go2").urdf)
    out = tmp_path / "out.urdf"
    assert main(["export", str(result), "--into", str(source), "--out", str(out)]) == 0
    model = pinocchio.buildModelFromUrdf(str(out))
    at = [model.joints[model.getJointId(joint["name"])].idx_v for joint in document["joints"]]
    np.testing.assert_allclose(model.damping[at], told(document, "viscous"), rtol=1e-12)
    np.testing.assert_allclose(model.friction[at], told(document, "coulomb"), rtol=1e-12)
    assert f"armature {told(document, 'armature')[0]:.6g}" in out.read_text()  # URDF has no place for it
    kept = [line for line in out.read_text().splitlines() if "sysid:" not in line and "<dynamics" not in line]
    assert kept == [line for line in source.read_text().splitlines() if "<dynamics" not in line]


def test_what_is_not_identified_stays_what_it_was_and_a_comment_says_why(
    document: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = written(without(document, 0, "viscous"), tmp_path)
    (tmp_path / "leg.xml").write_text(MJCF.format(""))
    assert main(["export", str(result), "--into", str(tmp_path / "leg.xml"), "--out", str(tmp_path / "out.xml")]) == 0
    text = (tmp_path / "out.xml").read_text()
    assert "damping='7'" in text
    assert "viscous is not identified, known to - hm - nobody" in text
    assert np.ravel(mujoco.MjModel.from_xml_string(text).dof_damping)[0] == 7.0
    assert "FL_hip_joint: not identified and not written: viscous" in capsys.readouterr().err


def test_isaac_lab_s_configuration_is_python_with_the_values(
    document: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, out = written(without(document, 1, "armature"), tmp_path), tmp_path / "out.py"
    assert main(["export", str(result), "--format", "isaaclab", "--step", "0.002", "--out", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    assert "# FL_thigh_joint: armature is not identified" in text
    groups = isaac_groups(text)
    given = {key: value for group in groups.values() for key, value in group.get("armature", {}).items()}
    assert set(given) == {"FL_hip_joint", "FL_calf_joint"}
    delays = dict(zip(NAMES, told(document, "delay"), strict=True))
    for name, group in groups.items():
        joints = group["joint_names_expr"]
        assert group["kind"] == "delayed"
        assert group["stiffness"] == dict.fromkeys(joints, 20.0)
        assert list(group["viscous_friction"]) == joints
        for joint in joints:
            steps = round(delays[joint] / 0.002)
            assert (group["min_delay"], group["max_delay"], name) == (steps, steps, f"delay_{steps}")
    assert sorted(joint for group in groups.values() for joint in group["joint_names_expr"]) == sorted(NAMES)


def test_isaac_lab_delays_no_joint_whose_delay_is_not_identified(document: dict[str, Any], tmp_path: Path) -> None:
    result, out = written(without(document, 1, "delay"), tmp_path), tmp_path / "out.py"
    assert main(["export", str(result), "--format", "isaaclab", "--out", str(out)]) == 0
    group = isaac_groups(out.read_text(encoding="utf-8"))["delay_unknown"]
    assert group["joint_names_expr"] == ["FL_thigh_joint"]
    assert group["kind"] == "ideal"
    assert not {"min_delay", "max_delay"} & set(group)


def isaac_groups(text: str) -> dict[str, Any]:
    """Groups of the file, which is run without Isaac Lab."""
    names: dict[str, Any] = {
        "DelayedPDActuatorCfg": lambda **given: given | {"kind": "delayed"},
        "IdealPDActuatorCfg": lambda **given: given | {"kind": "ideal"},
    }
    exec(text.replace("from isaaclab.actuators import DelayedPDActuatorCfg, IdealPDActuatorCfg", ""), names)
    found: dict[str, Any] = names["ACTUATORS"]
    return found


def test_our_own_nodes_take_friction_and_armature(document: dict[str, Any], result: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.yaml"
    assert main(["export", str(result), "--format", "interval", "--out", str(out)]) == 0
    known = load_yaml(IntervalIdentifierConfig, out).known_robot
    assert list(known.coulomb) == told(document, "coulomb")
    assert 0.0 < known.friction_relative < 1.0
    assert main(["export", str(written(document, tmp_path)), "--format", "prime", "--out", str(out)]) == 0
    motor = load_yaml(PrimeSessionConfig, out).motor
    assert list(motor.armature) == told(document, "armature")


def of_all_legs(document: dict[str, Any]) -> dict[str, Any]:
    """Every leg like the one."""
    whole = copy.deepcopy(document)
    names = load_robot("go2").joint_names
    whole["joints"] = [copy.deepcopy(document["joints"][k % 3]) | {"name": name} for k, name in enumerate(names)]
    return whole


def test_the_identification_by_rollouts_simulates_the_drives_given(document: dict[str, Any], tmp_path: Path) -> None:
    whole, out = of_all_legs(document), tmp_path / "out.yaml"
    assert main(["export", str(written(whole, tmp_path)), "--format", "sampling", "--out", str(out)]) == 0
    config = load_yaml(SamplingSessionConfig, out)
    model = nominal_model(sampling_robot(config), config.sampling, 0.002)
    order = [model.jnt_dofadr[model.joint(joint["name"]).id] for joint in whole["joints"]]
    np.testing.assert_allclose(model.dof_armature[order], told(whole, "armature"))
    np.testing.assert_allclose(model.dof_frictionloss[order], told(whole, "coulomb"))
    np.testing.assert_allclose(np.reshape(model.dof_damping, (model.nv, -1))[order, 0], told(whole, "viscous"))
    assert config.sampling.drive.stiffness == (20.0,) * 12
    assert config.sampling.drive.delay == pytest.approx(np.mean(told(whole, "delay")))
    lacking = written(without(whole, 4, "viscous"), tmp_path)
    assert main(["export", str(lacking), "--format", "sampling", "--out", str(out)]) == 0
    assert load_yaml(SamplingSessionConfig, out).motor.viscous == ()
    assert "# viscous of FR_thigh_joint is not identified" in out.read_text(encoding="utf-8")


def test_prime_s_robot_has_the_constants_given(document: dict[str, Any], tmp_path: Path) -> None:
    whole, out = of_all_legs(document), tmp_path / "out.yaml"
    assert main(["export", str(written(whole, tmp_path)), "--format", "prime", "--out", str(out)]) == 0
    robot = prime_robot(load_yaml(PrimeSessionConfig, out))
    assert robot.motor.coulomb.tolist() == told(whole, "coulomb")
    assert robot.motor.armature.tolist() == told(whole, "armature")


def test_a_joint_that_lacks_a_constant_leaves_all_joints_theirs(document: dict[str, Any], tmp_path: Path) -> None:
    result, out = written(without(document, 2, "coulomb"), tmp_path), tmp_path / "out.yaml"
    assert main(["export", str(result), "--format", "interval", "--out", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    assert "# coulomb of FL_calf_joint is not identified, so that all keep the robot's" in text
    known = load_yaml(IntervalIdentifierConfig, out).known_robot
    assert known.coulomb == ()
    assert known.friction_relative == 0.05
    assert len(known.armature) == 3


@pytest.mark.parametrize("kind", ["interval", "prime"])
def test_constants_that_no_list_has_are_no_file(
    kind: str, document: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for k, name in enumerate(("coulomb", "viscous", "armature")):
        document = without(document, k, name)
    out = tmp_path / "out.yaml"
    assert main(["export", str(written(document, tmp_path)), "--format", kind, "--out", str(out)]) == 2
    assert "neither friction nor armature is identified of all joints; there is nothing" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("residual", [True, False])
def test_networks_are_read_back_with_the_torque_of_the_model(
    document: dict[str, Any], tmp_path: Path, residual: bool
) -> None:
    onnx = pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    rng = np.random.default_rng(4)
    net = ActuatorNetwork(
        rng.standard_normal(1217) / 6.0, 32, np.array([0.0, 0.8, 0.0]), np.array([0.05, 0.2, 2.0]),
        np.array([-0.1, 0.4, -4.0]), np.array([0.1, 1.2, 4.0]), np.array([0.02, 0.08, 0.8]), 3.0,
    )  # fmt: skip
    model = NetworkModel(net, np.zeros(15), ActuatorConfig(), residual)
    written(document, tmp_path)
    stored = {f"FL_calf_joint/{name}": value for name, value in model.weights.items()}
    np.savez(tmp_path / "networks.npz", allow_pickle=False, **stored)
    assert main(["export", str(tmp_path), "--format", "onnx", "--out", str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["FL_calf_joint.onnx", "networks.npz"]
    states = rng.uniform(net.lower - net.margin, net.upper + net.margin, (200, 3))  # within the box and about it
    evaluator = ReferenceEvaluator(onnx.load(tmp_path / "out" / "FL_calf_joint.onnx"))
    said = evaluator.run(None, {"state": states.astype(np.float32)})[0]
    output = net.value(states).output
    wanted = net.share(states)[0] * net.limit * (np.tanh(output) if residual else output)
    assert np.ptp(wanted) > 0.5
    np.testing.assert_allclose(said, wanted, atol=2e-4)  # single precision, of torques up to 3 N m
    archive = tmp_path / "all.npz"
    assert main(["export", str(tmp_path), "--format", "npz", "--out", str(archive)]) == 0
    with np.load(archive) as arrays:
        for name, value in stored.items():
            np.testing.assert_array_equal(arrays[f"network/{name}"], value)


@pytest.mark.parametrize("broken", [True, False])
def test_a_result_without_networks_is_one_line(
    result: Path, tmp_path: Path, broken: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    if broken:
        (tmp_path / "networks.npz").write_bytes(b"nothing")
    assert main(["export", str(result), "--format", "onnx", "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert ("holds no networks of actuators" if broken else "has no networks") in said
    assert len(said.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_an_archive_has_every_number_and_none_that_is_not_known(document: dict[str, Any], tmp_path: Path) -> None:
    result, out = written(without(document, 0, "delay"), tmp_path), tmp_path / "out.npz"
    assert main(["export", str(result), "--format", "npz", "--out", str(out)]) == 0
    with np.load(out, allow_pickle=False) as archive:
        k = archive["parameters"].tolist().index("delay")
        assert archive["units"][k] == "s"
        assert np.isnan(archive["estimate"][0, k])
        assert not archive["identifiable"][0, k]
        np.testing.assert_array_equal(archive["estimate"][1:, k], told(document, "delay")[1:])


BAD = [
    (["--into", "leg.xml", "--link", "hip"], "--link is for identified bodies"),
    (["--into", "other.xml"], "has no joint 'FL_hip_joint'"),
    (["--into", "motor.xml"], "has a <motor> actuator; gains have a place in <position> alone"),
    (["--into", "nothing.xml"], "No such file"),
    (["--format", "npz", "--step", "0.1"], "--step is the positive step"),
    (["--format", "isaaclab", "--step", "-1"], "--step is the positive step"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=[bad[1][:12] for bad in BAD])
def test_bad_input_is_one_line_and_nothing_is_written(
    words: list[str], message: str, result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("leg.xml").write_text(MJCF.format(""))
    Path("other.xml").write_text("<mujoco><worldbody/></mujoco>")
    Path("motor.xml").write_text(MJCF.format('<actuator><motor joint="FL_hip_joint"/></actuator>'))
    assert main(["export", str(result), *words, "--out", "out"]) == 2
    assert message in capsys.readouterr().err
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("status", "message"),
    [("CONTRADICTION", "contradict the law or the stated gains"), ("PARTIAL", "no parameter is identified")],
)
def test_a_result_that_claims_nothing_is_not_exported(
    status: str, message: str, document: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = copy.deepcopy(document) | {"status": status}
    for joint in empty["joints"]:
        for row in joint["parameters"]:
            row |= {"identifiable": False, "estimate": None}
    out = tmp_path / "out.npz"
    assert main(["export", str(written(empty, tmp_path)), "--format", "npz", "--out", str(out)]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()
