# SPDX-License-Identifier: Apache-2.0
"""sysid replay: the files, the same numbers as the pipeline, and one line for whatever is wrong with the input."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shared.payload_problem import Problem
from shared.recorded import PAPER, Change, record

from sysid_nodes.cli.main import main
from sysid_nodes.data import JointSamples
from sysid_nodes.logs import BagWriter, read_joint_states, read_messages
from sysid_nodes.messages.interval.bounds import TOPIC, TYPE
from sysid_nodes.messages.markers import ARRAY_TYPE
from sysid_nodes.messages.robot_view import TRANSFORMS, TYPES
from sysid_nodes.reports.interval.body_markers import MARKERS
from sysid_nodes.reports.interval.result_file import read_result
from sysid_nodes.reports.interval.series_file import read_series
from sysid_nodes.results import Status
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.pipeline import IntervalPipeline

FILES = ["report.html", "result.json", "result.mcap", "scene.json", "series.npz"]


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    text = capsys.readouterr().err
    assert text.count("\n") == 1, text
    assert "Traceback" not in text
    return text


# -- what it makes


def test_the_files_are_there_and_nothing_else(replayed: Path) -> None:
    assert names(replayed) == FILES
    assert names(replayed.parent) == ["out"]


def test_the_result_is_the_pipelines(replayed: Path, log: Path, gen3: Problem) -> None:
    pipeline = IntervalPipeline(gen3.robot, IntervalIdentifierConfig())
    for m in read_joint_states(log):
        pipeline.push(m.names, m.stamp, m.position, m.velocity, m.effort)
    result = pipeline.finish()
    document = read_result(replayed)
    assert document["status"] == result.status.name
    # bit for bit: the same steps on the same numbers
    for key in ("nominal", "lower", "upper"):
        assert [row[key] for row in document["parameters"]] == getattr(result, key).tolist()
    assert document["samples"]["used"] == result.samples_used == 501
    assert document["assumptions"] == pipeline.assumptions()


def test_the_truth_is_inside(replayed: Path, gen3: Problem) -> None:
    document = read_result(replayed)
    for row, truth in zip(document["parameters"], gen3.theta, strict=True):
        assert row["lower"] <= truth <= row["upper"]
    prior = IntervalIdentifierConfig().prior.bounds
    assert document["parameters"][0]["lower"] > prior.lower[0]


def test_the_messages_are_the_history(replayed: Path) -> None:
    history = read_result(replayed)["history"]
    messages = list(read_messages(replayed / "result.mcap", TOPIC, TYPE))
    # the last entry of the history is the final result, which the live node has no occasion to publish again
    assert len(messages) in (len(history), len(history) - 1)
    for (stamp, message), step in zip(messages, history, strict=False):
        assert stamp == round(step["t"] * 1e9)
        assert message.lower.tolist() == step["lower"]
        assert message.upper.tolist() == step["upper"]
        assert Status(message.status).name == step["status"]
        assert message.header.frame_id == "bracelet_link"


def test_the_estimate_is_there_to_look_at_with_every_message(replayed: Path) -> None:
    bounds = [stamp for stamp, _ in read_messages(replayed / "result.mcap", TOPIC, TYPE)]
    markers = list(read_messages(replayed / "result.mcap", MARKERS, ARRAY_TYPE))
    assert [stamp for stamp, _ in markers] == bounds
    *shapes, text = markers[-1][1].markers
    assert {marker.header.frame_id for marker in (*shapes, text)} == {"bracelet_link"}
    assert text.text.endswith(f" kg\n{read_result(replayed)['status']}")


def test_obstacles_of_the_recording_are_in_the_result_too(replayed: Path) -> None:
    """The identifier's own markers are those of the replay, as the test above has it."""
    topic = "/certified_planner/obstacle_markers"
    (stamp, message), *others = read_messages(replayed / "result.mcap", topic, ARRAY_TYPE)
    assert stamp == round(10e9) and message.markers[0].ns == topic and not others


