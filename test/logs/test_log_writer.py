# SPDX-License-Identifier: Apache-2.0
"""Writing rosbag2: own and standard types, latched topics, and never a half-written or destroyed file."""

import numpy as np
import pytest
from rosbags.interfaces import QosDurability
from rosbags.rosbag2 import Reader

from sysid_nodes.exceptions import LogError
from sysid_nodes.logs import BagWriter, read_messages, stamp_fields

BOUNDS = "online_sysid/msg/ParameterBounds"


def write(path, value=1.0, **options):
    with BagWriter(path, **options) as bag:
        bag.add_topic("/joint_states", "sensor_msgs/msg/JointState")
        bag.write("/joint_states", 1.0, {"effort": [value]})


def effort(path):
    return next(iter(read_messages(path, "/joint_states", "sensor_msgs/msg/JointState")))[1].effort.tolist()


@pytest.mark.parametrize(("name", "storage"), [("bag", "mcap"), ("bag", "sqlite3"), ("result.mcap", "mcap")])
def test_own_and_standard_messages(tmp_path, name, storage):
    path = tmp_path / name
    with BagWriter(path, storage=storage) as bag:
        bag.add_topic("/bounds", BOUNDS, latched=True)
        bag.add_topic("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray")
        fields = {"lower": np.arange(10.0), "names": list("abcdefghij"), "header": {"stamp": stamp_fields(1.5)}}
        bag.write("/bounds", 2.0, fields)
        status = {"level": 1, "name": "x", "values": [{"key": "rate", "value": "1000"}]}
        bag.write("/diagnostics", 3_000_000_001, {"status": [status]})
    assert path.is_file() == (name == "result.mcap")
    ((stamp, bounds),) = read_messages(path, "/bounds", BOUNDS)
    assert stamp == 2_000_000_000
    assert (bounds.header.stamp.sec, bounds.header.stamp.nanosec) == (1, 500_000_000)
    np.testing.assert_array_equal(bounds.lower, np.arange(10.0))
    np.testing.assert_array_equal(bounds.upper, np.zeros(10))
    assert bounds.names == list("abcdefghij")
    ((stamp, diagnostics),) = read_messages(path, "/diagnostics", "diagnostic_msgs/msg/DiagnosticArray")
    assert stamp == 3_000_000_001
    assert diagnostics.status[0].values[0].value == "1000"
    with Reader(path) as reader:
        qos = {c.topic: c.ext.offered_qos_profiles[0].durability for c in reader.connections}
    assert qos == {"/bounds": QosDurability.TRANSIENT_LOCAL, "/diagnostics": QosDurability.VOLATILE}


@pytest.mark.parametrize("name", ["bag", "result.mcap"])
def test_nothing_appears_before_the_end_or_after_an_error(tmp_path, name):
    path = tmp_path / name

    def interrupted():
        with BagWriter(path) as bag:
            bag.add_topic("/joint_states", "sensor_msgs/msg/JointState")
            bag.write("/joint_states", 1.0, {})
            assert not path.exists()
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        interrupted()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["bag", "result.mcap"])
def test_own_output_is_replaced_and_kept_on_an_error(tmp_path, name):
    path = tmp_path / name
    write(path, 1.0)
    write(path, 2.0)
    assert effort(path) == [2.0]
    with pytest.raises(RuntimeError), BagWriter(path):
        raise RuntimeError
    assert effort(path) == [2.0]
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_an_empty_folder_or_file_is_replaced(tmp_path):
    (tmp_path / "bag").mkdir()
    (tmp_path / "result.mcap").touch()
    for name in ("bag", "result.mcap"):
        write(tmp_path / name)
        assert effort(tmp_path / name) == [1.0]


@pytest.mark.parametrize("name", ["bag", "result.mcap"])
def test_what_others_wrote_stays(tmp_path, name):
    path = tmp_path / name
    if name == "bag":
        path.mkdir()
        (path / "metadata.yaml").write_text("rosbag2_bagfile_information: {custom_data: null}")
    else:
        path.write_bytes(b"precious")
    with pytest.raises(LogError, match="was not written by this tool"):
        write(path)
    assert path.exists()
    assert len(list(tmp_path.iterdir())) == 1


def test_output_that_appears_meanwhile_stays(tmp_path):
    path = tmp_path / "result.mcap"
    with pytest.raises(LogError, match="was not written by this tool"), BagWriter(path):
        path.write_bytes(b"precious")
    assert path.read_bytes() == b"precious"
    assert [file.name for file in tmp_path.iterdir()] == ["result.mcap"]


def test_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(LogError, match="cannot be written"):
        write(tmp_path / "file" / "bag")


@pytest.mark.parametrize(
    ("topic", "fields", "text"),
    [
        ("/bounds", {"lowest": 1.0}, "has no field 'lowest'"),
        ("/bounds", {"lower": [1.0]}, "needs 10 values, got 1"),
        ("/other", {}, "topic '/other' was not declared"),
    ],
)
def test_wrong_messages(tmp_path, topic, fields, text):
    with BagWriter(tmp_path / "bag") as bag:
        bag.add_topic("/bounds", BOUNDS)
        with pytest.raises(LogError, match=text):
            bag.write(topic, 1.0, fields)


def test_wrong_types_and_storage(tmp_path):
    with pytest.raises(LogError, match="unknown message type a/msg/B"), BagWriter(tmp_path / "bag") as bag:
        bag.add_topic("/x", "a/msg/B")
    with pytest.raises(LogError, match="Nonsense is neither installed"), BagWriter(tmp_path / "bag") as bag:
        bag.add_topic("/x", "online_sysid/msg/Nonsense")
    with pytest.raises(LogError, match="does not parse"):
        BagWriter(tmp_path / "bag", definitions={"a/msg/B": "float65[ x"})
    with pytest.raises(LogError, match="cannot write storage 'sqlite3'"):
        BagWriter(tmp_path / "x.mcap", storage="sqlite3")


def test_own_messages_that_hold_own_messages(tmp_path):
    path = tmp_path / "bag"
    with BagWriter(path) as bag:
        bag.add_topic("/obstacles", "online_sysid/msg/Obstacles", latched=True)
        bag.write("/obstacles", 1.0, {"obstacles": [{"name": "shelf", "kind": "box", "size": [0.1, 0.2, 0.3]}]})
    ((_, message),) = read_messages(path, "/obstacles", "online_sysid/msg/Obstacles")
    (obstacle,) = message.obstacles
    assert (obstacle.name, obstacle.size.tolist()) == ("shelf", [0.1, 0.2, 0.3])


def test_messages_are_copied_as_they_came_over_the_wire(tmp_path):
    write(tmp_path / "first", 4.5)
    with Reader(tmp_path / "first") as reader:
        ((_, stamp, data),) = reader.messages()
    with BagWriter(tmp_path / "second") as bag:
        bag.add_topic("/joint_states", "sensor_msgs/msg/JointState")
        bag.write_serialized("/joint_states", stamp, bytes(data))
        with pytest.raises(LogError, match="topic '/elsewhere' was not declared"):
            bag.write_serialized("/elsewhere", stamp, bytes(data))
    assert effort(tmp_path / "second") == [4.5]
