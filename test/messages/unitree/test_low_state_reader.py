# SPDX-License-Identifier: Apache-2.0
"""LowState messages in a row: checksums against the vendor's own code, and a counter that stands still."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.messages.unitree.low_state_crc import low_state_crc
from sysid_nodes.messages.unitree.low_state_reader import LowStateReader
from sysid_nodes.robots import load_robot

IMU = {"quaternion": "4f", "gyroscope": "3f", "accelerometer": "3f", "rpy": "3f", "temperature": "1i"}
GO_MOTOR = {
    **dict.fromkeys(("mode",), "1i"),
    **dict.fromkeys(("q", "dq", "ddq", "tau_est", "q_raw", "dq_raw", "ddq_raw"), "1f"),
    "temperature": "1i",
    "lost": "1i",
    "reserve": "2i",
}
GO_BATTERY = {
    **dict.fromkeys(("version_high", "version_low", "status", "soc", "current", "cycle"), "1i"),
    "bq_ntc": "2i",
    "mcu_ntc": "2i",
    "cell_vol": "15i",
}
GO = {
    "head": "2i",
    "level_flag": "1i",
    "frame_reserve": "1i",
    "sn": "2i",
    "version": "2i",
    "bandwidth": "1i",
    "imu_state": (1, IMU),
    "motor_state": (20, GO_MOTOR),
    "bms_state": (1, GO_BATTERY),
    "foot_force": "4i",
    "foot_force_est": "4i",
    "tick": "1i",
    "wireless_remote": "40i",
    "bit_flag": "1i",
    "adc_reel": "1f",
    "temperature_ntc1": "1i",
    "temperature_ntc2": "1i",
    "power_v": "1f",
    "power_a": "1f",
    "fan_frequency": "4i",
    "reserve": "1i",
}
HG_MOTOR = {
    "mode": "1i",
    "q": "1f",
    "dq": "1f",
    "ddq": "1f",
    "tau_est": "1f",
    "temperature": "2i",
    "vol": "1f",
    "sensor": "2i",
    "motorstate": "1i",
    "reserve": "4i",
}
HG = {
    "version": "2i",
    "mode_pr": "1i",
    "mode_machine": "1i",
    "tick": "1i",
    "imu_state": (1, IMU),
    "motor_state": (35, HG_MOTOR),
    "wireless_remote": "40i",
    "reserve": "4i",
}
"""Fields of the vendor's messages: how many of which kind, or of which message."""


def filled(layout: Mapping[str, Any], count: Iterator[int]) -> SimpleNamespace:
    """Another number in every field."""
    made = {}
    for name, kind in layout.items():
        if isinstance(kind, tuple):
            parts = [filled(kind[1], count) for _ in range(kind[0])]
        else:
            drawn = itertools.islice(count, int(kind[:-1]))
            parts = [0.25 * k - 20.0 if kind[-1] == "f" else (7 * k + 3) % 100 for k in drawn]
        made[name] = parts if len(parts) > 1 else parts[0]
    return SimpleNamespace(**made)


@pytest.mark.parametrize(("layout", "crc"), [(GO, 0x267E4391), (HG, 0x672DA405)])
def test_the_checksum_is_that_of_the_vendor_s_own_code(layout: Mapping[str, Any], crc: int) -> None:
    """The numbers are those of unitree_sdk2_python's crc.py for the same messages."""
    message = filled(layout, itertools.count())
    assert low_state_crc(message) == crc
    message.motor_state[7].dq += 1.0
    assert low_state_crc(message) != crc


def low_state(tick: int, crc: int | None = None) -> SimpleNamespace:
    message = filled(GO, itertools.count())
    message.tick = tick
    message.crc = low_state_crc(message) if crc is None else crc
    return message


def test_one_wrong_checksum_after_right_ones_is_damage() -> None:
    read = LowStateReader(load_robot("go2"))
    assert read(low_state(2), 50.0).stamp == 50.0
    for damaged in (low_state(4, crc=7), low_state(4, crc=0)):
        with pytest.raises(SamplesError, match="LowState has a wrong checksum"):
            read(damaged, 50.002)
    assert read(low_state(6), 50.004).stamp == pytest.approx(50.004)


@pytest.mark.parametrize("crc", [0, 7])
def test_who_never_states_a_right_one_is_believed(crc: int) -> None:
    read = LowStateReader(load_robot("go2"))
    for tick in (2, 4):
        read(low_state(tick, crc=crc), 50.0 + 1e-3 * tick)


def test_fields_that_are_missing_leave_it_unchecked() -> None:
    message = low_state(2, crc=7)
    del message.bms_state
    assert low_state_crc(message) is None
    message.motor_state = message.motor_state[:12]
    assert low_state_crc(message) is None


def test_a_counter_that_stands_still_is_named() -> None:
    read = LowStateReader(load_robot("go2"))
    for arrival in (50.0, 50.3):
        read(low_state(0, crc=0), arrival)
    with pytest.raises(SamplesError, match="tick stands still: nothing tells when it was sent"):
        read(low_state(0, crc=0), 50.6)
    assert read(low_state(600, crc=0), 50.61).stamp == pytest.approx(50.6, abs=0.02)
