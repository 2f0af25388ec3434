# SPDX-License-Identifier: Apache-2.0
"""Access to the raw bytes of a rosbag2 recording: `rosbag2_py` where a ROS install has it, `rosbags` otherwise.

Both hand out the same serialised messages in the order of their log times, and `sysid_nodes.logs.messages` decodes
them in both cases, so results cannot depend on which one is present.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from sysid_nodes.exceptions import LogError

STORAGE_SUFFIXES = {".mcap": "mcap", ".db3": "sqlite3"}

_ZSTD = bytes.fromhex("28b52ffd")
"""How Zstandard's frames begin; serialised messages begin with a zero."""

_REMEMBERED = 16
"""Recordings whose topics are remembered: a report reads a dozen of them from one, and its metadata take long."""

_LISTED = 5
"""Recordings that a message names."""

_CONVERT = "; 'sysid convert' makes one of a table"
_UNPACK = "; unpack it with 'zstd -d', or give the folder with its metadata.yaml"


@dataclass(frozen=True)
class Topic:
    """One topic of a recording.

    Attributes:
        name: topic name.
        type: message type, `package/msg/Name`.
        count: number of recorded messages.
        definition: text of the type's definition with those it needs, or empty where the recording has none.
        encoding: `ros2msg`, `ros2idl` or empty.
    """

    name: str
    type: str
    count: int
    definition: str = ""
    encoding: str = ""


def absolute(topic: str) -> str:
    """Full name of a topic in a recording; a relative name is meant below the root."""
    return topic if topic.startswith("/") else f"/{topic}"


class Storage(Protocol):
    """Interface of a backend."""

    def topics(self) -> tuple[Topic, ...]:
        """All topics of the recording."""

    def span(self) -> tuple[int, int]:
        """Log times of the first and the last message [ns]; not positive in length where there is none."""

    def messages(self, topic: str) -> Iterator[tuple[int, bytes]]:
        """Log time [ns] and serialised message of one topic, in the order of log times."""


def open_storage(path: Path) -> Storage:
    """A backend for a rosbag2 folder or a single .mcap or .db3 file.

    Raises:
        LogError: the path is missing, is not a rosbag2 recording, or is truncated or otherwise damaged.
    """
    target = _target(path)
    if importlib.util.find_spec("rosbag2_py") is not None:
        return _Rosbag2PyStorage(path, target)
    return _RosbagsStorage(path, target)


def _target(path: Path) -> Path:
    """The folder or the storage file to open."""
    if not path.exists():
        raise LogError("no such file or folder", source=str(path))
    if not path.is_dir():
        if path.name == "metadata.yaml":
            return _target(path.parent)
        if path.suffix not in STORAGE_SUFFIXES or not path.is_file():
            hint = {".zstd": _UNPACK, ".npz": _CONVERT, ".csv": _CONVERT}.get(path.suffix, "")
            raise LogError(
                f"not a rosbag2 recording: expected a folder, a .mcap or a .db3 file{hint}", source=str(path)
            )
        return path
    if (path / "metadata.yaml").exists():
        return path
    files = sorted(file for file in path.iterdir() if file.suffix in STORAGE_SUFFIXES)
    if len(files) == 1:
        return files[0]
    raise LogError(f"not a rosbag2 recording: no metadata.yaml and {_content(path)}", source=str(path))


def recordings_in(folder: Path, depth: int | None = None) -> Iterator[Path]:
    """The recordings in a folder and below, in the order of their paths: rosbag2 folders, and single storage files.

    Args:
        folder: where to look.
        depth: of the folders to look into; None for all.
    """
    if (folder / "metadata.yaml").is_file():
        yield folder
        return
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink() and depth != 0:
            yield from recordings_in(path, None if depth is None else depth - 1)
        elif path.suffix in STORAGE_SUFFIXES and path.is_file():
            yield path


