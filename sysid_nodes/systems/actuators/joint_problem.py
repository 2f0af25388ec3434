# SPDX-License-Identifier: Apache-2.0
"""One joint as a problem of multiple shooting: the state is (position, velocity), what is measured is the position."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel.joint_law import (
    COMMAND,
    COMMAND_RATE,
    COMMAND_SLOPE,
    DAMPING,
    INERTIA,
    LOAD,
    RATE_SLOPE,
    SIGNALS,
    STIFFNESS,
    TORQUE,
    TORQUE_SLOPE,
)
from sysid_nodes.kernel.joint_rollout import Rollout as JointRollout
from sysid_nodes.kernel.joint_rollout import joint_rollout
from sysid_nodes.models.actuator import INDEX, LEVELS
from sysid_nodes.solvers.shooting import Rollout
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.preparation import JointMotion

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class JointProblem:
    """A `ShootingProblem` of K parameters of a joint's law.

    Attributes:
        motion: what was measured.
        config: of the law and of the fit.
        law: (15,) the law's parameters; those fitted are replaced.
        names: of the K fitted ones.
    """

    motion: JointMotion
    config: ActuatorConfig
    law: Array
    names: tuple[str, ...]

    @property
    def samples(self) -> int:
        """S."""
        return len(self.motion.t)

    @property
    def breaks(self) -> tuple[int, ...]:
        """Samples at which a segment must begin."""
        return self.motion.breaks

    @property
    def active(self) -> IntArray:
        """(K,) places of the fitted parameters in the law."""
        return np.array([INDEX[name] for name in self.names], dtype=np.int64)

    def start(self, first: IntArray) -> tuple[Array, Array]:
        """The measured position, of which the residuals know all, and the filtered velocity."""
        guess = np.stack([self.motion.q[first], self.motion.velocity[first]], axis=1)
        options = self.config.shooting
        return guess, np.array([0.0, (options.residual_sigma / options.speed_sigma) ** 2])

    def rollout(self, parameters: Array, first: IntArray, start: Array, *, added: Array | None = None) -> Rollout:
        """Residuals [rad] of predicted positions, zero where nothing was measured.

        Torques (N, E) added to the law's have columns behind those of the parameters.
        """
        found = self.simulate(parameters, first, start, added=added)
        measured = self.motion.measured
        residual = np.where(measured, found.position - self.motion.q, 0.0)
        slopes = np.where(measured[:, None], found.slopes, 0.0)
        return Rollout(residual[:, None], slopes[:, None, :-2], slopes[:, None, -2:])

    def simulate(self, parameters: Array, first: IntArray, start: Array, *, added: Array | None = None) -> JointRollout:
        """States at the samples, and what torques (N, E) added to the law's would do to them."""
        return self._roll(self.with_parameters(parameters), first, start, added, self.active, self.motion.stride)

    def velocities(self, parameters: Array, first: IntArray, start: Array) -> tuple[Array, Array]:
        """(N,), (N,) where steps begin, and those by which they move [rad/s].

        Those of a segment's last step are no velocities, unless it is the last segment's: the state behind it is the
        next one's start. Nothing follows from that step, either.
        """
        nothing = np.zeros(0, dtype=np.int64)
        found = self._roll(self.with_parameters(parameters), first, start, None, nothing, 1)
        return found.velocity[:-1], np.diff(found.position) / self.motion.step

    def _roll(
        self, law: Array, first: IntArray, start: Array, added: Array | None, active: IntArray, stride: int
    ) -> JointRollout:
        signals = self.signals(law)
        return joint_rollout(
            signals if added is None else np.concatenate([signals, added], axis=1),
            law,
            first * self.motion.stride,
            start,
            active,
            step=self.motion.step,
            stride=stride,
            smoothing=self.config.law.rest_speed,
            hard=self.config.law.saturation == "hard",
        )

    def with_parameters(self, parameters: Array) -> Array:
        """(15,) the law with the fitted parameters put in."""
        law = self.law.copy()
        law[self.active] = parameters
        return law

    def with_law(self, law: Array, *names: str) -> JointProblem:
        """The same joint with another law and other parameters to fit."""
        return replace(self, law=law, names=names)

    def signals(self, law: Array) -> Array:
        """(N, 13) what the kernel needs at every step; valid until it is asked for again."""
        motion, delay = self.motion, float(law[INDEX["delay"]])
        rows, edges = self._rows, motion.edges
        rows[:, COMMAND], rows[:, COMMAND_SLOPE] = motion.command.means(edges, delay)
        if motion.command_rate is not None:
            rows[:, COMMAND_RATE], rows[:, RATE_SLOPE] = motion.command_rate.means(edges, delay)
        if motion.command_torque is not None:
            rows[:, TORQUE], rows[:, TORQUE_SLOPE] = motion.command_torque.means(edges, delay)
        return rows

    @cached_property
    def _rows(self) -> Array:
        """(N, 13) the same without the command, written over at every rollout: megabytes are slow to come by."""
        motion = self.motion
        rows = np.zeros((len(motion.load), SIGNALS + len(LEVELS)))
        rows[:, STIFFNESS], rows[:, DAMPING] = motion.stiffness, motion.damping
        rows[:, INERTIA], rows[:, LOAD] = motion.inertia, motion.load
        rows[:, SIGNALS:] = motion.levels
        return rows
