# SPDX-License-Identifier: Apache-2.0
"""Joint states as a driver delivers them, made joint positions, velocities and torques in SI units.

The one place where sign, unit, side, offset and delay of a signal are known; live node, replay and calibration read
their samples through it (`JointStream`), so that everything after it is about the robot and not about its driver.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.config import option
from sysid_nodes.data.joint_vector import Numbers, Words, per_joint, spread
from sysid_nodes.exceptions import ConfigError

Array = npt.NDArray[np.float64]

TORQUE_UNITS = {"N m": 1.0, "N mm": 1e-3, "A": 1.0}
ANGLE_UNITS = {"rad": 1.0, "deg": np.pi / 180.0}
SPEED_UNITS = {"rad/s": 1.0, "deg/s": np.pi / 180.0, "rpm": np.pi / 30.0}


@dataclass(frozen=True)
class SignalsConfig:
    """How the driver's numbers read. One value stands for every joint; otherwise one a joint, or by joint name.

    Sliding joints read in m, m/s and N under the names of the turning ones.
    """

    torque_sign: Numbers = option((1.0,), "1, or -1 where effort is positive when the joint pushes the other way")
    torque_unit: Words = option(("N m",), "unit of the effort", choices=tuple(TORQUE_UNITS))
    torque_constant: Numbers = option(
        (), "torque of a unit of current, where torque_unit is A", unit="N m/A", minimum=1e-9
    )
    torque_side: Words = option(
        ("joint",), "which side of the gear the torque is of; motor: before it", choices=("joint", "motor")
    )
    gear_ratio: Numbers = option((), "turns of the motor for one of the joint, with torque_side motor", minimum=1e-6)
    torque_offset: Numbers = option((0.0,), "torque that is read where there is none, after sign and unit", unit="N m")
    torque_delay: Numbers = option(
        (0.0,),
        "by how much a stamp's torque is older than its position; goes with noise.model window",
        unit="s",
        minimum=-0.1,
        maximum=0.1,
    )
    position_unit: Words = option(("rad",), "unit of the position", choices=tuple(ANGLE_UNITS))
    velocity_unit: Words = option(("rad/s",), "unit of the velocity", choices=tuple(SPEED_UNITS))


class DriverSignals:
    """Converts readings of n joints and brings torque and position to the same instant.

    Args:
        config: how the driver's numbers read.
        n: joints.

    Attributes:
        angle: (n,) unit of the position [rad].
        delay: (n,) age of the torque's reading against the position's [s].

    Raises:
        ConfigError: a list is of another length, a sign is not 1 or -1, or a value is given that has no effect.
    """

    def __init__(self, config: SignalsConfig, n: int) -> None:
        sign = per_joint(config.torque_sign, n, "signals.torque_sign")
        if (np.abs(sign) != 1.0).any():
            raise ConfigError("'signals.torque_sign' is 1 or -1")
        units = spread(config.torque_unit, n, "signals.torque_unit")
        sides = spread(config.torque_side, n, "signals.torque_side")
        scale = np.array([TORQUE_UNITS[unit] for unit in units])
        scale *= _factor(config.torque_constant, [unit == "A" for unit in units], "torque_constant", "torque_unit is A")
        scale *= _factor(config.gear_ratio, [side == "motor" for side in sides], "gear_ratio", "torque_side is motor")
        self.angle = np.array([ANGLE_UNITS[unit] for unit in spread(config.position_unit, n, "signals.position_unit")])
        velocity = np.array([SPEED_UNITS[unit] for unit in spread(config.velocity_unit, n, "signals.velocity_unit")])
        self._scale = np.stack([self.angle, velocity, sign * scale])
        self._offset = per_joint(config.torque_offset, n, "signals.torque_offset")
        self.delay = per_joint(config.torque_delay, n, "signals.torque_delay")
        self._plain = bool((self._scale == 1.0).all() and not self._offset.any())

    def convert(self, values: Array) -> Array:
        """Position, velocity and torque in SI units from readings, both (..., 3, n)."""
        if self._plain:
            return values
        out = np.asarray(values * self._scale)
        out[..., 2, :] -= self._offset
        return out


def _factor(value: Numbers, wanted: list[bool], name: str, when: str) -> Array:
    """(n,) factors of the joints that want one, 1 of the others."""
    if not any(wanted):
        if value:
            raise ConfigError(f"'signals.{name}' has no effect unless {when}")
        return np.ones(len(wanted))
    if not value:
        raise ConfigError(f"'signals.{name}' is needed where {when}")
    return np.where(wanted, per_joint(value, len(wanted), f"signals.{name}"), 1.0)


class DelayLine:
    """Brings the torques of a stream to the instants of its positions; one sample comes out for each that goes in.

    A torque reading of stamp t is what acted at t - delay. The sample that comes out is of the time of the newest
    torque that is known of every joint: position by Hermite's cubic, velocity and torque straight between readings.

    Args:
        delay: (n,) of the torque [s].
    """

    def __init__(self, delay: Array) -> None:
        self._delay = delay
        self._behind = max(float(delay.max()), 0.0)
        self._kept: deque[tuple[float, Array, Array, Array]] = deque()

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do: samples pass as they are."""
        return not self._delay.any()

    def reset(self) -> None:
        """Forgets all samples, as after a gap."""
        self._kept.clear()

    def push(self, t: float, q: Array, qd: Array, tau: Array) -> tuple[float, Array, Array, Array] | None:
        """Takes stamp, position, velocity and torque; None while too little has come."""
        self._kept.append((t, q, qd, tau))
        span = self._behind - min(float(self._delay.min()), 0.0)
        while len(self._kept) > 2 and self._kept[1][0] <= t - span:
            self._kept.popleft()
        at = t - self._behind
        if self._kept[0][0] > t - span:
            return None
        q_at, qd_at = self._motion(at)
        return at, q_at, qd_at, self._torque(at)

    def _bracket(self, at: float) -> tuple[tuple[float, Array, Array, Array], tuple[float, Array, Array, Array], float]:
        """The samples about a time and where it lies between them, 0 to 1."""
        for left, right in pairwise(self._kept):
            if at <= right[0]:
                return left, right, (at - left[0]) / (right[0] - left[0])
        return self._kept[-1], self._kept[-1], 0.0

    def _motion(self, at: float) -> tuple[Array, Array]:
        (t0, q0, v0, _), (t1, q1, v1, _), s = self._bracket(at)
        h = t1 - t0
        q = (
            (1.0 + 2.0 * s) * (1.0 - s) ** 2 * q0
            + s * (1.0 - s) ** 2 * h * v0
            + s**2 * (3.0 - 2.0 * s) * q1
            - s**2 * (1.0 - s) * h * v1
        )
        return q, (1.0 - s) * v0 + s * v1

    def _torque(self, at: float) -> Array:
        out = np.empty(self._delay.size)
        for delay in np.unique(self._delay):
            mine = self._delay == delay
            left, right, s = self._bracket(at + float(delay))
            out[mine] = ((1.0 - s) * left[3] + s * right[3])[mine]
        return out
