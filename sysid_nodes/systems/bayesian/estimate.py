# SPDX-License-Identifier: Apache-2.0
"""A point of the estimate, the noise and the weights of readings, and what earlier parts of a log leave behind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.systems.bayesian.log import MechanismLog

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A point: positions (N, n), loop forces (N, c) [N], all constants x (P,)."""

    q: Array
    force: Array
    x: Array


@dataclass(frozen=True)
class Noise:
    """Standard deviations: positions (n,), torques (m,), torques of joints without a motor, power."""

    position: Array
    torque: Array
    passive: float
    power: float


@dataclass(frozen=True)
class Weights:
    """By how much a robust loss lets each reading count, from 0 to 1.

    Attributes:
        position: (N, n).
        torque: (N - 2, m) of the inner stages.
        power: (N - 2,) likewise.
    """

    position: Array
    torque: Array
    power: Array

    @classmethod
    def full(cls, log: MechanismLog) -> Weights:
        """Every reading counts."""
        inner = (len(log.torque) - 2, log.torque.shape[1])
        return cls(np.ones(log.position.shape), np.ones(inner), np.ones(inner[0]))


@dataclass(frozen=True)
class LogInformation:
    """Information about the constants: |root phi - target|^2 / 2, phi (p,) as `Parameters.linear`, root (r, p).

    Positions of different stages share no residual but the torques' within three stages, so that parts of a log that
    share no stage are independent given the constants: this is all that an earlier part leaves behind.
    """

    root: Array
    target: Array
