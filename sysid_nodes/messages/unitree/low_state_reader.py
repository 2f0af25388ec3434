# SPDX-License-Identifier: Apache-2.0
"""A robot's LowState messages one after the other: whole ones, whose counter counts."""

from __future__ import annotations

from typing import Any

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.messages.unitree.low_state import LowStateReading, from_low_state
from sysid_nodes.messages.unitree.low_state_crc import low_state_crc
from sysid_nodes.robots import Robot
from sysid_nodes.signals.tick_clock import TickClock

_STANDING = 0.5  # for which a counter of milliseconds may stand still while messages come [s]


class DamagedError(SamplesError):
    """A message has a wrong checksum."""


class LowStateReader:
    """Turns messages into readings, in the order in which they came.

    Args:
        robot: gives the motors' order.
    """

    def __init__(self, robot: Robot) -> None:
        self._robot, self._clock = robot, TickClock()
        self._has_crc = False
        self._since: tuple[int, float] | None = None

    def __call__(self, message: Any, arrival: float) -> LowStateReading:
        """The readings of the next message.

        Args:
            message: unitree_go or unitree_hg LowState, or anything with its fields.
            arrival: when it came, in the receiver's clock [s].

        Raises:
            DamagedError: its checksum is wrong.
            SamplesError: the counter stands still, or see `from_low_state`.
        """
        self._check_crc(message)
        tick = int(message.tick)
        if self._since is None or tick != self._since[0]:
            self._since = tick, arrival
        elif arrival - self._since[1] > _STANDING:
            raise SamplesError("LowState's tick stands still: nothing tells when it was sent")
        return from_low_state(message, self._robot, self._clock, arrival)

    def _check_crc(self, message: Any) -> None:
        """Simulators leave it empty: only of who was once right is one that is wrong a damage."""
        stated = int(getattr(message, "crc", 0))
        if not (stated or self._has_crc):
            return
        right = low_state_crc(message) == stated
        if self._has_crc and not right:
            raise DamagedError("LowState has a wrong checksum")
        self._has_crc = right
