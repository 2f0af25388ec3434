# SPDX-License-Identifier: Apache-2.0
"""Torque oracles as methods: torque over time of one log, which follows its motion and predicts no other.

`oracle` is the smoother of `smoothed_joint`. `free_oracle` is the paper's (arXiv 2604.10351, section IV-A), for
comparison: a free torque a step, fitted by Adam to short segments that start at measured states. On short segments it
fits the noise, for every torque is a second difference of positions; one rollout of its torques then runs away.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.kernel.joint_law import INERTIA, LOAD
from sysid_nodes.solvers.shooting.problem import segments
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.methods.method import Replay
from sysid_nodes.systems.actuators.methods.smoothed_joint import SmoothedJoint
from sysid_nodes.systems.actuators.preparation import JointMotion

Array = npt.NDArray[np.float64]

_RATE, _FIRST, _SECOND = 0.02, 0.9, 0.999  # Adam's


@dataclass(frozen=True)
class TorqueSeries:
    """Torque passed on to the body along one log.

    Attributes:
        smoothed: the joint along that log.
        values: (S,) [N m].
        start: position and velocity at the first sample of each part of the log (P, 2).
    """

    smoothed: SmoothedJoint
    values: Array
    start: Array
    findings: tuple[str, ...] = ()

    @property
    def weights(self) -> dict[str, Array]:
        """None."""
        return {}

    def replay(self, motion: JointMotion) -> Replay:
        """See `JointModel`."""
        if motion is not self.smoothed.motion:
            raise ConfigError("an oracle's torque is of the log that it was made of, and drives no other")
        parts = Segments.of(self.smoothed, np.array([0, *motion.breaks]))
        return Replay(parts.states(self.values, self.start)[0])

    def torque(self, smoothed: SmoothedJoint) -> Array:
        """See `JointModel`."""
        if smoothed.motion is not self.smoothed.motion:
            raise ConfigError("an oracle's torque is of the log that it was made of, and drives no other")
        return self.values


def oracle(smoothed: SmoothedJoint, _law: Array, _config: ActuatorConfig) -> TorqueSeries:
    """The smoother's torque."""
    first = [0, *smoothed.motion.breaks]
    dt = smoothed.motion.step * smoothed.motion.stride
    # Half a step of acceleration before the first velocity, as `Segments` has it: the smoothed motion comes out again.
    speed = (smoothed.position[np.add(first, 1)] - smoothed.position[first]) / dt
    speed -= 0.5 * dt * smoothed.acceleration[first]
    return TorqueSeries(smoothed, smoothed.torque, np.stack([smoothed.position[first], speed], axis=1))


def free_oracle(smoothed: SmoothedJoint, _law: Array, config: ActuatorConfig) -> TorqueSeries:
    """The paper's: torques (S,) minimise the squared errors of segments from measured states."""
    motion, options = smoothed.motion, config.oracle
    dt = motion.step * motion.stride
    first = segments(len(motion.t), max(round(options.free_horizon / dt), 1), motion.breaks)
    parts, measured = Segments.of(smoothed, first), np.stack([motion.q, motion.velocity], axis=1)
    # Torques that hold the joint against gravity, as the search's start.
    values, size = smoothed.rows[:, LOAD].copy(), max(float(np.std(motion.torque)), 1e-6)
    mean, square = np.zeros_like(values), np.zeros_like(values)
    for k in range(1, options.free_iterations + 1):
        slope = parts.slope(values, measured[first], options.free_speed_weight)
        mean = _FIRST * mean + (1.0 - _FIRST) * slope
        square = _SECOND * square + (1.0 - _SECOND) * slope**2
        step = mean / (1.0 - _FIRST**k) / (np.sqrt(square / (1.0 - _SECOND**k)) + 1e-12)
        values = values - _RATE * size * step
    return TorqueSeries(smoothed, values, measured[np.array([0, *motion.breaks])])


