# SPDX-License-Identifier: Apache-2.0
"""The checksum in Unitree's LowState: CRC-32/MPEG-2 over the words of the robot's C struct, but for its own.

That is zlib's CRC with all bits in the other order. The structs are those of the vendor's unitree_go and unitree_hg.
"""

from __future__ import annotations

import struct
import zlib
from array import array
from collections.abc import Callable
from operator import attrgetter
from typing import Any

_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))

_Getters = tuple[Callable[[Any], Any], dict[str, Any]]


def _getters(fields: str, **nested: str) -> _Getters:
    return attrgetter(*fields.split()), {x: _getters(nested[x]) if x in nested else None for x in fields.split()}


_IMU = "quaternion gyroscope accelerometer rpy temperature"
_GO_MOTOR = "mode q dq ddq tau_est q_raw dq_raw ddq_raw temperature lost reserve"
_GO_BATTERY = "version_high version_low status soc current cycle bq_ntc mcu_ntc cell_vol"
_HG_MOTOR = "mode q dq ddq tau_est temperature vol sensor motorstate reserve"
_GO_FIELDS = (
    "head level_flag frame_reserve sn version bandwidth imu_state motor_state bms_state foot_force foot_force_est tick"
    " wireless_remote bit_flag adc_reel temperature_ntc1 temperature_ntc2 power_v power_a fan_frequency reserve"
)
_HG_FIELDS = "version mode_pr mode_machine tick imu_state motor_state wireless_remote reserve"
_LAYOUTS = {
    20: (
        struct.Struct("<4B4IH2x" + "13fb3x" + "B3x7fb3x3I" * 20 + "4BiH4b15H" + "8hI41B3xf2b2x2f4HI"),
        _getters(_GO_FIELDS, imu_state=_IMU, motor_state=_GO_MOTOR, bms_state=_GO_BATTERY),
    ),
    35: (
        struct.Struct("<2I2B2xI" + "13fh2x" + "B3x4f2hf7I" * 35 + "40B4I"),
        _getters(_HG_FIELDS, imu_state=_IMU, motor_state=_HG_MOTOR),
    ),
}
"""Of unitree_go's and unitree_hg's, by the number of motors: the struct, and what gets its values."""


def low_state_crc(message: Any) -> int | None:
    """The checksum that a LowState should have; None where it lacks fields of the vendor's."""
    layout = _LAYOUTS.get(len(message.motor_state))
    if layout is None:
        return None
    values: list[float] = []
    try:
        _gather(values, message, layout[1])
        words = array("I", layout[0].pack(*values))
    except (AttributeError, struct.error):
        return None
    words.byteswap()
    return int(f"{zlib.crc32(words.tobytes().translate(_REVERSED)) ^ 0xFFFFFFFF:032b}"[::-1], 2)


def _gather(values: list[float], part: Any, getters: _Getters) -> None:
    get, inner = getters
    for name, value in zip(inner, get(part), strict=True):
        if inner[name] is None:
            if hasattr(value, "__len__"):
                values.extend(value)
            else:
                values.append(value)
        else:
            for each in value if hasattr(value, "__len__") else (value,):
                _gather(values, each, inner[name])
