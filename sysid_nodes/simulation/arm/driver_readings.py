# SPDX-License-Identifier: Apache-2.0
"""Joint states as a real driver passes them on: torque of another sign, offsets, noise, lost messages, any order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.data.config import option
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.data.joint_vector import Numbers, per_joint
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots.robot import Array


@dataclass(frozen=True)
class DriverConfig:
    """How the simulated driver passes on what the sensors read; by default as it is.

    ros2_kortex on three logs of a Gen3: sign -1, offsets to 2.5 N m, residuals of .06 to .2 N m.
    """

    torque_sign: Numbers = option((1.0,), "1 or -1")
    torque_offset: Numbers = option((0.0,), "torque that is read where there is none", unit="N m")
    torque_noise: Numbers = option((0.0,), "standard deviation of the torque's noise", unit="N m", minimum=0.0)
    noise_time: float = option(
        0.05, "over which that noise is alike; 0: new with every reading", unit="s", minimum=0.0, maximum=10.0
    )
    velocity_noise: float = option(0.0, "standard deviation of the velocity's noise", unit="rad/s", minimum=0.0)
    dropped: float = option(
        0.0, "share of messages that are lost; in lockstep the controller then misses a turn", unit="1", minimum=0.0,
        maximum=0.9,
    )  # fmt: skip
    shuffled: bool = option(False, "name the joints in another order in every message")


class DriverReadings:
    """Turns readings into what arrives.

    Args:
        n: joints.
        rng: source of noise, losses and orders; nothing is drawn where nothing is asked for.

    Raises:
        ConfigError: a list is of another length, or a sign is not 1 or -1.
    """

    def __init__(self, config: DriverConfig, n: int, rng: np.random.Generator) -> None:
        self._config, self._rng = config, rng
        self._sign = per_joint(config.torque_sign, n, "simulated_arm.driver.torque_sign")
        if (np.abs(self._sign) != 1.0).any():
            raise ConfigError("'simulated_arm.driver.torque_sign' is 1 or -1")
        self._offset = per_joint(config.torque_offset, n, "simulated_arm.driver.torque_offset")
        self._spread = per_joint(config.torque_noise, n, "simulated_arm.driver.torque_noise")
        self._noise: Array | None = None
        self._stamp = 0.0
        self._idle = config == DriverConfig()

    def pass_on(self, reading: RawJointState) -> list[RawJointState]:
        """The message that arrives of a reading; none where it is lost."""
        if self._idle:
            return [reading]
        config, rng = self._config, self._rng
        effort = self._sign * (np.asarray(reading.effort) + self._offset + self._drawn_noise(reading.stamp))
        velocity = np.asarray(reading.velocity)
        if config.velocity_noise:
            velocity = velocity + config.velocity_noise * rng.normal(size=velocity.size)
        if config.dropped and rng.random() < config.dropped:
            return []
        out = reading._replace(effort=effort, velocity=velocity)
        if not config.shuffled:
            return [out]
        order = rng.permutation(effort.size)
        return [
            RawJointState(
                out.stamp,
                tuple(out.names[k] for k in order),
                *(np.asarray(values)[order] for values in (out.position, out.velocity, out.effort)),
            )
        ]

    def _drawn_noise(self, stamp: float) -> Array:
        """(n,) noise that forgets over `noise_time` (an Ornstein-Uhlenbeck process)."""
        if not self._spread.any():
            return np.zeros(self._spread.size)
        fresh = self._spread * self._rng.normal(size=self._spread.size)
        keep = 0.0
        if self._noise is not None and self._config.noise_time > 0.0:
            keep = float(np.exp(-max(stamp - self._stamp, 0.0) / self._config.noise_time))
        before = np.zeros(fresh.size) if self._noise is None else self._noise
        self._noise, self._stamp = keep * before + np.sqrt(1.0 - keep**2) * fresh, stamp
        return self._noise
