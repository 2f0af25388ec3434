# SPDX-License-Identifier: Apache-2.0
"""Leaving DDS: the wheels' Fast DDS, which would wait for ever, is told how long."""

from __future__ import annotations

import pytest
from shared import children

from sysid_nodes.messages.finite_wait import LIBRARY

pytestmark = [
    pytest.mark.ros,
    pytest.mark.skipif(not LIBRARY.is_file(), reason="built for the ROS wheels only: make setup builds it"),
]

_LEAVES = """
import ctypes, gc
from sysid_nodes.messages.finite_wait import LIBRARY
from sysid_nodes.ros.spinning import start
import rclpy
start([])
node = rclpy.create_node("leaving")
calls = ctypes.c_int.in_dll(ctypes.CDLL(str(LIBRARY)), "sysid_finite_waits")
before = calls.value
node.destroy_node()
rclpy.shutdown()
del node
gc.collect()  # the participant goes with the last reference
print(before, calls.value)
"""


def test_a_participant_that_ends_is_told_how_long_to_wait() -> None:
    """Without, one in a few hundred hangs beside processes that come and go."""
    status, out, errors = children.run("-c", _LEAVES)
    assert status == 0, errors
    before, after = map(int, out.split())
    assert before == 0 < after
