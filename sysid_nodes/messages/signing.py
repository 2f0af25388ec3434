# SPDX-License-Identifier: Apache-2.0
"""Keyed digests of messages: whoever lacks the key can neither make one, nor change a message, nor send it again.

The digest (HMAC-SHA256, RFC 2104) is over the topic's name, the message's type and every field but the digest itself;
the signer's name, his count and his clock are among them. A message sent on another topic, or as another type, does not
fit. Time is an argument, in nanoseconds since the epoch; messages are objects with `get_fields_and_field_types`, as
rosidl makes them.
"""

from __future__ import annotations

import hmac
from array import array
from enum import Enum
from typing import Any

import numpy as np

from sysid_nodes.data.digest import add_to
from sysid_nodes.data.nanoseconds import SECOND

SIGNATURE = "online_sysid/Signature"


class Doubt(Enum):
    """Reasons not to obey a message; values are sentences for people."""

    NONE = "nothing is wrong"
    UNSIGNED = "it carries no signature"
    FORGED = "its signature is of another key, or it was changed after it was signed"
    OUTDATED = "it was signed too long ago, or by a clock that is ahead"
    REPLAYED = "it is no newer than what the same signer has sent before"


class Signer:
    """Signs messages.

    Args:
        key: shared with those who check.
        name: of the signer.
    """

    def __init__(self, key: bytes, name: str) -> None:
        self._key, self._name = key, name
        self._sequence = self._time = 0

    def sign(self, message: Any, topic: str, now: int) -> None:
        """Fills in the message's signature.

        Args:
            message: complete but for that.
            topic: full name of the topic or service it goes to.
            now: the present [ns]; a clock that was put back does not count.
        """
        self._sequence, self._time = self._sequence + 1, max(now, self._time)
        signature = message.signature
        signature.signer, signature.sequence = self._name, self._sequence
        signature.time.sec, signature.time.nanosec = divmod(self._time, SECOND)
        signature.digest = array("B", keyed_digest(self._key, message, topic))


class Inspector:
    """Checks signatures and remembers what was seen, so that nothing counts twice.

    Args:
        key: shared with those who sign.
        max_age: largest difference of the signer's time and the present [s].
    """

    def __init__(self, key: bytes, max_age: float) -> None:
        self._key, self._max_age = key, round(max_age * SECOND)
        self._newest: dict[tuple[str, str], tuple[int, int]] = {}

    def judge(self, message: Any, topic: str, now: int) -> Doubt:
        """NONE, once, for a message of whoever holds the key; else what is wrong with it.

        Args:
            topic: full name of the topic or service it came by.
            now: the present [ns].
        """
        signature = message.signature
        if not len(signature.digest):
            return Doubt.UNSIGNED
        if not hmac.compare_digest(bytes(signature.digest), keyed_digest(self._key, message, topic)):
            return Doubt.FORGED
        time = signature.time.sec * SECOND + signature.time.nanosec
        if abs(now - time) > self._max_age:
            return Doubt.OUTDATED
        # Only names that the key vouches for come this far, so that nobody can fill the memory.
        place, stamp = (topic, signature.signer), (time, signature.sequence)
        if stamp <= self._newest.get(place, (0, 0)):
            return Doubt.REPLAYED
        self._newest[place] = stamp
        return Doubt.NONE


def keyed_digest(key: bytes, message: Any, topic: str) -> bytes:
    """The digest that a message's signature must hold on a topic."""
    state = hmac.new(key, digestmod="sha256")
    add_to(state, [topic, type(message).__name__, _content(message)])
    return state.digest()


def _content(message: Any) -> list[Any]:
    """Names and values of all fields, in their order; of the signature all but the digest."""
    found: list[Any] = []
    for name, kind in message.get_fields_and_field_types().items():
        value = getattr(message, name)
        if kind == SIGNATURE:
            value = [value.signer, value.sequence, value.time.sec, value.time.nanosec]
        found += [name, _plain(value)]
    return found


def _plain(value: Any) -> Any:
    if hasattr(value, "get_fields_and_field_types"):
        return _content(value)
    if isinstance(value, array):
        return np.asarray(value)
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
