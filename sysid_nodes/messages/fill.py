# SPDX-License-Identifier: Apache-2.0
"""Messages from the nested plain values that logs are written from: a live topic and a log then hold the same."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")

_ITEM = re.compile(r"^(?:sequence<(?P<of>[^,>]+)(?:, *\d+)?>|(?P<fixed>[^\[\]]+)\[\d+\])$")


def to_message(kind: Callable[[], T], fields: Mapping[str, Any]) -> T:
    """A message of a type; absent fields keep their defaults.

    Raises:
        AttributeError: the type has no such field.
    """
    message = kind()
    _fill(message, kind, fields)
    return message


def _fill(message: Any, kind: Any, fields: Mapping[str, Any]) -> None:
    """Sets fields of a new message, whose own messages it has made already."""
    types = _types(kind)
    for name, value in fields.items():
        nested = types.get(name)
        if nested is None or value is None:
            setattr(message, name, value)
        elif isinstance(value, Mapping):
            _fill(getattr(message, name), nested, value)
        else:
            setattr(message, name, [to_message(nested, item) for item in value])


@cache
def _types(kind: Any) -> dict[str, Any]:
    """Message types of the fields that are messages or lists of messages."""
    found = {}
    for name, text in kind.get_fields_and_field_types().items():
        match = _ITEM.match(text)
        inner = (match["of"] or match["fixed"]) if match else text
        if "/" in inner:
            package, short = inner.split("/")
            found[name] = getattr(importlib.import_module(f"{package}.msg"), short)
    return found