def test_the_series_has_every_joint(replayed: Path, gen3: Problem) -> None:
    series = read_series(replayed / "series.npz")
    assert series.joint_names == gen3.robot.joint_names
    # exact data of a body the estimate explains: what is left is far below the error that was allowed for
    assert (series.rms() < np.sqrt(np.mean(series.radius**2, axis=0))).all()


def test_again_gives_the_same_numbers_in_the_same_place(replayed: Path, log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(replayed, out)
    (out / "notes.txt").write_text("mine")
    assert main(["replay", str(log), *PAPER, "--out", str(out)]) == 0
    assert names(out) == sorted([*FILES, "notes.txt"])
    first, second = read_result(replayed), read_result(out)
    for document in (first, second):
        document.pop("solve_time_s")
        for step in document["history"]:
            step.pop("solve_time_s")
    assert first == second


def test_joint_order_extra_joints_and_broken_messages_do_not_matter(
    gen3: Problem, tmp_path: Path, replayed: Path
) -> None:
    order = [3, 1, 6, 0, 2, 5, 4]

    def change(k: int, fields: dict[str, Any]) -> dict[str, Any]:
        for key in ("name", "position", "velocity", "effort"):
            fields[key] = [fields[key][i] for i in order] + (["finger"] if key == "name" else [0.1 * k])
        return fields

    bag = record(tmp_path / "bag", gen3.samples(10.0 + np.arange(501) / 500.0), change)
    assert main(["replay", str(bag), *PAPER, "--out", str(tmp_path / "out")]) == 0
    assert read_result(tmp_path / "out")["parameters"] == read_result(replayed)["parameters"]


def test_positions_in_degrees_show_the_same_robot(gen3: Problem, tmp_path: Path, replayed: Path) -> None:
    def change(_k: int, fields: dict[str, Any]) -> dict[str, Any]:
        return fields | {"position": np.degrees(fields["position"]).tolist()}

    bag = record(tmp_path / "bag", gen3.samples(10.0 + np.arange(501) / 500.0), change)
    unit = ["--set", "signals.position_unit=[deg]"]
    assert main(["replay", str(bag), *PAPER, *unit, "--out", str(tmp_path / "out")]) == 0
    first, second = (
        next(message for _, message in read_messages(folder / "result.mcap", TRANSFORMS, TYPES[TRANSFORMS]))
        for folder in (replayed, tmp_path / "out")
    )
    for one, other in zip(first.transforms, second.transforms, strict=True):
        assert other.transform.rotation.w == pytest.approx(one.transform.rotation.w, abs=1e-9)


def test_bad_messages_are_counted_and_the_rest_is_used(gen3: Problem, tmp_path: Path) -> None:
    def change(k: int, fields: dict[str, Any]) -> dict[str, Any]:
        if k == 100:
            fields["effort"][2] = float("nan")
        if k == 200:
            fields["header"]["stamp"]["sec"] += 10**6
        if k == 300:
            fields["name"] = fields["name"][:-1]
        return fields

    bag = record(tmp_path / "bag", gen3.samples(10.0 + np.arange(501) / 500.0), change)
    assert main(["replay", str(bag), *PAPER, "--out", str(tmp_path / "out")]) == 0
    samples = read_result(tmp_path / "out")["samples"]
    assert sum(samples["rejected"].values()) >= 3
    assert samples["used"] > 400


def test_a_contradiction_is_status_3_and_claims_nothing(
    gen3: Problem, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(k: int, fields: dict[str, Any]) -> dict[str, Any]:
        # all joints carry three times as much from half time on: no body of the prior box explains both halves
        factor = 1.0 if k < 250 else 3.0
        fields["effort"] = [tau * factor for tau in fields["effort"]]
        return fields

    bag = record(tmp_path / "bag", gen3.samples(10.0 + np.arange(501) / 500.0), change)
    words = ["replay", str(bag), *PAPER, "--out", str(tmp_path / "out"), "--set", "noise.torque_rate=1000"]
    assert main(words) == 3
    line = one_line(capsys)
    assert "sysid: " in line and len(line.replace(str(tmp_path), "")) < 200
    document = read_result(tmp_path / "out")
    assert document["status"] == "INCONSISTENT"
    assert all(row["lower"] is None for row in document["parameters"])
    assert names(tmp_path / "out") == FILES
    *_, (_, last) = read_messages(tmp_path / "out" / "result.mcap", TOPIC, TYPE)
    assert last.status == Status.INCONSISTENT
    assert np.isnan([last.lower, last.upper, last.nominal]).all()


def test_relaxing_is_enough_where_torques_stray_ever_further(
    gen3: Problem, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each relaxation explains the data up to where they contradicted, and later data always need more."""

    def stray(k: int, fields: dict[str, Any]) -> dict[str, Any]:
        fields["effort"] = [tau * (1.0 + 1.6 * k / 500.0) for tau in fields["effort"]]
        return fields

    bag = record(tmp_path / "bag", gen3.samples(10.0 + np.arange(301) / 500.0), stray)
    words = ["replay", str(bag), *PAPER, "--out", str(tmp_path / "out"), "--set", "noise.torque_rate=1000"]
    assert main([*words, "--relax"]) == 0
    told = capsys.readouterr()
    assert told.err.count("sysid: relaxed: ") > 1
    assert "resting on relaxed assumptions" in told.out
    document = read_result(tmp_path / "out")
    assert document["status"] in ("PROVEN", "NOT_EXCITED")
    (entry,) = document["relaxed"]
    (stated,) = IntervalIdentifierConfig().noise.torque_relative
    assert entry["options"] == ["noise.torque_relative"]
    assert document["config"]["noise.torque_relative"] == [pytest.approx(entry["factor"] * stated)]


def test_messages_stay_in_order_when_the_clock_starts_over(gen3: Problem, tmp_path: Path) -> None:
    samples = gen3.samples(10.0 + np.arange(301) / 500.0)
    twice = JointSamples(
        samples.names,
        np.concatenate([samples.t, samples.t + 1.0]),
        *(np.concatenate([values, values]) for values in (samples.q, samples.qd, samples.tau)),
    )

    def played_again(k: int, fields: dict[str, Any]) -> dict[str, Any]:
        if k >= 301:
            fields["header"]["stamp"]["sec"] -= 1
            # three times the torque: from here on no body explains all of it
            fields["effort"] = [3.0 * tau for tau in fields["effort"]]
        return fields

    bag = record(tmp_path / "bag", twice, played_again)
    words = ["replay", str(bag), *PAPER, "--out", str(tmp_path / "out"), "--set", "noise.torque_rate=1000"]
    assert main(words) == 3
    windows = [message.window for _, message in read_messages(tmp_path / "out" / "result.mcap", TOPIC, TYPE)]
    assert windows == sorted(windows)
    *_, (_, last) = read_messages(tmp_path / "out" / "result.mcap", TOPIC, TYPE)
    assert last.status == Status.INCONSISTENT
    assert last.header.stamp.sec == 10, "stamps are the sensor's"


@pytest.mark.real_data
@pytest.mark.slow  # the same load with the calibrated robot: test_real_logs.py
def test_a_real_log(shared_data: Path, project_root: Path, tmp_path: Path) -> None:
    folder = shared_data / "ur10e_payload"
    words = ["--config", str(project_root / "config" / "ur10e.yaml"), "--urdf", str(folder / "ur10e.urdf")]
    # long windows and few rows: less tight, and done in seconds
    words += ["--set", "target=payload", "--set", "window.duration=1", "--set", "set_membership.max_rows=150"]
    out = tmp_path / "out"
    assert main(["replay", str(folder / "loaded_2805g_mcap"), *words, "--out", str(out)]) == 0
    document = read_result(out)
    mass = document["parameters"][0]
    assert mass["lower"] <= 2.805 <= mass["upper"]
    assert document["samples"]["used"] > 4000


# -- what is wrong with a log


def each(key: str, value: Callable[[list[float]], Any]) -> Change:
    def change(_: int, fields: dict[str, Any]) -> dict[str, Any]:
        fields[key] = value(fields[key])
        return fields

    return change


def stamps(seconds: Callable[[int], float]) -> Change:
    def change(k: int, fields: dict[str, Any]) -> dict[str, Any]:
        whole, rest = divmod(seconds(k), 1.0)
        fields["header"]["stamp"] = {"sec": int(whole), "nanosec": int(rest * 1e9)}
        return fields

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (each("name", lambda v: ["arm", *v[1:]]), "has no joint joint_1 of robot 'kinova_gen3'; it has arm, joint_2,"),
        (each("effort", lambda _: []), "no window of data could be used out of 201 messages (rejected: "),
        (each("effort", lambda v: [float("nan")] * len(v)), "no window of data could be used"),
        (each("velocity", lambda v: [float("inf")] * len(v)), "no window of data could be used"),
        (each("velocity", lambda _: []), "out of 201 messages (rejected: missing velocity 201)"),
        (stamps(lambda _: 0.0), "(rejected: absurd stamp 201)"),
        (stamps(lambda k: 10.0 + 1e4 * k), "(rejected: absurd stamp 200"),
        (stamps(lambda _: 5.0), "no window of data could be used"),
        (stamps(lambda k: 100.0 - 0.002 * k), "no window of data could be used"),
        (stamps(lambda k: 10.0 + 0.5 * k), "no window of data could be used"),
        (each("effort", lambda v: [5.0] * len(v)), "effort of 'joint_1' never changes (always 5)"),
        (each("velocity", lambda v: [0.0] * len(v)), "velocity of 'joint_1' never changes while its position does"),
        (each("effort", lambda v: [-x for x in v]), "has the opposite sign of the torque gravity needs; 'sysid check'"),
        (each("effort", lambda v: [1000.0 * x for x in v]), "seems to be in N mm instead of N m"),
    ],
    ids=[
        "other joints", "no effort", "nan", "infinite", "no velocity", "no stamp", "absurd stamps", "same stamp",
        "backward stamps", "gaps", "constant effort", "constant velocity", "torque sign", "torque unit",
    ],
)  # fmt: skip
def test_a_log_that_cannot_be_used(
    gen3: Problem, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Change, message: str
) -> None:
    bag = record(tmp_path / "bag", gen3.samples(10.0 + np.arange(201) / 500.0), change)
    assert main(["replay", str(bag), *PAPER, "--out", str(tmp_path / "out")]) == 2
    text = one_line(capsys)
    assert text.startswith(f"sysid: error: {bag}: ")
    assert message in text
    assert names(tmp_path) == ["bag"]


def test_a_robot_at_rest(gen3: Problem, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def rest(_: int, fields: dict[str, Any]) -> dict[str, Any]:
        return fields | {"position": [0.5] * 7, "velocity": [0.0] * 7}

    bag = record(tmp_path / "bag", gen3.samples(10.0 + np.arange(201) / 500.0), rest)
    assert main(["replay", str(bag), *PAPER, "--out", str(tmp_path / "out")]) == 2
    assert "no joint moves" in one_line(capsys)
    assert names(tmp_path) == ["bag"]


def test_a_log_that_is_too_short(gen3: Problem, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag = record(tmp_path / "bag", gen3.samples(10.0 + np.arange(20) / 500.0))
    assert main(["replay", str(bag), *PAPER, "--out", str(tmp_path / "out")]) == 2
    assert "no window of data could be used out of 20 messages (rejected: incomplete window 20)" in one_line(capsys)
    assert names(tmp_path) == ["bag"]


def _empty(path: Path) -> None:
    with BagWriter(path) as bag:
        bag.add_topic("/joint_states", "sensor_msgs/msg/JointState")


def _other_topic(path: Path) -> None:
    with BagWriter(path) as bag:
        bag.add_topic("/arm", "sensor_msgs/msg/JointState")
        bag.write("/arm", 1.0, {})


def _other_type(path: Path) -> None:
    with BagWriter(path) as bag:
        bag.add_topic("/joint_states", "sensor_msgs/msg/Imu")
        bag.write("/joint_states", 1.0, {})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda _: None, "no such file or folder"),
        (lambda path: path.mkdir(), "not a rosbag2 recording"),
        (lambda path: path.write_text("text"), "not a rosbag2 recording"),
        (_empty, "the bag is empty"),
        (_other_topic, "has no topic '/joint_states'; it has /arm (sensor_msgs/msg/JointState)"),
        (_other_type, "is of type sensor_msgs/msg/Imu, expected sensor_msgs/msg/JointState"),
    ],
    ids=["missing", "empty folder", "text", "empty", "other topic", "other type"],
)
def test_a_bag_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], make: Callable[[Path], object], message: str
) -> None:
    bag = tmp_path / "bag"
    make(bag)
    before = names(tmp_path)
    assert main(["replay", str(bag), *PAPER, "--out", str(tmp_path / "out")]) == 2
    assert message in one_line(capsys)
    assert names(tmp_path) == before


def test_a_truncated_bag(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag = tmp_path / "bag"
    shutil.copytree(log, bag)
    (file,) = bag.glob("*.mcap")
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    assert main(["replay", str(bag), *PAPER, "--out", str(tmp_path / "out")]) == 2
    assert "truncated, damaged or not a rosbag2 recording" in one_line(capsys)
    assert names(tmp_path) == ["bag"]


# -- what is wrong with the rest

LINK = """<link name="{0}"><inertial><mass value="{1}"/>
  <inertia ixx="1" iyy="1" izz="{2}" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" effort="9" velocity="1"/></joint>"""


def urdf(mass: float = 1.0, izz: float = 1.0) -> str:
    return f'<robot name="r">{LINK.format("a", 1, 1)}{LINK.format("b", mass, izz)}{JOINT}</robot>'


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("<robot", (), "not valid XML"),
        ("<sdf/>", (), "not a URDF"),
        (urdf(mass=-1.0), (), "mass"),
        (urdf(izz=9.0), (), "b"),
        (urdf(), ("--body", "hand"), "has no link 'hand'"),
    ],
    ids=["xml", "not a urdf", "negative mass", "impossible inertia", "no such body"],
)
def test_a_urdf_that_cannot_be_used(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: tuple[str, ...], message: str
) -> None:
    file = tmp_path / "arm.urdf"
    file.write_text(text)
    assert main(["replay", str(log), "--urdf", str(file), *words, "--out", str(tmp_path / "out")]) == 2
    assert message in one_line(capsys)
    assert names(tmp_path) == ["arm.urdf"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--set", "colour=red"), "unknown key 'colour'"),
        (("--set", "prior.lower=9,0,0,0,0,0,0,0,0,0"), "impossible bounds: m has lower 9 above upper 6"),
        (("--robot", "kinova_gen3", "--set", "noise.torque_relative=0.1,0.2"), "torque_relative"),
        (("--robot", "hal9000"), "unknown robot 'hal9000'"),
        (("--robot", "kinova_gen3", "--calibration", "nowhere.json"), "nowhere.json"),
        (("--topic", "/arm"), "has no topic '/arm'"),
    ],
)
def test_arguments_that_cannot_be_used(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    assert main(["replay", str(log), *words, "--out", str(tmp_path / "out")]) == 2
    assert message in one_line(capsys)
    assert names(tmp_path) == []


def test_a_strangers_folder_is_refused(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    assert main(["replay", str(log), *PAPER, "--out", str(tmp_path)]) == 2
    assert "the folder is not empty" in one_line(capsys)
    assert names(tmp_path) == ["thesis.tex"]


def test_the_result_names_its_configuration(replayed: Path) -> None:
    config = json.loads((replayed / "result.json").read_text())["config"]
    assert config["noise.torque_relative"] == [0.025]
    assert config["robot"] == "kinova_gen3"
