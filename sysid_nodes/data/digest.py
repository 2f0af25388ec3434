# SPDX-License-Identifier: Apache-2.0
"""A digest of values on which two processes have to agree bit by bit."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

LENGTH = 16
"""Hexadecimal digits kept: enough against accidental collisions; this is no protection against an attacker."""


def digest(*values: Any) -> str:
    """LENGTH hexadecimal digits of SHA-256 over values, each with its type and size, floats bit by bit.

    Args:
        values: text, bytes, truth values, integers, floats, NumPy arrays, and sequences, mappings and dataclasses of
            them. Floats and arrays of floats count as float64; the order of a mapping's keys does not count.

    Raises:
        TypeError: something else is among them.
    """
    state = hashlib.sha256()
    for value in values:
        add_to(state, value)
    return state.hexdigest()[:LENGTH]


def add_to(state: Any, value: Any) -> None:
    """Feeds a value as `digest` takes them to a hash; values that differ feed different bytes.

    Args:
        state: anything with hashlib's `update`.
        value: what it is fed.

    Raises:
        TypeError: it is, or holds, something else.
    """
    if isinstance(value, str):
        value = value.encode()
        state.update(b"s%d:" % len(value) + value)
    elif isinstance(value, bytes):
        state.update(b"y%d:" % len(value) + value)
    elif isinstance(value, (bool, np.bool_)):
        state.update(b"b1" if value else b"b0")
    elif isinstance(value, (int, np.integer)):
        state.update(b"i%d;" % int(value))
    elif isinstance(value, (float, np.floating)):
        state.update(b"f" + np.float64(value).astype("<f8").tobytes())
    elif isinstance(value, np.ndarray):
        kind = "<f8" if value.dtype.kind == "f" else "<i8"
        state.update(f"a{kind}{value.shape}:".encode() + np.ascontiguousarray(value, dtype=kind).tobytes())
    elif isinstance(value, Mapping):
        add_to(state, [item for key in sorted(value) for item in (key, value[key])])
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        add_to(state, {item.name: getattr(value, item.name) for item in dataclasses.fields(value)})
    elif isinstance(value, Sequence):
        state.update(b"l%d:" % len(value))
        for item in value:
            add_to(state, item)
    else:
        raise TypeError(f"no digest of type {type(value).__name__}")
