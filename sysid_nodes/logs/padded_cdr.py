"""Decodes messages whose writer has aligned the elements of empty sequences.

After the length of a sequence comes the alignment of its elements. Whether it comes where there are no elements is told
apart by nobody's header: Fast DDS aligns for what C and Python nodes publish, and does not for C++ nodes; `rosbags` reads
the latter. The former shows as a length that does not fit, and is read here.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype

_FORMATS = {
    "bool": "?", "byte": "B", "char": "B", "octet": "B", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H",
    "int32": "i", "uint32": "I", "int64": "q", "uint64": "Q", "float32": "f", "float64": "d",
}  # fmt: skip
_HEADER = 4
_SPARE = 3


def decode_padded(store: Any, data: bytes, type_name: str) -> Any:
    """A message of a type store's type.

    Raises:
        ValueError: the bytes are no such message, to the last of them.
    """
    decoder = _Decoder(store, data)
    message = decoder.message(type_name)
    if not len(data) - _SPARE <= decoder.position + _HEADER <= len(data):
        raise ValueError("the message's length does not fit")
    return message


class _Decoder:
    def __init__(self, store: Any, data: bytes) -> None:
        if len(data) < _HEADER or bytes(data[:2]) not in (b"\x00\x00", b"\x00\x01"):
            raise ValueError("unknown encapsulation")
        self._store, self._data = store, bytes(data[_HEADER:])
        self._order = "<" if data[1] else ">"
        self.position = 0

    def message(self, type_name: str) -> Any:
        _, fields = self._store.fielddefs[type_name]
        values = {name: self._value(kind) for name, kind in fields}
        return self._store.types[type_name](**values)

    def _value(self, kind: tuple[Any, Any]) -> Any:
        node, detail = kind
        if node == Nodetype.NAME:
            return self.message(detail)
        if node == Nodetype.BASE:
            return self._base(detail[0])
        element, length = detail
        return self._items(element, self._number("I") if node == Nodetype.SEQUENCE else int(length))

    def _items(self, element: tuple[Any, Any], count: int) -> Any:
        node, detail = element
        if count > len(self._data):
            raise ValueError("more elements than bytes")
        if node == Nodetype.NAME:
            return [self.message(detail) for _ in range(count)]
        name = detail[0]
        if name in ("string", "wstring"):
            return [self._base(name) for _ in range(count)]
        code = _FORMATS[name]
        self._align(struct.calcsize(code))
        values = struct.unpack(f"{self._order}{count}{code}", self._take(count * struct.calcsize(code)))
        return np.array(values, dtype={"byte": "uint8", "char": "uint8", "octet": "uint8"}.get(name, name))

    def _base(self, name: str) -> Any:
        if name == "wstring":
            raise ValueError("wide strings are not read")
        if name == "string":
            return self._take(self._number("I"))[:-1].decode()
        return self._number(_FORMATS[name])

    def _number(self, code: str) -> Any:
        size = struct.calcsize(code)
        self._align(size)
        return struct.unpack(f"{self._order}{code}", self._take(size))[0]

    def _align(self, size: int) -> None:
        self.position += -self.position % size

    def _take(self, size: int) -> bytes:
        begin, self.position = self.position, self.position + size
        if self.position > len(self._data):
            raise ValueError("the message ends too early")
        return self._data[begin : self.position]