def _content(folder: Path) -> str:
    """Content of a folder that is no recording, for the message."""
    # Not deeper: whoever says `/` shall not wait for an error.
    found = [str(path.relative_to(folder)) for path in islice(recordings_in(folder, depth=2), _LISTED + 1)]
    if not found:
        packed = [path.name for path in sorted(folder.iterdir()) if path.suffix == ".zstd"]
        return "no .mcap or .db3 file in it" + (f" but {packed[0]}; unpack it with 'zstd -d'" if packed else "")
    more = " ..." if len(found) > _LISTED else ""
    return f"several to choose from: {', '.join(found[:_LISTED])}{more}"


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Turns whatever a parser throws at damaged bytes into one clear line."""
    try:
        yield
    except LogError:
        raise
    except Exception as error:  # parsers of binary files raise errors of every kind: struct, zlib, index, unicode ...
        reason = " ".join(str(error).split()) or type(error).__name__
        raise LogError(f"truncated, damaged or not a rosbag2 recording ({reason})", source=str(path)) from None


class _RosbagsStorage:
    """Storage read by the pure Python package `rosbags`."""

    def __init__(self, path: Path, target: Path) -> None:
        self._path = path
        self._target = target
        self._topics, self._span = _read_summary(path, target)

    def topics(self) -> tuple[Topic, ...]:
        return self._topics

    def span(self) -> tuple[int, int]:
        return self._span

    def messages(self, topic: str) -> Iterator[tuple[int, bytes]]:
        with _damage(self._path), _reader(self._target) as reader:
            connections = [c for c in reader.connections if c.topic == topic]
            for _, stamp, data in reader.messages(connections=connections):
                yield stamp, _decompress(data)


def _reader(target: Path) -> Any:
    from rosbags.rosbag2 import Reader

    return Reader(target)


def _state(target: Path) -> tuple[tuple[str, int, int], ...]:
    """Names, sizes [B] and times of change [ns] of the files of a recording."""
    files = sorted(target.iterdir()) if target.is_dir() else [target]
    return tuple((file.name, (stat := file.stat()).st_size, stat.st_mtime_ns) for file in files)


def _read_summary(path: Path, target: Path) -> tuple[tuple[Topic, ...], tuple[int, int]]:
    """Topics, and log times [ns] of the first and the last message; read once as long as the files stay as they are."""
    with _damage(path):
        return _read_state(path, target, _state(target))


@lru_cache(_REMEMBERED)
def _read_state(path: Path, target: Path, _state: object) -> tuple[tuple[Topic, ...], tuple[int, int]]:
    with _reader(target) as reader:
        topics = (
            Topic(c.topic, c.msgtype, c.msgcount, c.msgdef.data, _encoding(c.msgdef.format.name))
            for c in reader.connections
        )
        return _merge(topics, path), (reader.start_time, reader.end_time)


class _Rosbag2PyStorage:
    """Storage read by rosbag2's own Python bindings."""

    def __init__(self, path: Path, target: Path) -> None:
        self._path = path
        self._target = target
        self._module = importlib.import_module("rosbag2_py")
        with _damage(path):
            reader = self._reader()
            definitions = _definitions(reader)
            topics = (
                Topic(
                    entry.topic_metadata.name,
                    entry.topic_metadata.type,
                    entry.message_count,
                    *definitions.get(entry.topic_metadata.type, ("", "")),
                )
                for entry in reader.get_metadata().topics_with_message_count
            )
            self._topics = _merge(topics, path)

    def topics(self) -> tuple[Topic, ...]:
        return self._topics

    def span(self) -> tuple[int, int]:
        with _damage(self._path):
            metadata = self._reader().get_metadata()
            start = int(metadata.starting_time.nanoseconds)
            return start, start + int(metadata.duration.nanoseconds)

    def messages(self, topic: str) -> Iterator[tuple[int, bytes]]:
        with _damage(self._path):
            reader = self._reader()
            reader.set_filter(self._module.StorageFilter(topics=[topic]))
            while reader.has_next():
                _, data, stamp = reader.read_next()[:3]
                yield stamp, _decompress(bytes(data))

    def _reader(self) -> Any:
        reader = self._module.SequentialReader()
        storage_id = STORAGE_SUFFIXES.get(self._target.suffix, "") if self._target.is_file() else ""
        reader.open(
            self._module.StorageOptions(uri=str(self._target), storage_id=storage_id),
            self._module.ConverterOptions(input_serialization_format="cdr", output_serialization_format="cdr"),
        )
        return reader


def _decompress(data: bytes) -> bytes:
    """A message that was compressed by itself as it was before: single files do not say so, their metadata.yaml did."""
    if data[:4] != _ZSTD:
        return data
    try:
        zstd = importlib.import_module("compression.zstd")  # Python 3.14
    except ImportError:
        zstd = importlib.import_module("backports.zstd")
    return bytes(zstd.decompress(data))


def _definitions(reader: Any) -> dict[str, tuple[str, str]]:
    """Definition and encoding by type; empty with releases of rosbag2_py that do not hand them out."""
    if not hasattr(reader, "get_all_message_definitions"):
        return {}
    return {
        item.topic_type: (item.encoded_message_definition, item.encoding)
        for item in reader.get_all_message_definitions()
    }


def _encoding(name: str) -> str:
    return {"MSG": "ros2msg", "IDL": "ros2idl"}.get(name, "")


def _merge(topics: Iterator[Topic], path: Path) -> tuple[Topic, ...]:
    """One entry a topic: several publishers may have been recorded as several connections."""
    merged: dict[str, Topic] = {}
    for topic in topics:
        if topic.count < 0:
            raise LogError(f"damaged: topic '{topic.name}' is said to have {topic.count} messages", source=str(path))
        known = merged.get(topic.name)
        if known is None:
            merged[topic.name] = topic
        elif known.type != topic.type:
            types = f"{known.type} and {topic.type}"
            raise LogError(f"topic '{topic.name}' is recorded with two types, {types}", source=str(path))
        else:
            merged[topic.name] = Topic(
                known.name, known.type, known.count + topic.count, known.definition or topic.definition,
                known.encoding or topic.encoding,
            )  # fmt: skip
    return tuple(merged.values())
