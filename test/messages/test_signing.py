# SPDX-License-Identifier: Apache-2.0
"""Signatures on stand-ins that have rosidl's interface; real messages over DDS are in test/ros."""

from __future__ import annotations

import copy
import hmac
from array import array
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sysid_nodes.messages.signing import SIGNATURE, Doubt, Inspector, Signer, keyed_digest

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
NOW, BILLION = 1_700_000_000_000_000_000, 1_000_000_000
TOPIC = "/certified_trajectory"


class Message:
    """Names, numbers, arrays, a list of messages, and a signature."""

    def __init__(self, **fields: Any) -> None:
        self.name, self.number, self.count, self.last = "one", 0.5, 3, True
        self.numbers, self.fixed = array("d", [1.0, -0.0]), np.array([1.0, 2.0])
        self.words, self.parts = ["a", "bc"], [Part("x"), Part("y")]
        self.signature = SimpleNamespace(
            signer="", sequence=0, time=SimpleNamespace(sec=0, nanosec=0), digest=array("B")
        )
        for name, value in fields.items():
            setattr(self, name, value)

    @staticmethod
    def get_fields_and_field_types() -> dict[str, str]:
        names = ("name", "number", "count", "last", "numbers", "fixed", "words", "parts")
        return {**dict.fromkeys(names, "any"), "signature": SIGNATURE}


class Part:
    def __init__(self, text: str) -> None:
        self.text = text

    @staticmethod
    def get_fields_and_field_types() -> dict[str, str]:
        return {"text": "string"}


class Lookalike(Message):
    """Another type of the same content."""


def signed(now: int = NOW, topic: str = TOPIC, key: bytes = KEY, **fields: Any) -> Message:
    message = Message(**fields)
    Signer(key, "/certified_planner").sign(message, topic, now)
    return message


def judged(message: Any, now: int = NOW, topic: str = TOPIC) -> Doubt:
    return Inspector(KEY, 10.0).judge(message, topic, now)


def test_who_has_the_key_is_obeyed_once() -> None:
    inspector, message = Inspector(KEY, 10.0), signed()
    assert inspector.judge(message, TOPIC, NOW) is Doubt.NONE
    assert inspector.judge(message, TOPIC, NOW) is Doubt.REPLAYED


def test_what_is_unsigned_or_of_another_key_is_not() -> None:
    assert judged(Message()) is Doubt.UNSIGNED
    assert judged(signed(key=OTHER)) is Doubt.FORGED


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", "two"),
        ("number", np.nextafter(0.5, 1.0)),
        ("count", 4),
        ("last", False),
        ("numbers", array("d", [1.0, 0.0])),
        ("numbers", array("d", [1.0])),
        ("fixed", np.array([2.0, 1.0])),
        ("words", ["ab", "c"]),
        ("parts", [Part("y"), Part("x")]),
        ("parts", [Part("x")]),
    ],
)
def test_every_field_is_covered(name: str, value: Any) -> None:
    message = signed()
    setattr(message, name, value)
    assert judged(message) is Doubt.FORGED


def test_so_are_signer_count_time_topic_and_type() -> None:
    for name, value in (("signer", "/somebody"), ("sequence", 2)):
        message = signed()
        setattr(message.signature, name, value)
        assert judged(message) is Doubt.FORGED
    message = signed()
    message.signature.time.nanosec += 1
    assert judged(message) is Doubt.FORGED
    assert judged(signed(), topic="/obstacles") is Doubt.FORGED
    other = Lookalike()
    other.signature = signed().signature
    assert judged(other) is Doubt.FORGED


@pytest.mark.parametrize("length", [1, 31, 33])
def test_a_digest_of_another_length_is_forged(length: int) -> None:
    message = signed()
    message.signature.digest = array("B", (bytes(message.signature.digest) + b"x")[:length])
    assert judged(message) is Doubt.FORGED


def test_a_signature_holds_for_so_long_by_either_clock() -> None:
    limit = 10 * BILLION
    assert judged(signed(), now=NOW + limit) is Doubt.NONE
    assert judged(signed(), now=NOW - limit) is Doubt.NONE
    assert judged(signed(), now=NOW + limit + 1) is Doubt.OUTDATED
    assert judged(signed(), now=NOW - limit - 1) is Doubt.OUTDATED


def test_order_is_kept_for_each_signer_and_topic_also_over_a_restart() -> None:
    inspector, signer = Inspector(KEY, 10.0), Signer(KEY, "/one")
    first, second = Message(), Message()
    signer.sign(first, TOPIC, NOW)
    signer.sign(second, TOPIC, NOW)  # the clock stands still
    assert inspector.judge(copy.deepcopy(second), TOPIC, NOW) is Doubt.NONE
    assert inspector.judge(first, TOPIC, NOW) is Doubt.REPLAYED
    again = Message()
    Signer(KEY, "/one").sign(again, TOPIC, NOW + 1)
    assert inspector.judge(again, TOPIC, NOW + 1) is Doubt.NONE
    elsewhere = Message()
    Signer(KEY, "/one").sign(elsewhere, "/obstacles", NOW)
    assert inspector.judge(elsewhere, "/obstacles", NOW) is Doubt.NONE
    other = Message()
    Signer(KEY, "/two").sign(other, TOPIC, NOW)
    assert inspector.judge(other, TOPIC, NOW) is Doubt.NONE


def test_a_clock_that_is_put_back_does_not_silence_a_signer() -> None:
    inspector, signer = Inspector(KEY, 10.0), Signer(KEY, "/one")
    for now in (NOW, NOW - BILLION):
        message = Message()
        signer.sign(message, TOPIC, now)
        assert inspector.judge(message, TOPIC, NOW) is Doubt.NONE


def test_the_digest_is_hmac_sha256() -> None:
    message = signed()
    assert len(message.signature.digest) == 32
    assert hmac.compare_digest(bytes(message.signature.digest), keyed_digest(KEY, message, TOPIC))
    assert keyed_digest(KEY, message, TOPIC) != keyed_digest(OTHER, message, TOPIC)
