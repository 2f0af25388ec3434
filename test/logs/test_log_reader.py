# SPDX-License-Identifier: Apache-2.0
"""Reading rosbag2: both storages, both backends, every kind of unusable log in one line; real logs where present."""

import importlib.machinery
import shutil
import sqlite3
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag2 import Reader

from sysid_nodes.exceptions import LogError
from sysid_nodes.logs import BagWriter, read_joint_states, read_messages, read_topics, stamp_fields
from sysid_nodes.signals import seconds

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
COUNT = 300


def joint_state(k):
    return {
        "header": {"stamp": stamp_fields(5.0 + 0.001 * k)},
        "name": ["b", "a"],
        "position": [0.1 * k, -0.1 * k],
        "velocity": [1.0, 2.0],
        "effort": [3.0, float(k)],
    }


def write(path, storage="mcap", count=COUNT, topic="/joint_states"):
    with BagWriter(path, storage=storage) as bag:
        bag.add_topic(topic, "sensor_msgs/msg/JointState")
        bag.add_topic("/imu/data", "sensor_msgs/msg/Imu")
        for k in range(count):
            bag.write(topic, 100.0 + 0.001 * k, joint_state(k))
        if count:
            bag.write("/imu/data", 100.0, {})
    return path


def storage_file(folder):
    return next(file for file in folder.iterdir() if file.suffix in (".mcap", ".db3"))


def message(error):
    text = str(error.value)
    assert "\n" not in text
    return text


@pytest.fixture(params=["mcap", "sqlite3"])
def bag(request, tmp_path):
    return write(tmp_path / "bag", request.param)


def check_content(log):
    states = list(log)
    assert len(log) == len(states) == COUNT
    assert states[7].names == ("b", "a")
    assert states[7].stamp == seconds(5, 7_000_000)
    np.testing.assert_array_equal(states[7].position, [0.1 * 7, -0.1 * 7])
    np.testing.assert_array_equal(states[7].effort, [3.0, 7.0])


def test_reads_what_was_written_again_and_again(bag):
    log = read_joint_states(bag)
    check_content(log)
    check_content(log)


def test_a_recording_that_was_written_again_is_read_again(tmp_path):
    """What is remembered of a recording is of its files as they were."""
    write(tmp_path / "log", count=3)
    assert len(read_joint_states(tmp_path / "log")) == 3
    write(tmp_path / "log", count=4, topic="/other")
    assert len(read_joint_states(tmp_path / "log", "/other")) == 4
    with pytest.raises(LogError, match="has no topic"):
        read_joint_states(tmp_path / "log")


def test_reads_a_single_file_and_a_folder_without_metadata(bag):
    check_content(read_joint_states(storage_file(bag)))
    check_content(read_joint_states(bag / "metadata.yaml"))
    (bag / "metadata.yaml").unlink()
    check_content(read_joint_states(bag))


def test_missing_path(tmp_path):
    with pytest.raises(LogError, match="no such file or folder"):
        read_joint_states(tmp_path / "nowhere")


def test_not_a_bag(tmp_path):
    with pytest.raises(LogError, match=r"no metadata.yaml and no .mcap or .db3"):
        read_joint_states(tmp_path)
    text = tmp_path / "notes.txt"
    text.write_text("hello")
    with pytest.raises(LogError, match=r"expected a folder, a .mcap or a .db3 file$"):
        read_joint_states(text)
    table = tmp_path / "run.npz"
    table.write_text("hello")
    with pytest.raises(LogError, match=r"a .db3 file; 'sysid convert' makes one of a table$"):
        read_joint_states(table)


@pytest.mark.parametrize("suffix", [".mcap", ".db3"])
@pytest.mark.parametrize("content", [b"", b"x", b"no bag at all " * 100])
def test_a_file_of_another_content(tmp_path, suffix, content):
    file = tmp_path / f"x{suffix}"
    file.write_bytes(content)
    with pytest.raises(LogError, match="truncated, damaged or not a rosbag2"):
        list(read_joint_states(file))


