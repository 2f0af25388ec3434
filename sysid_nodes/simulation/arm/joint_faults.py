# SPDX-License-Identifier: Apache-2.0
"""Faults of a joint state stream, put in between robot and controller."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.exceptions import ConfigError

KINDS = (
    "off", "stuck", "stuck stamp", "garbage", "absurd", "offset", "drift", "one joint stuck", "velocity scaled",
    "slow", "delayed", "intermittent", "names", "backwards",
)  # fmt: skip


@dataclass(frozen=True)
class JointFault:
    """A fault of joint states that lasts for some time.

    Attributes:
        kind: off (nothing arrives), stuck (values repeat, stamps go on), stuck stamp (the same message again and
            again), garbage (NaN), absurd (1e12), offset (positions jump by size [rad]), drift (positions leave at size
            [rad/s], velocities do not), one joint stuck (the second), velocity scaled (by 1 + size), slow (one in
            size), delayed (by size [ticks]), intermittent (bursts of size ticks are lost, every 200th tick), names
            (the joints are called otherwise), backwards (stamps run backwards).
        start, duration: of the fault [s] of stamps.
        size: in the unit that the kind says.

    Raises:
        ConfigError: unknown kind.
    """

    kind: str
    start: float
    duration: float = np.inf
    size: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ConfigError(f"unknown fault '{self.kind}'; known: {', '.join(KINDS)}")


class FaultyJoints:
    """Lets joint states through, changed by a fault while it lasts."""

    def __init__(self, fault: JointFault | None) -> None:
        self._fault = fault
        self._last: RawJointState | None = None
        self._held: deque[RawJointState] = deque()
        self._count = 0

    def pass_on(self, reading: RawJointState) -> list[RawJointState]:
        """The readings that arrive at the controller when one was made."""
        fault = self._fault
        active = fault is not None and fault.start <= reading.stamp < fault.start + fault.duration
        if fault is None or not active:
            late, self._last = list(self._held), reading
            self._held.clear()
            return [*late, reading]
        self._count += 1
        self._last = self._last or reading
        return self._spoil(fault, reading, self._last)

    def _spoil(self, fault: JointFault, reading: RawJointState, last: RawJointState) -> list[RawJointState]:
        size, since = fault.size, reading.stamp - fault.start
        first = np.eye(len(reading.names))[1]  # the second joint carries most of the arm
        changed: dict[str, Callable[[], RawJointState]] = {
            "stuck": lambda: last._replace(stamp=reading.stamp),
            "stuck stamp": lambda: last,
            "garbage": lambda: reading._replace(position=np.full_like(reading.position, np.nan)),
            "absurd": lambda: reading._replace(velocity=np.full_like(reading.velocity, 1e12)),
            "offset": lambda: reading._replace(position=reading.position + size),
            "drift": lambda: reading._replace(position=reading.position + size * since * first),
            "one joint stuck": lambda: reading._replace(
                position=np.where(first > 0.0, last.position, reading.position),
                velocity=np.where(first > 0.0, last.velocity, reading.velocity),
            ),
            "velocity scaled": lambda: reading._replace(velocity=reading.velocity * (1.0 + size)),
            "names": lambda: reading._replace(names=tuple(f"other_{name}" for name in reading.names)),
            "backwards": lambda: reading._replace(stamp=fault.start - since),
        }
        if fault.kind in changed:
            return [changed[fault.kind]()]
        if fault.kind == "slow":
            return [reading] if self._count % max(int(size), 1) == 0 else []
        if fault.kind == "intermittent":
            return [] if self._count % 200 < size else [reading]
        if fault.kind == "delayed":
            self._held.append(reading)
            return [self._held.popleft()] if len(self._held) > size else []
        return []
