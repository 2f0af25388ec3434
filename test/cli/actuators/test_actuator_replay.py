# SPDX-License-Identifier: Apache-2.0
"""sysid convert and sysid replay of commands and encoders, from a table to result.json."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shared.actuator_stand import chirp_log, leg

from sysid_nodes.cli.actuators.online import replay_into
from sysid_nodes.cli.main import main
from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.data.config import load_yaml
from sysid_nodes.logs import BagWriter, stamp_fields
from sysid_nodes.logs.reader import read_messages
from sysid_nodes.messages.actuators.drive_markers import MARKERS
from sysid_nodes.messages.actuators.models import TOPIC, TYPE
from sysid_nodes.messages.markers import ARRAY_TYPE
from sysid_nodes.messages.robot_view import TRANSFORMS, TYPES
from sysid_nodes.reports.actuators.schema import validate_actuators
from sysid_nodes.robots import load_robot
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig


def table(path: Path, log: ActuatorLog, **more: Any) -> Path:
    arrays = {"time": log.t, "dof_pos": log.q, "joint_names": np.array(log.names), "kp": log.stiffness}
    command = np.array([log.command[np.searchsorted(log.command_t, t, side="right") - 1] for t in log.t])
    np.savez(path, **(arrays | {"kd": log.damping, "des_dof_pos": command} | more))
    return path


@pytest.fixture(scope="module")
def urdf(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of the leg: the rest of the robot does not move."""
    text = leg().urdf
    for other in ("FR", "RL", "RR"):
        for part in ("hip", "thigh", "calf"):
            held = re.compile(rf'(<joint\s+name="{other}_{part}_joint"\s+type=)"revolute"')
            text, count = held.subn(r'\1"fixed"', text)
            assert count == 1
    path = tmp_path_factory.mktemp("robot") / "leg.urdf"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, urdf: str) -> Path:
    folder = tmp_path_factory.mktemp("actuators")
    source = table(folder / "chirp.npz", chirp_log()[1])
    assert main(["convert", str(source), "--urdf", urdf, "--out", str(folder / "bag")]) == 0
    arguments = ["replay", str(folder / "bag"), "--config", str(folder / "bag.yaml"), "--out", str(folder / "out")]
    assert main(arguments) == 0
    return folder


def test_a_table_becomes_a_bag_and_a_result(results: Path) -> None:
    document = validate_actuators(json.loads((results / "out" / "result.json").read_text(encoding="utf-8")))
    drives, log = chirp_log()
    assert [joint["name"] for joint in document["joints"]] == list(log.names)
    for j, joint in enumerate(document["joints"]):
        rows = {row["name"]: row for row in joint["parameters"]}
        assert rows["coulomb"]["estimate"] == pytest.approx(drives.coulomb[j], rel=0.1)
        assert rows["coulomb"]["lower"] < rows["coulomb"]["estimate"] < rows["coulomb"]["upper"]
        assert joint["replay"]["rmse"] < 1.5e-3
    assert document["config"]["actuators.law.stiffness"] == [20.0, 20.0, 20.0]


def test_the_page_says_what_is_not_told_and_can_be_made_again(results: Path, tmp_path: Path) -> None:
    page = (results / "out" / "report.html").read_text(encoding="utf-8")
    assert "What the motion tells" in page
    assert page.count("<svg") >= 3
    assert main(["report", str(results / "out"), "--out", str(tmp_path / "again.html")]) == 0
    again = (tmp_path / "again.html").read_text(encoding="utf-8")
    assert without_figures(again) == without_figures(page)


def test_the_oracles_torque_stands_beside_the_models(results: Path) -> None:
    document = json.loads((results / "out" / "result.json").read_text(encoding="utf-8"))
    with np.load(results / "out" / "series.npz") as series:
        torque, sigma, model = (series[name] for name in ("torque", "torque_sigma", "model_torque"))
    assert torque.shape == series_shape(results)
    assert (sigma > 0.0).all()
    for j, joint in enumerate(document["joints"]):
        assert joint["oracle"]["encoder_noise"] == pytest.approx(8e-4, rel=0.1)
        assert np.std(model[:, j] - torque[:, j]) < 0.75 * np.std(torque[:, j])
        assert joint["method"]["rmse"] == joint["replay"]["rmse"]
    assert "What the gear passed on" in (results / "out" / "report.html").read_text(encoding="utf-8")


def series_shape(results: Path) -> tuple[int, ...]:
    with np.load(results / "out" / "series.npz") as series:
        return tuple(series["measured"].shape)