@pytest.mark.parametrize("share", [0.01, 0.1, 0.37, 0.5, 0.82, 0.95, 0.999])
@pytest.mark.parametrize("with_metadata", [True, False])
def test_truncated(bag, share, with_metadata):
    file = storage_file(bag)
    data = file.read_bytes()
    file.write_bytes(data[: int(share * len(data))])
    with pytest.raises(LogError) as error:
        list(read_joint_states(bag if with_metadata else file))
    assert "truncated" in message(error)


def test_damaged_bytes_never_escape_as_another_error(bag):
    file = storage_file(bag)
    data = file.read_bytes()
    rng = np.random.default_rng(4)
    lines = []
    for _ in range(40):
        broken = bytearray(data)
        start = int(rng.integers(0, len(data) - 64))
        broken[start : start + 64] = rng.bytes(64)
        file.write_bytes(broken)
        try:
            list(read_joint_states(bag))
        except LogError as error:
            lines.append(str(error))
    assert lines
    assert not any("\n" in line for line in lines)


@pytest.mark.parametrize("content", ["", "a: [", "rosbag2_bagfile_information: 3", "\x00", "{}"])
def test_damaged_metadata(bag, content):
    (bag / "metadata.yaml").write_text(content)
    with pytest.raises(LogError) as error:
        read_joint_states(bag)
    assert "damaged" in message(error)


def test_metadata_that_promises_more(bag):
    file = bag / "metadata.yaml"
    file.write_text(file.read_text().replace(f"message_count: {COUNT}\n", f"message_count: {COUNT + 5}\n"))
    with pytest.raises(LogError, match=rf"has {COUNT} of the {COUNT + 5} messages promised"):
        list(read_joint_states(bag))


def test_metadata_with_a_negative_count(bag):
    file = bag / "metadata.yaml"
    file.write_text(file.read_text().replace(f"message_count: {COUNT}\n", "message_count: -3\n"))
    with pytest.raises(LogError, match=r"bag.*: damaged: topic .* said to have -3 messages"):
        list(read_joint_states(bag))


def test_a_device_is_no_recording():
    with pytest.raises(LogError, match=r"^/dev/null: not a rosbag2 recording"):
        read_joint_states("/dev/null")


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_empty_bag(tmp_path, storage):
    with pytest.raises(LogError, match="bag is empty"):
        read_joint_states(write(tmp_path / "bag", storage, count=0))


def test_missing_topic_lists_what_is_there(bag):
    with pytest.raises(LogError) as error:
        read_joint_states(bag, "/arm/joint_states")
    assert message(error).endswith(
        "has no topic '/arm/joint_states'; it has /joint_states (sensor_msgs/msg/JointState), "
        "/imu/data (sensor_msgs/msg/Imu)"
    )


def test_topic_without_messages(tmp_path):
    with BagWriter(tmp_path / "bag") as writer:
        for topic in ("/joint_states", "/other"):
            writer.add_topic(topic, "sensor_msgs/msg/JointState")
        writer.write("/other", 1.0, {})
    with pytest.raises(LogError, match="topic '/joint_states' has no messages"):
        read_joint_states(tmp_path / "bag")


def test_topic_of_another_type(bag):
    with pytest.raises(LogError, match=r"'/imu/data' is of type sensor_msgs/msg/Imu, expected sensor_msgs/msg/JointS"):
        read_joint_states(bag, "/imu/data")


def strip_definitions(path):
    with sqlite3.connect(storage_file(path)) as database:
        database.execute("DELETE FROM message_definitions")


def test_without_definitions_standard_types_are_read(tmp_path):
    path = write(tmp_path / "bag", "sqlite3")
    strip_definitions(path)
    assert all(not topic.definition for topic in read_topics(path))
    check_content(read_joint_states(path))


def test_without_definitions_custom_types_are_refused(tmp_path):
    name = "my_msgs/msg/Weight"
    with BagWriter(tmp_path / "bag", storage="sqlite3", definitions={name: "float64 kilograms"}) as writer:
        writer.add_topic("/weight", name)
        writer.write("/weight", 1.0, {"kilograms": 2.0})
    assert next(iter(read_messages(tmp_path / "bag", "/weight", name)))[1].kilograms == 2.0
    strip_definitions(tmp_path / "bag")
    with pytest.raises(LogError, match="no definition of the type my_msgs/msg/Weight"):
        read_messages(tmp_path / "bag", "/weight", name)


