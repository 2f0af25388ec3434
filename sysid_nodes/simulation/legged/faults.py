# SPDX-License-Identifier: Apache-2.0
"""Faults of a sensor stream, to test an estimator with them.

``off``: nothing comes. ``stuck``: the last values before the fault, with new stamps. ``garbage``: values far out of
range. ``nan``: not a number in one component of everything. ``plausible``: wrong by a constant that no range check
sees. ``slow``: one reading in ten. ``delayed``: 20 ms later, stamps still right. ``late``: stamps 20 ms later than the
truth. ``intermittent``: on and off every tenth of a second. ``lossy``: a fifth is lost at random.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pinocchio

from sysid_nodes.exceptions import InputError
from sysid_nodes.robots.robot import Array
from sysid_nodes.simulation.legged.sensors import Reading

FAULTS = ("off", "stuck", "garbage", "nan", "plausible", "slow", "delayed", "late", "intermittent", "lossy")
STREAMS = ("joints", "imu", "mocap", "velocity")
_LATE = 0.02  # [s]
_HALF_CYCLE = 0.1  # [s]
_ONE_IN = 10
_LOST = 0.2
_OFFSETS = {
    "position": 0.05,  # [m] of a pose, [rad] of every third joint
    "velocity": 0.3,  # [rad/s]
    "linear": 0.3,  # [m/s]
    "effort": 2.0,  # [N m]
    "gyro": 0.2,  # [rad/s]
    "accelerometer": 1.0,  # [m/s2]
    "orientation": 0.15,  # [rad] of roll
}


@dataclass(frozen=True)
class Fault:
    """A stream goes wrong for a while.

    Attributes:
        stream: one of ``STREAMS``.
        kind: see the module's text.
        start, end: of the fault, as stamps [s].

    Raises:
        InputError: stream or kind is unknown.
    """

    stream: str
    kind: str
    start: float = 0.0
    end: float = np.inf

    def __post_init__(self) -> None:
        if self.stream not in STREAMS:
            raise InputError(f"unknown stream '{self.stream}'; there are {', '.join(STREAMS)}")
        if self.kind not in FAULTS:
            raise InputError(f"unknown fault '{self.kind}'; there are {', '.join(FAULTS)}")


class FaultInjector:
    """Passes readings on, changed by the faults in force.

    Args:
        faults: of any streams and times.
        rng: of garbage and losses.
    """

    def __init__(self, faults: Sequence[Fault], rng: np.random.Generator) -> None:
        self._faults, self._rng = tuple(faults), rng
        self._healthy: dict[str, Reading] = {}
        self._count: dict[str, int] = {}

    def __call__(self, reading: Reading) -> Reading | None:
        """The reading as it is sent; None if it is not."""
        name = reading.stream
        self._count[name] = self._count.get(name, -1) + 1
        active = [fault for fault in self._faults if fault.stream == name and fault.start <= reading.stamp < fault.end]
        if not active:
            self._healthy[name] = reading
        result: Reading | None = reading
        for fault in active:
            if result is not None:
                result = self._spoil(fault, result)
        return result

    def _spoil(self, fault: Fault, reading: Reading) -> Reading | None:
        kind = fault.kind
        if kind == "stuck":
            return replace(reading, **_values(self._healthy.setdefault(reading.stream, reading)))
        if kind == "garbage":
            return _change_values(reading, lambda _, value: 1e3 * self._rng.standard_normal(value.shape))
        if kind == "nan":
            return _change_values(reading, lambda _, value: np.where(np.arange(value.size) == 0, np.nan, value))
        if kind == "plausible":
            return _change_values(reading, _add_offset)
        if kind == "delayed":
            return replace(reading, arrival=reading.arrival + _LATE)
        if kind == "late":
            return replace(reading, stamp=reading.stamp + _LATE)
        lost = {
            "off": True,
            "slow": self._count[reading.stream] % _ONE_IN != 0,
            "intermittent": int((reading.stamp - fault.start) / _HALF_CYCLE) % 2 == 0,
            "lossy": self._rng.uniform() < _LOST,
        }[kind]
        return None if lost else reading


def _values(reading: Reading) -> dict[str, Any]:
    """The measured arrays of a reading."""
    found = {item.name: getattr(reading, item.name) for item in fields(reading)}
    return {name: value for name, value in found.items() if isinstance(value, np.ndarray)}


def _change_values(reading: Reading, change: Callable[[str, Array], Array]) -> Reading:
    changed: dict[str, Any] = {name: change(name, value) for name, value in _values(reading).items()}
    return replace(reading, **changed)


def _add_offset(name: str, value: Array) -> Array:
    if name == "orientation":
        turned = pinocchio.Quaternion(value).toRotationMatrix() @ pinocchio.exp3(np.array([_OFFSETS[name], 0.0, 0.0]))
        return np.array(pinocchio.Quaternion(turned).coeffs())
    result: Array = value + _OFFSETS[name] * (np.arange(value.size) % 3 == 0)
    return result
