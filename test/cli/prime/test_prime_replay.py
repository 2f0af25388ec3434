# SPDX-License-Identifier: Apache-2.0
"""sysid replay of a legged robot's log: the live node's numbers, the files, and one line for whatever is wrong."""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from shared.legged_bag import TOPICS, messages, write_bag, write_truth
from shared.legged_readings import FAST
from shared.legged_readings import feed as feed_reading

from sysid_nodes.cli import configuration
from sysid_nodes.cli.main import main
from sysid_nodes.cli.prime import configuration as prime_configuration
from sysid_nodes.cli.prime import entry
from sysid_nodes.cli.prime.replay import open_log
from sysid_nodes.data.config import from_flat
from sysid_nodes.logs import BagWriter, read_messages, stamp_fields
from sysid_nodes.logs.reader import read_topics
from sysid_nodes.messages.prime.estimate import CONTACT_FORCES, MARKERS, ODOMETRY, SMOOTHED, TYPES
from sysid_nodes.reports.files import read_document
from sysid_nodes.reports.prime.series import read_prime_series
from sysid_nodes.results.prime import BodyEstimate
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.sessions.prime.horizon import make_horizon
from sysid_nodes.sessions.prime.session import PrimeSession, prime_robot
from sysid_nodes.simulation.legged import JointReading, LeggedRobotSim, LeggedSimulationConfig, Reading
from sysid_nodes.simulation.legged.load import LoadConfig
from sysid_nodes.simulation.legged.sensors import LeggedSensorsConfig, VelocityReading, VelocitySensorConfig

START = 1000.0
"""Stamp of simulated time zero [s]: not zero, as no real clock is."""

LENGTH = 1.2  # [s]
FILES = ["report.html", "result.json", "result.mcap", "series.npz"]
QUICK = [word for name, value in FAST.items() for word in ("--set", f"{name}={value}")]


@dataclasses.dataclass(frozen=True)
class Walk:
    """A recording of a Go2 that carries something, and what was true."""

    bag: Path
    truth: Path
    readings: tuple[Reading, ...]


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Walk:
    folder = tmp_path_factory.mktemp("walk")
    sensors = LeggedSensorsConfig(velocity=VelocitySensorConfig(enabled=True))
    config = LeggedSimulationConfig(motion="sway", load=LoadConfig(mass=2.0), sensors=sensors)
    sim = LeggedRobotSim(config, np.random.default_rng(3), start=START)
    readings = tuple(sim.run(LENGTH))
    return Walk(write_bag(folder / "bag", readings), write_truth(folder / "truth", sim, START), readings)