def test_definition_that_does_not_parse(tmp_path):
    path = write(tmp_path / "bag", "sqlite3")
    with sqlite3.connect(storage_file(path)) as database:
        database.execute("UPDATE message_definitions SET encoded_message_definition = 'float65[ x'")
    with pytest.raises(LogError) as error:
        read_joint_states(path)
    assert "does not parse" in message(error)


def fake_rosbag2_py():
    """The part of rosbag2_py's interface that is used, on top of rosbags: shows that only storage access differs."""

    class SequentialReader:
        def open(self, storage_options, converter_options):
            assert converter_options["output_serialization_format"] == "cdr"
            with Reader(storage_options["uri"]) as reader:
                self._connections = list(reader.connections)
                self._messages = list(reader.messages())

        def get_metadata(self):
            entries = [
                types.SimpleNamespace(
                    topic_metadata=types.SimpleNamespace(name=c.topic, type=c.msgtype), message_count=c.msgcount
                )
                for c in self._connections
            ]
            return types.SimpleNamespace(topics_with_message_count=entries)

        def set_filter(self, topics):
            self._queue = [(c.topic, data, t) for c, t, data in self._messages if c.topic in topics["topics"]]

        def has_next(self):
            return bool(self._queue)

        def read_next(self):
            return self._queue.pop(0)

    module = types.ModuleType("rosbag2_py")
    module.__spec__ = importlib.machinery.ModuleSpec("rosbag2_py", None)
    module.SequentialReader = SequentialReader
    module.StorageOptions = module.ConverterOptions = module.StorageFilter = dict
    return module


def test_rosbag2_py_gives_the_same(bag, monkeypatch, tmp_path):
    with_rosbags = list(read_joint_states(bag))
    monkeypatch.setitem(sys.modules, "rosbag2_py", fake_rosbag2_py())
    log = read_joint_states(bag)
    assert type(log._storage).__name__ == "_Rosbag2PyStorage"
    for one, other in zip(with_rosbags, log, strict=True):
        assert one[:2] == other[:2]
        np.testing.assert_array_equal(one[2:], other[2:])
    file = storage_file(bag)
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(LogError, match="truncated, damaged"):
        read_joint_states(bag)


def real(name):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"real logs are not beside the project: shared/data/{name}")
    return path


@pytest.mark.parametrize(
    ("name", "count", "joints"),
    [
        ("ur10e_payload/unloaded_mcap", 5375, 6),
        ("ur10e_payload/loaded_2805g_mcap", 5307, 6),
        ("panda_excitation/panda_first70_mcap", 14380, 7),
    ],
)
def test_real_joint_states(name, count, joints):
    states = list(read_joint_states(real(name)))
    assert len(states) == count
    assert {len(state.effort) for state in states} == {joints}
    assert (np.diff([state.stamp for state in states]) > 0).all()


def test_real_joint_states_equal_the_raw_file():
    raw = np.load(real("panda_excitation/panda_first70.npz"))
    states = list(read_joint_states(real("panda_excitation/panda_first70_mcap")))
    np.testing.assert_array_equal([state.effort for state in states], raw["tau"])
    np.testing.assert_array_equal([state.position for state in states], raw["q"])
    # the bag starts at 1 s; its stamps are whole nanoseconds
    np.testing.assert_allclose(np.array([s.stamp for s in states]) - 1.0, raw["t"] - raw["t"][0], atol=2e-9)


def test_real_foxy_bag_without_definitions(tmp_path):
    path = tmp_path / "copy"
    shutil.copytree(real("rosbag2_samples/imu_pose_foxy_db3"), path)
    imu = list(read_messages(path, "/imu", "sensor_msgs/msg/Imu"))
    assert len(imu) == 1565
    for _, item in imu[::100]:
        assert (item.angular_velocity.x, item.angular_velocity.z) == (131.0, 133.0)
        assert (item.linear_acceleration.x, item.linear_acceleration.z) == (151.0, 153.0)
    _, pose = next(iter(read_messages(path, "/pose", "geometry_msgs/msg/PoseStamped")))
    assert (pose.pose.position.y, pose.pose.position.z) == (2.0, 3.0)
    with pytest.raises(LogError, match=r"has no topic '/joint_states'; it has /imu"):
        read_joint_states(path)
