# SPDX-License-Identifier: Apache-2.0
"""Joint torques as the motor drivers estimate them from current."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.config import option
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots import Robot
from sysid_nodes.robots.kinds import joint_kinds
from sysid_nodes.sensors.late import LateConfig
from sysid_nodes.sensors.sensor import Array, Linearisation, States, StaticParameter
from sysid_nodes.signals.channel_config import WINDOWS, ValueKind, Window
from sysid_nodes.signals.samples import Samples


@dataclass(frozen=True)
class JointTorqueConfig(LateConfig):
    """Joint torques; the three kinds of noise add as independent ones."""

    largest: float = option(500.0, "a reading with a larger component is garbage", unit="N m", minimum=0.0)
    averaged: bool = option(
        True, "whether a reading is the mean since the reading before it, not the value at its stamp"
    )
    delay_sigma: float = option(
        2e-3,
        "prior standard deviation of an error of the delay against the encoders', as of a filtered current or a mean"
        " that is stamped at its end, which is then estimated; 0: exact",
        unit="s",
        minimum=0.0,
    )
    window: str = option(Window.AROUND.value, "part of the signal that a step takes", choices=WINDOWS)
    sigma: float = option(0.1, "standard deviation, the same for all joints", unit="N m", minimum=1e-9)
    share_of_limit: float = option(
        0.005, "standard deviation as a share of the joint's torque limit", unit="1", minimum=0.0
    )
    relative: float = option(0.0, "standard deviation as a share of the reading", unit="1", minimum=0.0)
    gain: tuple[float, ...] = option(
        (),
        "the drives' gain errors where they are known, a reading being 1 + gain times the torque: one for each kind of"
        " joint, as `sysid calibrate` finds them; empty: 0",
        unit="1",
        minimum=-0.9,
    )
    gain_sigma: float = option(
        0.03,
        "prior standard deviation of the drives' constant gain errors, one for each kind of joint and one that all"
        " share, which are then estimated; 0: none. On legs gain and weight are nearly one unknown: 0.03 leaves a mass"
        " some 5 %",
        unit="1",
        minimum=0.0,
    )


_EXACT = 1e-6
"""Standard deviation of a gain that is exact."""


@dataclass(frozen=True)
class JointTorque:
    """Reading: n motor torques at the joints [N m] in the robot's order.

    The prediction is the state's `tau`, what the motors must have given: with inverse dynamics, the joint part of
    M a + h - J' f plus friction and armature. A reading is (1 + gain) times it.

    Attributes:
        sigma: (n,) standard deviation at zero torque [N m].
        relative: further standard deviation as a share of the reading.
        kinds: (n,) which of the kinds' gains is each joint's; the last gain is common to all.
    """

    sigma: Array
    relative: float
    kinds: npt.NDArray[np.int64]
    name: str = "joint_torque"
    kind: ValueKind = ValueKind.VECTOR
    parameters: tuple[StaticParameter, ...] = ()

    @property
    def width(self) -> int:
        """Numbers in a reading."""
        return len(self.sigma)

    @property
    def rows(self) -> int:
        """Numbers in a residual."""
        return len(self.sigma)

    def scale(self, samples: Samples) -> Array:
        """(K, n) weights over standard deviations [1/(N m)]; the part relative to the reading does not average out."""
        variance = (self.sigma / np.maximum(samples.weights[:, None], 1e-12)) ** 2
        scale: Array = 1.0 / np.sqrt(variance + (self.relative * samples.values) ** 2)
        return scale

    def gains(self, parameters: Array) -> Array:
        """(n,) factors that make torques readings."""
        return 1.0 + self.shares @ parameters if self.parameters else np.ones(self.rows)

    @property
    def shares(self) -> Array:
        """(n, kinds + 1) which gains add up to each joint's: its kind's and the common one."""
        return np.column_stack([np.eye(int(self.kinds.max()) + 1)[self.kinds], np.ones(self.rows)])

    def residual(self, samples: Samples, states: States, parameters: Array) -> Array:
        """(K, n) whitened: predicted less measured torques."""
        return (self.gains(parameters) * states.require("tau", self.name) - samples.values) * self.scale(samples)

    def linearise(self, samples: Samples, states: States, parameters: Array) -> Linearisation:
        """The residual and its Jacobian with respect to tau, gains and, at one size of noise, readings."""
        scale, residual = self.scale(samples), self.residual(samples, states, parameters)
        by_tau, by_gain = (scale * self.gains(parameters))[:, :, None] * np.eye(self.rows), None
        if self.parameters:
            by_gain = (scale * states.require("tau", self.name))[:, :, None] * self.shares
        return Linearisation(residual, tau=by_tau, parameters=by_gain, reading=-scale[:, :, None] * np.eye(self.rows))


def joint_torque(robot: Robot, config: JointTorqueConfig) -> JointTorque:
    """The torque readings of a robot; a joint without a torque limit has no share of it.

    Raises:
        ConfigError: there are not as many gains as kinds of joints.
    """
    limits = np.where(np.isfinite(robot.limits.torque), robot.limits.torque, 0.0)
    names, kinds = joint_kinds(robot)
    count = len(names) + 1
    if len(config.gain) not in (0, len(names)):
        told = f"{len(names)} numbers ({', '.join(names)}) for robot '{robot.name}', got {len(config.gain)}"
        raise ConfigError(f"'joint_torque.gain' needs {told}")
    mean = np.array([*(config.gain or np.zeros(len(names))), 0.0])
    gains = StaticParameter("joint_torque.gain", "1", mean, np.full(count, max(config.gain_sigma, _EXACT)))
    return JointTorque(
        np.hypot(config.sigma, config.share_of_limit * limits),
        config.relative,
        kinds,
        parameters=(gains,) if config.gain or config.gain_sigma > 0.0 else (),
    )