@pytest.fixture(scope="module")
def replayed(walk: Walk, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("replayed") / "out"
    assert replay(walk.bag, out, "--truth", str(walk.truth)) == 0
    return out


def without_velocities(walk: Walk) -> list[Reading]:
    return [reading for reading in walk.readings if not isinstance(reading, VelocityReading)]


def replay(bag: Path, out: Path, *words: str) -> int:
    return main(["replay", str(bag), "--robot", "go2", "--out", str(out), *QUICK, *words])


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    text = capsys.readouterr().err
    assert text.count("\n") == 1, text
    assert "Traceback" not in text
    return text


def told(body: BodyEstimate) -> list[float | None]:
    """Parameters as a result has them: none where it is not observed."""
    return [value if seen else None for value, seen in zip(body.parameters.tolist(), body.observed, strict=True)]


# -- what it makes


def test_the_files_are_there_and_nothing_else(replayed: Path) -> None:
    assert sorted(item.name for item in replayed.iterdir()) == FILES
    assert [item.name for item in replayed.parent.iterdir()] == ["out"]
    assert (replayed / "report.html").read_text(encoding="utf-8").rstrip().endswith("</html>")


def test_the_numbers_are_the_sessions_that_the_live_node_runs(walk: Walk, replayed: Path) -> None:
    config = from_flat(PrimeSessionConfig, FAST)
    robot = prime_robot(config)
    session = PrimeSession(robot, config, lambda: make_horizon(robot, config))
    for readings in open_log(walk.bag, config):
        session.take(readings)
    document = read_document(replayed)
    assert document["status"] == session.judgement.status.name == "GOOD"
    assert session.estimate is not None
    # bit for bit: the same steps on the same numbers, whatever the machine's clock says
    found = [row["estimate"] for row in document["bodies"][0]["parameters"]]
    assert found == told(session.estimate.bodies[0])
    assert document["solves"] == session.solves
    assert document["samples"]["used"] == session.received == len(without_velocities(walk))


def test_the_truth_is_told_and_met(replayed: Path) -> None:
    truth = read_document(replayed)["run"]["truth"]
    assert truth["contact_f1"] == 1.0  # all feet stay on the ground
    assert truth["force_error"] < 0.1  # a second, while the load is not yet known; 0.02 is usual
    assert truth["position_rms"] < 2e-3
    assert abs(truth["bodies"][0]["mass_error"]) < 0.05


def test_contacts_are_compared_with_the_feets_own_sensors(
    walk: Walk, replayed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two feet: one that never left the ground, one whose sensor says that it did, half of the time."""
    with BagWriter(tmp_path / "bag", storage="mcap") as bag:
        for topic, kind in [*TOPICS.items(), ("/left", "std_msgs/msg/Float32"), ("/right", "std_msgs/msg/Float32")]:
            bag.add_topic(topic, kind)
        for k, reading in enumerate(walk.readings):
            now = round(1e9 * reading.arrival) + k
            for topic, fields in messages(reading):
                bag.write(topic, now, fields)
            late = reading.stamp > START + 0.5 * LENGTH
            bag.write("/left", now, {"data": 50.0 + k % 2})
            bag.write("/right", now, {"data": 80.0 if late else float(k % 2)})
    words = ("--foot-force", "FL=left", "--foot-force", "FR_foot=/right")
    assert replay(tmp_path / "bag", tmp_path / "out", *words) == 0
    said = capsys.readouterr().out
    assert "F1 of contacts against the feet's sensors: FR_foot 0." in said
    assert "the sensor of FL_foot cannot tell contact from swing" in said
    document = read_document(tmp_path / "out")
    left, right, *rest = (foot["sensor"] for foot in document["run"]["feet"])
    assert (left["topic"], left["threshold"], left["f1"]) == ("/left", None, None)
    # 2 p / (1 + p), where a share p of what is found is true: a half, less what is not yet published at the end.
    assert right["f1"] == pytest.approx(0.64, abs=0.05)
    assert rest == [None, None]
    # It is looked at, and nothing else.
    assert document["bodies"] == read_document(replayed)["bodies"]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "against its own sensor" in page and "cannot tell contact from swing" in page and "no sensor" in page
    assert "against its own sensor" not in (replayed / "report.html").read_text(encoding="utf-8")


def test_the_bag_has_every_stage_on_the_live_nodes_topics(replayed: Path) -> None:
    bag = replayed / "result.mcap"
    series, _ = read_prime_series(replayed / "series.npz")
    counts = {topic.name: topic.count for topic in read_topics(bag)}
    assert counts[f"/{CONTACT_FORCES}"] == counts[f"/{ODOMETRY}"] == counts[f"/{SMOOTHED}"] == len(series.t) > 80
    assert counts["/robot_description"] == 1
    assert counts["/tf"] == pytest.approx(30.0 * (series.t[-1] - series.t[0]), rel=0.4)
    assert counts[f"/{MARKERS}"] == pytest.approx(len(series.t) / 5, abs=2)
    assert counts["/torso_inertia"] >= 2
    logged, messages = zip(*read_messages(bag, CONTACT_FORCES, TYPES[CONTACT_FORCES]), strict=True)
    assert np.all(np.diff(logged) > 0)
    found = np.array([[[c.force.x, c.force.y, c.force.z] for c in message.contacts] for message in messages])
    # the series is kept in single precision
    np.testing.assert_allclose(found, series.force, rtol=1e-5, atol=1e-4)
    assert [c.frame for c in messages[0].contacts] == list(series.contacts)
    _, odometry = next(iter(read_messages(bag, ODOMETRY, TYPES[ODOMETRY])))
    assert (odometry.header.frame_id, odometry.child_frame_id) == ("world", "base")


def test_both_storages_and_a_single_file_give_the_same(walk: Walk, tmp_path: Path) -> None:
    """Readings, in the same order; what is made of them knows of no files."""
    config = from_flat(PrimeSessionConfig, FAST)
    bags = walk.bag, walk.bag / "bag.mcap", write_bag(tmp_path / "bag", walk.readings, storage="sqlite3")
    expected, *others = ([repr(readings) for readings in open_log(bag, config)] for bag in bags)
    assert expected
    assert others == [expected, expected]


@pytest.mark.slow  # of the streams: signals/test_alignment.py
def test_how_the_streams_interleave_does_not_matter(walk: Walk, replayed: Path, tmp_path: Path) -> None:
    """A recorder hears the streams in another order than the node does: each in its own, a little earlier or later."""
    rng = np.random.default_rng(5)
    late = dict.fromkeys(map(type, walk.readings), 0.0)
    shaken = []
    for reading in walk.readings:
        late[type(reading)] = max(late[type(reading)] + 1e-9, reading.arrival + rng.uniform(0.0, 0.004))
        shaken.append(dataclasses.replace(reading, arrival=late[type(reading)]))
    order = sorted(shaken, key=lambda reading: reading.arrival)
    assert [type(r) for r in order] != [type(r) for r in walk.readings]
    assert replay(write_bag(tmp_path / "bag", order), tmp_path / "out") == 0
    found, expected = read_document(tmp_path / "out"), read_document(replayed)
    assert found["bodies"] == expected["bodies"]
    assert found["history"] == expected["history"]


def test_the_whole_log_at_once(walk: Walk, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay(walk.bag, tmp_path / "out", "--mode", "batch", "--truth", str(walk.truth)) == 0
    said = capsys.readouterr()
    assert "solving for the whole log" in said.err
    assert "base weighs" in said.out
    document = read_document(tmp_path / "out")
    run = document["run"]
    assert (run["mode"], document["solves"]) == ("batch", 1)
    assert run["left_out"] == 1  # joints are heard a step before the IMU
    assert run["stages"] > 100
    body, truth = document["bodies"][0]["parameters"][0], run["truth"]["bodies"][0]["parameters"][0]
    assert abs(body["estimate"] - truth) < 4.0 * body["sigma"]
    assert run["truth"]["force_error"] < 0.05


def test_a_log_with_a_pause_is_estimated_over_its_longest_stretch(walk: Walk, tmp_path: Path) -> None:
    kept = [r for r in walk.readings if not START + 0.2 < r.stamp < START + 0.4]
    late = [dataclasses.replace(r, stamp=r.stamp + 5.0, arrival=r.arrival + 5.0) for r in kept if r.stamp > START + 0.3]
    early = [r for r in kept if r.stamp < START + 0.3]
    bag = write_bag(tmp_path / "bag", [*early, *late])
    assert replay(bag, tmp_path / "out", "--mode", "batch") in (0, 3)
    run = read_document(tmp_path / "out")["run"]
    assert run["left_out"] == pytest.approx(20, abs=6)
    assert run["start"] > START + 5.0


def test_without_motion_capture_and_velocities_it_goes_on_and_says_so(
    walk: Walk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = write_bag(tmp_path / "bag", walk.readings, without=("/mocap/pose",))
    assert replay(bag, tmp_path / "out", "--velocity-topic", "/nowhere") == 0
    said = capsys.readouterr().err
    document = read_document(tmp_path / "out")
    assert document["status"] == "DEGRADED"
    for topic, stream in (("/mocap/pose", "mocap_pose"), ("/nowhere", "base_velocity")):
        assert f"has no readings on '{topic}'; it goes without" in said
        assert any(stream in finding for finding in document["findings"])


def test_velocities_are_used_where_asked_for_as_odometry_or_as_twist(
    walk: Walk, replayed: Path, tmp_path: Path
) -> None:
    enabled = "prime.sensors.base_velocity.enabled=true"
    assert replay(walk.bag, tmp_path / "odometry", "--set", enabled) == 0
    assert replay(walk.bag, tmp_path / "twist", "--velocity-topic", "/twist") == 0
    odometry, twist = read_document(tmp_path / "odometry"), read_document(tmp_path / "twist")
    assert odometry["samples"]["used"] == twist["samples"]["used"] == len(walk.readings)
    assert odometry["bodies"] == twist["bodies"] != read_document(replayed)["bodies"]
    config = from_flat(PrimeSessionConfig, {**FAST, "prime.sensors.base_velocity.enabled": True})
    robot = prime_robot(config)
    session = PrimeSession(robot, config, lambda: make_horizon(robot, config))
    for reading in walk.readings:  # as a node hears them, stamps in whole nanoseconds
        feed_reading(session, dataclasses.replace(reading, stamp=rounded(reading.stamp)))
    assert session.estimate is not None
    found = [row["estimate"] for row in odometry["bodies"][0]["parameters"]]
    assert found == told(session.estimate.bodies[0])


def rounded(stamp: float) -> float:
    fields = stamp_fields(stamp)
    return fields["sec"] + 1e-9 * fields["nanosec"]


def test_topics_may_have_other_names(walk: Walk, tmp_path: Path) -> None:
    words = ("--topic", "/nowhere")
    assert replay(walk.bag, tmp_path / "out", *words) == 2
    assert not (tmp_path / "out").exists()


def test_the_page_can_be_made_again(replayed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(replayed, folder)
    (folder / "report.html").unlink()
    assert main(["report", str(folder)]) == 0
    assert capsys.readouterr().out == f"{folder / 'report.html'}\n"
    before = (replayed / "report.html").read_text(encoding="utf-8")
    after = (folder / "report.html").read_text(encoding="utf-8")
    assert before.splitlines()[:8] == after.splitlines()[:8]
    assert after.count("<svg") == before.count("<svg") > 10


def test_a_result_of_a_live_node_has_no_page_and_says_so(
    replayed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = read_document(replayed)
    del document["run"]
    (tmp_path / "result.json").write_text(json.dumps(document), encoding="utf-8")
    assert main(["report", str(tmp_path)]) == 2
    assert "was saved by a live node" in one_line(capsys)
    assert main(["export", str(tmp_path), "--into", "x.urdf", "--out", str(tmp_path / "y.urdf")]) == 2
    assert "cannot be exported yet" in one_line(capsys)


# -- what it refuses


def only_joints(walk: Walk, folder: Path) -> Path:
    return write_bag(folder / "bag", walk.readings[:200], without=("/imu/data", "/mocap/pose"))


def too_short(walk: Walk, folder: Path) -> Path:
    return write_bag(folder / "bag", [r for r in walk.readings if r.stamp < START + 0.05])


def hardly_any(walk: Walk, folder: Path) -> Path:
    return write_bag(folder / "bag", [r for r in walk.readings if r.stamp < START + 0.012])


def of_another_robot(walk: Walk, folder: Path) -> Path:
    def renamed(reading: Reading) -> Reading:
        if not isinstance(reading, JointReading):
            return reading
        return dataclasses.replace(reading, names=tuple(f"my_{name}" for name in reading.names))

    return write_bag(folder / "bag", map(renamed, walk.readings))


@pytest.mark.parametrize(
    ("make", "words", "line"),
    [
        (lambda walk, _: walk.bag / "nothing", (), "no such file or folder"),
        (only_joints, (), "has neither '/imu/data' nor '/mocap/pose': nothing tells how the base moves"),
        (too_short, (), "no motion could be estimated from"),
        (of_another_robot, (), "do not name all joints of 'go2': FL_calf_joint is missing, and 11 more"),
        (hardly_any, ("--mode", "batch"), "no motion could be estimated"),
        (lambda walk, _: walk.bag, ("--imu-topic", "/joint_states"), "is of type sensor_msgs/msg/JointState, expected"),
        (lambda walk, _: walk.bag, ("--velocity-topic", "/imu/data"), "Imu, expected nav_msgs/msg/Odometry"),
        (lambda walk, _: walk.bag, ("--method", "sensitivity"), "--method is for an identification in intervals"),
        (lambda walk, _: walk.bag, ("--set", "prime.stepp=1"), "unknown key 'prime.stepp'"),
        (lambda walk, _: walk.bag, ("--set", "prime.step=-1.0"), "'prime.step' must be at least 0.0001"),
        (lambda walk, _: walk.bag, ("--truth", "nowhere"), "nowhere: No such file or directory"),
    ],
)  # fmt: skip
def test_what_cannot_be_replayed_is_told_in_one_line(
    make: Callable[[Walk, Path], Path], words: tuple[str, ...], line: str,
    walk: Walk, tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    assert replay(make(walk, tmp_path), tmp_path / "out", *words) == 2
    text = capsys.readouterr().err
    assert line in text.splitlines()[-1]
    assert "Traceback" not in text
    assert not (tmp_path / "out").exists()


def test_a_damaged_recording_is_told_in_one_line(
    walk: Walk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = (walk.bag / "bag.mcap").read_bytes()
    (tmp_path / "cut.mcap").write_bytes(data[: len(data) // 2])
    assert replay(tmp_path / "cut.mcap", tmp_path / "out") == 2
    assert "truncated" in one_line(capsys)


def test_options_of_legged_robots_are_refused_for_others(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(log), "--mode", "batch", "--out", str(tmp_path / "out")]) == 2
    assert "--mode is for legged robots" in one_line(capsys)


def test_a_robot_without_joints_in_common_is_no_reason_to_crash(tmp_path: Path) -> None:
    with BagWriter(tmp_path / "bag") as bag:
        bag.add_topic("/joint_states", "sensor_msgs/msg/JointState")
    assert replay(tmp_path / "bag", tmp_path / "out") == 2


# -- which pipeline


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    configuration.add_arguments(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), False),
        (("--config", "config/kinova_gen3.yaml"), False),
        (("--robot", "panda"), False),
        (("--urdf", "my_arm.urdf"), False),
        (("--config", "config/go2.yaml"), True),
        (("--config", "config/g1.yaml"), True),
        (("--robot", "g1"), True),
        (("--set", "robot=go2"), True),
        (("--urdf", "my_dog.urdf", "--set", "contacts.links=a,b"), True),
    ],
)
def test_the_configuration_says_which_pipeline(words: tuple[str, ...], expected: bool) -> None:
    root = Path(__file__).parents[3]
    given = [str(root / word) if word.endswith(".yaml") else word for word in words]
    assert entry.is_wanted(parsed(*given)) is expected


def test_the_packaged_configuration_is_the_robots(tmp_path: Path) -> None:
    config = prime_configuration.configuration(parsed("--robot", "g1"))
    assert (config.robot, config.prime.step) == ("g1", 0.02)
    file = tmp_path / "mine.yaml"
    text = "/**:\n  ros__parameters:\n    robot: go2\n    tf: false\n    prime: {step: 0.02}\n"
    file.write_text(text, encoding="utf-8")
    mine = prime_configuration.configuration(parsed("--config", str(file), "--set", "horizon.window=20"))
    assert (mine.robot, mine.prime.step, mine.horizon.window) == ("go2", 0.02, 20)
