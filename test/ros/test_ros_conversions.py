# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("rclpy", reason="rclpy is not installed")

from builtin_interfaces.msg import Time

from sysid_nodes.ros.conversions import to_seconds, to_stamp


@given(sec=st.integers(0, 2**31 - 1), nanosec=st.integers(0, 10**9 - 1))
def test_a_stamp_survives_seconds_as_well_as_a_double_can_hold_it(sec: int, nanosec: int) -> None:
    back = to_stamp(to_seconds(Time(sec=sec, nanosec=nanosec)))
    error = (back.sec - sec) * 10**9 + back.nanosec - nanosec
    # half a unit in the last place of 2**31 s is 0.24 us; one more for the sum inside
    assert abs(error) <= 480


def test_rounding_up_to_a_whole_second_carries() -> None:
    assert to_stamp(1.9999999999) == Time(sec=2, nanosec=0)
