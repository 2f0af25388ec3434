# SPDX-License-Identifier: Apache-2.0
"""Compressed recordings, as `ros2 bag record --compression-mode` and mcap make them, are read like any other."""

from __future__ import annotations

from pathlib import Path

import pytest
from rosbags.rosbag2 import Reader, Writer
from rosbags.rosbag2.enums import CompressionFormat, CompressionMode, StoragePlugin

from sysid_nodes.exceptions import LogError
from sysid_nodes.logs import BagWriter, read_joint_states, stamp_fields

COUNT = 40
WAYS = [
    (CompressionMode.FILE, StoragePlugin.MCAP),
    (CompressionMode.FILE, StoragePlugin.SQLITE3),
    (CompressionMode.MESSAGE, StoragePlugin.MCAP),
    (CompressionMode.MESSAGE, StoragePlugin.SQLITE3),
    (CompressionMode.STORAGE, StoragePlugin.MCAP),
]


def compressed(folder: Path, mode: CompressionMode, storage: StoragePlugin) -> Path:
    plain, packed = folder / "plain", folder / "packed"
    with BagWriter(plain) as bag:
        bag.add_topic("/joint_states", "sensor_msgs/msg/JointState")
        for k in range(COUNT):
            values = {"name": ["a"], "position": [0.1 * k], "velocity": [0.0], "effort": [1.0]}
            bag.write("/joint_states", 5.0 + 0.01 * k, {"header": {"stamp": stamp_fields(5.0 + 0.01 * k)}, **values})
    writer = Writer(packed, version=9, storage_plugin=storage)
    writer.set_compression(mode, CompressionFormat.ZSTD)
    with Reader(plain) as reader, writer:
        (known,) = reader.connections
        own = writer.add_connection(known.topic, known.msgtype, msgdef=known.msgdef.data, rihs01=known.digest)
        for _, stamp, data in reader.messages():
            writer.write(own, stamp, data)
    return packed


@pytest.mark.parametrize(("mode", "storage"), WAYS)
def test_compressed_recordings_are_read(tmp_path: Path, mode: CompressionMode, storage: StoragePlugin) -> None:
    states = list(read_joint_states(compressed(tmp_path, mode, storage)))
    assert len(states) == COUNT and states[-1].position == pytest.approx([0.1 * (COUNT - 1)])


@pytest.mark.parametrize("storage", [StoragePlugin.MCAP, StoragePlugin.SQLITE3])
def test_messages_compressed_by_themselves_need_no_metadata(tmp_path: Path, storage: StoragePlugin) -> None:
    packed = compressed(tmp_path, CompressionMode.MESSAGE, storage)
    (packed / "metadata.yaml").unlink()
    assert len(list(read_joint_states(packed))) == COUNT


def test_a_compressed_file_without_metadata_is_told_how_to_be_unpacked(tmp_path: Path) -> None:
    packed = compressed(tmp_path, CompressionMode.FILE, StoragePlugin.MCAP)
    (packed / "metadata.yaml").unlink()
    with pytest.raises(LogError, match=r"no .mcap or .db3 file in it but packed.mcap.zstd; unpack it with 'zstd -d'"):
        read_joint_states(packed)
    with pytest.raises(LogError, match=r"or a .db3 file; unpack it with 'zstd -d', or give the folder"):
        read_joint_states(packed / "packed.mcap.zstd")