@dataclass(frozen=True)
class Segments:
    """A body driven by torques at the samples (velocity Verlet), in G segments of a log that each reach to the next.

    The equations are linear: states are cumulative sums, and so is the adjoint.

    Attributes:
        smoothed: the joint.
        index: (G, L + 1) samples of each segment and the first of the next; the last sample again where one is shorter.
        own: (G, L + 1) whether the torque there is the segment's.
        told: (G, L + 1) whether there is a measurement to predict.
    """

    smoothed: SmoothedJoint
    index: npt.NDArray[np.intp]
    own: npt.NDArray[np.bool_]
    told: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, smoothed: SmoothedJoint, first: npt.NDArray[np.intp]) -> Segments:
        """From the first samples (G,), the first of all 0."""
        count = len(smoothed.motion.t)
        lengths = np.diff(np.append(first, count))
        step = np.arange(int(lengths.max()) + 1)
        index = np.minimum(first[:, None] + step, count - 1)
        own = step < lengths[:, None]
        after = (step == lengths[:, None]) & (first[:, None] + step < count)
        after &= ~np.isin(index, smoothed.motion.breaks)  # nothing leads over a hole
        return cls(smoothed, index, own, (own | after) & (step > 0) & smoothed.motion.measured[index])

    @property
    def _dt(self) -> float:
        return self.smoothed.motion.step * self.smoothed.motion.stride

    def _roll_out(self, values: Array, start: Array) -> tuple[Array, Array]:
        rows = self.smoothed.rows[self.index]
        acceleration = (values[self.index] - rows[:, :, LOAD]) / rows[:, :, INERTIA]
        # From each sample to the next.
        half = start[:, 1:] + self._dt * (np.cumsum(acceleration, axis=1) - 0.5 * acceleration[:, :1])
        moved = np.cumsum(half[:, :-1], axis=1)
        position = start[:, :1] + self._dt * np.concatenate([np.zeros_like(moved[:, :1]), moved], axis=1)
        return position, half - 0.5 * self._dt * acceleration

    def states(self, values: Array, start: Array) -> tuple[Array, Array]:
        """Positions and velocities (S,) under torques (S,) from states (G, 2)."""
        position, velocity = self._roll_out(values, start)
        return position[self.own], velocity[self.own]

    def cost(self, values: Array, start: Array, speed_weight: float) -> float:
        """Half the sum of squared errors, velocities weighted [rad2]."""
        off, fast = self._errors(values, start, speed_weight)
        return 0.5 * float(np.sum(off**2) + np.sum(fast**2) / max(speed_weight, 1e-300))

    def slope(self, values: Array, start: Array, speed_weight: float) -> Array:
        """(S,) derivative of the cost by the torques."""
        off, fast = self._errors(values, start, speed_weight)
        dt = self._dt
        later = np.cumsum(off[:, ::-1], axis=1)[:, ::-1]  # errors of this sample and all after it
        moved = np.zeros_like(off)  # each by as many steps as it comes later
        moved[:, :-1] = np.cumsum(later[:, :0:-1], axis=1)[:, ::-1]
        whole = np.cumsum(fast[:, ::-1], axis=1)[:, ::-1]
        found = dt**2 * moved + dt * (whole - 0.5 * fast)
        found[:, 0] = 0.5 * (dt**2 * moved[:, 0] + dt * (whole[:, 0] - fast[:, 0]))
        # The last torque of a segment also takes the velocity at the next one's first sample half a step on.
        inertia = self.smoothed.rows[self.index][:, :, INERTIA]
        return np.asarray(np.bincount(self.index.ravel(), (found / inertia).ravel(), len(values)))

    def _errors(self, values: Array, start: Array, speed_weight: float) -> tuple[Array, Array]:
        motion = self.smoothed.motion
        position, velocity = self._roll_out(values, start)
        off = np.where(self.told, position - motion.q[self.index], 0.0)
        return off, np.where(self.told, speed_weight * (velocity - motion.velocity[self.index]), 0.0)
