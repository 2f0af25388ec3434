# SPDX-License-Identifier: Apache-2.0
"""Message types outside ROS: decode recorded messages, build and encode new ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore

from sysid_nodes.data.packaged import packaged_file
from sysid_nodes.exceptions import LogError, SamplesError
from sysid_nodes.logs.storage import Topic

OWN_PACKAGE = "online_sysid"

_IDL_SEPARATOR = "=" * 80 + "\n"

_STORES = 64
"""Type stores that are kept: making one compiles the code that decodes its messages."""


def typestore_for(topic: Topic, source: str) -> Any:
    """A type store that decodes a topic: by the recording's definition, else by the standard ones of ROS 2 Jazzy.

    Raises:
        LogError: the recording's definition does not parse, or it has none and the type is not a standard one.
    """
    if not topic.definition:
        standard = _standard_store()
        if topic.type in standard.fielddefs:
            return standard
        raise LogError(f"has no definition of the type {topic.type} of topic '{topic.name}'", source=source)
    try:
        return _recorded_store(topic.type, topic.definition, topic.encoding)
    except Exception as error:  # the parser's errors have no common base, and the text is untrusted
        reason = " ".join(str(error).split())
        raise LogError(f"the definition of {topic.type} does not parse ({reason})", source=source) from None


def standard_decoder(type_name: str) -> Callable[[bytes], Any]:
    """Decodes live messages of a standard type of ROS 2 Jazzy as it does recorded ones, for a third of rclpy's time.

    The function raises SamplesError where bytes are no such message.
    """
    store = _standard_store()
    store.get_msgdef(type_name)  # compiled now, not with the first message

    def decode(data: bytes) -> Any:
        try:
            return store.deserialize_cdr(data, type_name)
        except Exception:  # see TopicLog
            raise SamplesError("the message is damaged") from None

    return decode


@cache
def _standard_store() -> Any:
    return get_typestore(Stores.ROS2_JAZZY)


@lru_cache(_STORES)
def _recorded_store(type_name: str, definition: str, encoding: str) -> Any:
    store = get_typestore(Stores.EMPTY)
    store.register(_types_from_idl(definition) if encoding == "ros2idl" else get_types_from_msg(definition, type_name))
    store.get_msgdef(type_name)
    return store


def _types_from_idl(text: str) -> Any:
    if not text.startswith(_IDL_SEPARATOR):
        return get_types_from_idl(text)
    types: dict[str, Any] = {}
    for part in text.split(_IDL_SEPARATOR)[1:]:
        types |= get_types_from_idl(part.split("\n", 1)[1])
    return types


def own_definition(name: str) -> str:
    """Text of one of this package's own messages, `ParameterBounds` for instance.

    Raises:
        LogError: it is not found.
    """
    if (file := packaged_file(f"msg/{name}.msg")) is not None:
        return file.read_text(encoding="utf-8")
    raise LogError(f"the definition of {OWN_PACKAGE}/msg/{name} is neither installed nor in the source tree")


@cache
def own_definitions(name: str) -> Mapping[str, str]:
    """Text of one of this package's own messages and of those it is made of, by full name.

    Raises:
        LogError: one of them is not found.
    """
    full = f"{OWN_PACKAGE}/msg/{name}"
    found, wanted = {}, [full]
    while wanted:
        full = wanted.pop()
        if full not in found:
            found[full] = own_definition(full.split("/")[-1])
            _, parts = get_types_from_msg(found[full], full)[full]
            wanted += [part for _, kind in parts if (part := _message_name(kind)).startswith(f"{OWN_PACKAGE}/")]
    return found


def _message_name(kind: tuple[Any, Any]) -> str:
    """Full name of the message that a field, or an element of it, is; empty for anything else."""
    node, detail = kind
    if node in (Nodetype.ARRAY, Nodetype.SEQUENCE):
        node, detail = detail[0]
    return str(detail) if node == Nodetype.NAME else ""


def writing_typestore(definitions: Mapping[str, str]) -> Any:
    """Standard types of ROS 2 Jazzy plus custom ones given as .msg text by full name; the same for the same ones.

    Raises:
        LogError: a definition does not parse.
    """
    return _writing_store(tuple(definitions.items()))


@lru_cache(_STORES)
def _writing_store(definitions: tuple[tuple[str, str], ...]) -> Any:
    store = get_typestore(Stores.ROS2_JAZZY)
    for name, text in definitions:
        try:
            store.register(get_types_from_msg(text, name))
        except Exception as error:  # see typestore_for
            reason = " ".join(str(error).split())
            raise LogError(f"the definition of {name} does not parse ({reason})") from None
    return store


def build(store: Any, type_name: str, fields: Mapping[str, Any]) -> Any:
    """A message of a type from nested plain values; what is absent is zero, as in ROS.

    Raises:
        LogError: the type is unknown, a field does not exist or an array has the wrong length.
    """
    if type_name not in store.fielddefs:
        raise LogError(f"unknown message type {type_name}")
    definition = store.fielddefs[type_name][1]
    if unknown := sorted(set(fields) - {name for name, _ in definition}):
        raise LogError(f"{type_name} has no field '{unknown[0]}'")
    values = {name: _value(store, f"{type_name}.{name}", kind, fields.get(name)) for name, kind in definition}
    return store.types[type_name](**values)


def _value(store: Any, where: str, kind: tuple[Any, Any], value: Any) -> Any:
    node, detail = kind
    if node == Nodetype.NAME:
        return build(store, detail, value or {})
    if node == Nodetype.BASE:
        return _base(detail[0], value)
    element, length = detail
    if value is None:
        value = [None] * length if node == Nodetype.ARRAY else []
    if node == Nodetype.ARRAY and len(value) != length:
        raise LogError(f"{where} needs {length} values, got {len(value)}")
    return _array(store, element, value)


def _array(store: Any, element: tuple[Any, Any], value: Sequence[Any]) -> Any:
    node, detail = element
    if node == Nodetype.NAME:
        return [build(store, detail, item or {}) for item in value]
    name = detail[0]
    items = [_base(name, item) for item in value]
    if name in ("string", "wstring"):
        return items
    return np.array(items, dtype={"byte": "uint8", "char": "uint8"}.get(name, name))


def _base(name: str, value: Any) -> Any:
    if name in ("string", "wstring"):
        return "" if value is None else str(value)
    if name == "bool":
        return bool(value)
    if name.startswith("float"):
        return float(value or 0.0)
    return int(value or 0)
