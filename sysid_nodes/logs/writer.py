# SPDX-License-Identifier: Apache-2.0
"""Writes rosbag2 recordings that ROS and Foxglove open; nothing is left half-written."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import yaml
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import StoragePlugin, Writer

from sysid_nodes.exceptions import LogError
from sysid_nodes.logs.messages import OWN_PACKAGE, build, own_definitions, writing_typestore
from sysid_nodes.logs.storage import absolute

StorageName = Literal["mcap", "sqlite3"]

_MARK = "written_by"
_FORMAT_VERSION: Literal[8] = 8  # read by every release from Iron on; Humble's MCAP plugin reads the file itself
_UNLIMITED = QosTime(2147483647, 4294967295)
_TAIL = 1 << 20


class BagWriter:
    """Context manager that writes a recording; it appears under its name only when the block ends without an error.

    A path that ends in .mcap makes a single file, any other a rosbag2 folder with metadata.yaml. A file or folder
    at the path is replaced only if it is empty or was written by this class.

    Args:
        path: where to write.
        storage: `mcap` or `sqlite3` (folders only).
        definitions: custom message types, .msg text by full name; this package's own are known already.

    Raises:
        LogError: the path holds something else, cannot be written, or a definition does not parse.
    """

    def __init__(
        self, path: str | Path, *, storage: StorageName = "mcap", definitions: Mapping[str, str] | None = None
    ) -> None:
        self.path = Path(path)
        self._single = self.path.suffix == ".mcap"
        if storage not in ("mcap", "sqlite3") or (self._single and storage != "mcap"):
            raise LogError(f"cannot write storage '{storage}' to this path", source=str(path))
        self._plugin = StoragePlugin.MCAP if storage == "mcap" else StoragePlugin.SQLITE3
        self._store = writing_typestore(definitions or {})
        self._connections: dict[str, Any] = {}
        self._folder: Path | None = None
        self._writer: Writer | None = None
        _check_replaceable(self.path)

    def __enter__(self) -> BagWriter:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._folder = Path(tempfile.mkdtemp(prefix=f".{self.path.name}.", dir=self.path.parent))
            self._writer = Writer(self._folder / self.path.stem, version=_FORMAT_VERSION, storage_plugin=self._plugin)
            self._writer.set_custom_data(_MARK, OWN_PACKAGE)
            self._writer.open()
        except OSError as error:
            self._clean()
            raise LogError(f"cannot be written: {error.strerror}", source=str(self.path)) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._writer is not None
        assert self._folder is not None
        try:
            if error is not None:
                self._writer.abort()
                return
            self._writer.close()
            made = self._folder / self.path.stem
            self._publish(made / f"{self.path.stem}.mcap" if self._single else made)
        except OSError as failure:
            raise LogError(f"cannot be written: {failure.strerror}", source=str(self.path)) from None
        finally:
            self._clean()

    def add_topic(self, topic: str, type_name: str, *, latched: bool = False) -> None:
        """Declares a topic, below the root where its name is relative.

        `latched` records the QoS of a transient local publisher for playback.

        Raises:
            LogError: the type is unknown.
        """
        assert self._writer is not None, "use the writer as a context manager"
        topic, own = absolute(topic), type_name.split("/")
        if own[0] == OWN_PACKAGE and type_name not in self._store.fielddefs:
            self._store.register(writing_typestore(own_definitions(own[-1])).fielddefs)
        if type_name not in self._store.fielddefs:
            raise LogError(f"unknown message type {type_name}", source=str(self.path))
        self._connections[topic] = self._writer.add_connection(
            topic, type_name, typestore=self._store, offered_qos_profiles=[_qos(latched)]
        )

    def write(self, topic: str, stamp: float | int, fields: Mapping[str, Any]) -> None:
        """Writes one message.

        Args:
            topic: a declared topic.
            stamp: log time, seconds as float or nanoseconds as int.
            fields: nested plain values; absent fields are zero.

        Raises:
            LogError: the topic was not declared, a field does not exist or an array has the wrong length.
        """
        assert self._writer is not None, "use the writer as a context manager"
        connection = self._connections.get(absolute(topic))
        if connection is None:
            raise LogError(f"topic '{topic}' was not declared", source=str(self.path))
        message = build(self._store, connection.msgtype, fields)
        nanoseconds = stamp if isinstance(stamp, int) else to_nanoseconds(stamp)
        self._writer.write(connection, nanoseconds, self._store.serialize_cdr(message, connection.msgtype))

    def write_serialized(self, topic: str, stamp: int, data: bytes) -> None:
        """Writes one message as it came over the wire, in CDR.

        Args:
            topic: a declared topic.
            stamp: log time [ns].
            data: the message with its encapsulation header, of the declared type; not looked at.

        Raises:
            LogError: the topic was not declared.
        """
        assert self._writer is not None, "use the writer as a context manager"
        connection = self._connections.get(absolute(topic))
        if connection is None:
            raise LogError(f"topic '{topic}' was not declared", source=str(self.path))
        self._writer.write(connection, stamp, data)

    def _publish(self, made: Path) -> None:
        assert self._folder is not None
        _check_replaceable(self.path)
        if self.path.is_dir():
            # a folder cannot be replaced in one step; the old one goes only once the new one is complete
            self.path.rename(self._folder / "replaced")
        made.replace(self.path)

    def _clean(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def to_nanoseconds(seconds: float) -> int:
    """Nearest nanosecond of a time in seconds."""
    return round(seconds * 1e9)


def stamp_fields(seconds: float) -> dict[str, int]:
    """Fields of a builtin_interfaces/Time."""
    sec, nanosec = divmod(to_nanoseconds(seconds), 1_000_000_000)
    return {"sec": sec, "nanosec": nanosec}


def _qos(latched: bool) -> Qos:
    return Qos(
        QosHistory.KEEP_LAST, 1 if latched else 10, QosReliability.RELIABLE,
        QosDurability.TRANSIENT_LOCAL if latched else QosDurability.VOLATILE,
        _UNLIMITED, _UNLIMITED, QosLiveliness.AUTOMATIC, _UNLIMITED, False,
    )  # fmt: skip


def _check_replaceable(path: Path) -> None:
    if not path.exists() and not path.is_symlink():
        return
    if path.is_dir() and not path.is_symlink():
        if not any(path.iterdir()) or _is_own_folder(path):
            return
    elif path.is_file() and (path.stat().st_size == 0 or _is_own_file(path)):
        return
    raise LogError("exists and was not written by this tool; it is left as it is", source=str(path))


def _is_own_folder(path: Path) -> bool:
    try:
        tree = yaml.safe_load((path / "metadata.yaml").read_text(encoding="utf-8"))
        return bool(tree["rosbag2_bagfile_information"]["custom_data"][_MARK] == OWN_PACKAGE)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError):
        return False


def _is_own_file(path: Path) -> bool:
    """Whether an MCAP file ends with this tool's mark, which rosbag2's metadata record holds as plain text."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        return f"{_MARK}: {OWN_PACKAGE}".encode() in file.read()