def test_a_method_replays_the_log(results: Path, tmp_path: Path) -> None:
    arguments = ["replay", str(results / "bag"), "--config", str(results / "bag.yaml"), "--out", str(tmp_path / "out")]
    short = ["network.labels=10", "network.iterations=2", "network.width=4", "network.judged=0.5", "oracle.passes=1"]
    settings = [word for text in ("method=residual", *short) for word in ("--set", f"actuators.{text}")]
    assert main([*arguments, *settings]) == 0
    document = validate_actuators(json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8")))
    assert document["method"] == "residual"
    for joint in document["joints"]:
        assert joint["method"]["rmse"] < 1.2 * joint["replay"]["rmse"]
    networks = any(joint["method"]["network"] for joint in document["joints"])
    assert (tmp_path / "out" / "networks.npz").exists() == networks
    assert main(["report", str(tmp_path / "out"), "--out", str(tmp_path / "again.html")]) == 0


def without_figures(page: str) -> str:
    """They are left empty in tests of commands."""
    return re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)


@pytest.mark.slow
def test_gains_in_another_unit_end_with_status_three_and_no_value(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["replay", str(results / "bag"), "--config", str(results / "bag.yaml"), "--out", str(tmp_path / "out")]
    assert main([*arguments, "--set", "actuators.law.stiffness=0.35", "--set", "actuators.law.damping=0.0175"]) == 3
    assert "are their units right?" in capsys.readouterr().err
    document = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    assert document["status"] == "CONTRADICTION"
    assert not any(row["identifiable"] for joint in document["joints"] for row in joint["parameters"])


def test_a_replay_as_the_live_node_writes_its_messages_and_says_so(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["replay", str(results / "bag"), "--config", str(results / "bag.yaml"), "--out", str(tmp_path / "out")]
    assert main([*arguments, "--online", "--set", "online.window=5.0"]) == 0
    assert "parameters of 3 joints are identified" in capsys.readouterr().out
    document = validate_actuators(json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8")))
    messages = [message for _, message in read_messages(tmp_path / "out" / "result.mcap", TOPIC, TYPE)]
    assert [message.window for message in messages] == [0, 1]
    *_, (_, shown) = read_messages(tmp_path / "out" / "result.mcap", MARKERS, ARRAY_TYPE)
    assert [marker.ns for marker in shown.markers] == ["", *["drive", "law"] * 3]
    assert "armature" in shown.markers[-1].text
    assert document["online"]["windows"] == [0, 1]
    assert document["online"]["id"] == messages[-1].id
    for joint, model in zip(document["joints"], messages[-1].models, strict=True):
        for row, parameter in zip(joint["parameters"], model.parameters, strict=True):
            assert row["identifiable"] == parameter.identifiable
            assert np.isnan(parameter.estimate) if row["estimate"] is None else parameter.estimate == row["estimate"]


def test_a_recording_too_short_for_a_window_is_refused(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["replay", str(results / "bag"), "--config", str(results / "bag.yaml"), "--out", str(tmp_path / "out")]
    assert main([*arguments, "--online", "--set", "online.window=60.0"]) == 2
    assert "nothing is identified: no window of motion yet" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_other_runs_of_the_robot_say_what_scatters(results: Path, tmp_path: Path) -> None:
    stored = json.loads((results / "out" / "result.json").read_text(encoding="utf-8"))
    others = []
    for k, factor in enumerate((1.2, 0.8)):
        for joint in stored["joints"]:
            for row in joint["parameters"]:
                if row["name"] == "coulomb":
                    row["estimate"] *= factor
        others.append(tmp_path / f"{k}.json")
        others[-1].write_text(json.dumps(stored), encoding="utf-8")
    base = ["replay", str(results / "bag"), "--config", str(results / "bag.yaml"), "--out", str(tmp_path / "out")]
    assert main([*base, "--runs", *map(str, others)]) == 0
    document = validate_actuators(json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8")))
    rows = {row["name"]: row for row in document["joints"][0]["parameters"]}
    assert rows["coulomb"]["between_runs"]["runs"] == 3
    assert rows["coulomb"]["between_runs"]["scatter"] > 0.05 * rows["coulomb"]["estimate"]
    assert rows["encoder_bias"]["between_runs"]["scatter"] == 0.0
    others[0].write_text("{}", encoding="utf-8")
    assert main([*base, "--runs", str(others[0])]) == 2


@pytest.mark.parametrize(
    ("spoil", "status", "message"),
    [
        (lambda log: {"q": log.q[:, [0, 2, 1]]}, 2, "follows the command of"),
        (lambda log: {"q": np.where(np.arange(3) == 1, log.q[0], log.q)}, 2, "moved by 0 rad only"),
        (lambda log: {"command": np.full_like(log.command, np.nan)}, 2, "is not finite"),
        (lambda log: {"q": np.minimum(log.q, np.quantile(log.q, 0.6, axis=0))}, 2, "is it at its stop?"),
        (lambda log: {"q": log.q[20 * (np.arange(len(log.q)) // 20)]}, 2, "new ones come every 100 ms only"),
        (lambda log: {"q": np.roll(log.q, -30, axis=0)}, 2, "ms before its command"),
        (lambda log: {"command": np.zeros_like(log.q)}, 2, "was commanded to move by 0 rad"),
    ],
    ids=["swapped", "still", "nan", "stop", "repeated", "early", "quiet"],
)
def test_a_bad_log_is_one_line_and_leaves_nothing(
    spoil: Any, status: int, message: str, urdf: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the table to the result: whichever command notices first says it, and nothing half-written is left."""
    log = chirp_log()[1]
    changed = spoil(log)
    arrays = {{"q": "dof_pos", "command": "des_dof_pos"}[name]: value for name, value in changed.items()}
    source = table(tmp_path / "bad.npz", log, **arrays)
    found = main(["convert", str(source), "--urdf", urdf, "--out", str(tmp_path / "bag")])
    if not found:
        base = ["replay", str(tmp_path / "bag"), "--config", str(tmp_path / "bag.yaml"), "--out", str(tmp_path / "out")]
        found = main(base)
    error = capsys.readouterr().err
    assert found == status
    assert message in error
    assert "Traceback" not in error
    assert not (tmp_path / "out").exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--commands", "/nothing"], "has no topic '/nothing'"),
        (["--set", "actuators.law.saturation=soft"], "must be one of tanh, hard"),
        (["--set", "actuators.wear=1"], "unknown key 'actuators.wear'"),
        (["--body", "FL_calf"], "--body is for an identification in intervals"),
        (["--set", "actuators.law.stiffness=1,2"], "must have 1 or 3 values, got 2"),
        (["--topic", "/joint_commands", "--commands", "/joint_states"], "ms before its command"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    arguments: list[str], message: str, results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = ["replay", str(results / "bag"), "--config", str(results / "bag.yaml"), "--out", str(tmp_path / "out")]
    assert main([*base, *arguments]) == 2
    error = capsys.readouterr().err.strip()
    assert message in error
    assert "Traceback" not in error
    assert not (tmp_path / "out").exists()


def test_a_bag_without_gains_asks_for_them(
    results: Path, urdf: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = ["replay", str(results / "bag"), "--urdf", urdf, "--out", str(tmp_path / "out")]
    assert main([*base, "--commands", "/joint_commands"]) == 2
    assert "give it with law.stiffness" in capsys.readouterr().err


def test_a_whole_robot_is_shown_with_its_base_held(tmp_path: Path) -> None:
    robot = load_robot("go2")
    config = load_yaml(ActuatorSessionConfig, Path(__file__).parents[3] / "config" / "go2_actuators.yaml")
    with BagWriter(tmp_path / "bag") as bag:
        for topic in ("/joint_states", "/joint_commands"):
            bag.add_topic(topic, "sensor_msgs/msg/JointState")
        for t in (1.0, 1.1):
            fields = {"header": {"stamp": stamp_fields(t)}, "name": list(robot.joint_names), "position": [0.1] * 12}
            for topic in ("/joint_states", "/joint_commands"):
                bag.write(topic, t, fields)
    replay_into(tmp_path, tmp_path / "bag", robot, config, states="/joint_states")
    assert len(list(read_messages(tmp_path / "result.mcap", TRANSFORMS, TYPES[TRANSFORMS]))) == 2


def test_convert_touches_nothing_that_is_there(tmp_path: Path, urdf: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A bag of one's own, with notes in it, was replaced as a whole."""
    source, bag = table(tmp_path / "run.npz", chirp_log()[1]), tmp_path / "bag"
    words = ["convert", str(source), "--urdf", urdf, "--out", str(bag)]
    assert main(words) == 0
    (bag / "notes.txt").write_text("mine", encoding="utf-8")
    assert main(words) == 2
    assert "is there already: name another bag, or remove it" in capsys.readouterr().err
    assert (bag / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_convert_says_that_velocities_are_differences(
    tmp_path: Path, urdf: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log = chirp_log()[1]
    np.savez(tmp_path / "run.npz", t=log.t, q=log.q, tau=np.zeros_like(log.q))
    assert main(["convert", str(tmp_path / "run.npz"), "--urdf", urdf, "--out", str(tmp_path / "bag")]) == 0
    assert "run.npz: has no velocities: taken as central differences of the positions" in capsys.readouterr().err
