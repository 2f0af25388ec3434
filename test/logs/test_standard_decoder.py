# SPDX-License-Identifier: Apache-2.0
"""Live messages decoded as recorded ones are."""

from __future__ import annotations

import pytest

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.logs.messages import build, standard_decoder, writing_typestore

POSE = "geometry_msgs/msg/PoseStamped"
FIELDS = {"header": {"stamp": {"sec": 3, "nanosec": 5}, "frame_id": "world"}, "pose": {"position": {"x": 1.5}}}


def sent() -> bytes:
    store = writing_typestore({})
    return bytes(store.serialize_cdr(build(store, POSE, FIELDS), POSE))


def test_a_message_has_the_fields_that_were_sent() -> None:
    message = standard_decoder(POSE)(sent())
    assert (message.header.stamp.sec, message.header.stamp.nanosec, message.header.frame_id) == (3, 5, "world")
    assert message.pose.position.x == 1.5


@pytest.mark.parametrize("cut", [0, 3, 20, -9])
def test_damaged_bytes_are_no_message_and_no_crash(cut: int) -> None:
    with pytest.raises(SamplesError, match="the message is damaged"):
        standard_decoder(POSE)(sent()[:cut])
