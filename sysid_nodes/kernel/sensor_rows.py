# SPDX-License-Identifier: Apache-2.0
"""Rows of a walking robot's sensors over a window: compiled where it was built, else the sensors' own NumPy."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel import implementation

try:
    from sysid_nodes.kernel import _sensor_rows
except ImportError:
    _sensor_rows = None  # type: ignore[assignment]

Array = npt.NDArray[np.float64]


class SensorConstants(NamedTuple):
    """Constants of a sensor on the joints or on the floating base.

    Attributes:
        kind: 0 joint positions, 1 joint velocities, 2 gyroscope, 3 accelerometer, 4 IMU's orientation, 5 markers' pose.
        window: part of the signal in a sample, 0 at a point, 1 before it, 2 after it, 3 around it.
        step: of the stages [s].
        adjoint: (6, 6) from the base's velocity to the sensor's, each in its own axes.
        offset, turn: (3,) and (4,) of the sensor's frame in the base's.
        sigma: (m,) of the rows.
        extra: (3,) gravity [m/s^2], or place of the markers in the sensor's frame [m].
        has_bias, has_offset, late: which constant unknowns there are, in this order.
    """

    kind: int
    window: int
    step: float
    adjoint: Array
    offset: Array
    turn: Array
    sigma: Array
    extra: Array
    has_bias: bool
    has_offset: bool
    late: bool


class Moved(NamedTuple):
    """Configurations (N, nq), and the arrays of `models.discrete_motion.DiscreteMotion`."""

    q: Array
    mean: Array
    turn_jacobian: Array
    velocity: Array
    acceleration: Array
    rotation: Array


class Read(NamedTuple):
    """Arrays of `signals.samples.Samples`; (0, 0, 0) rates where nothing is late."""

    steps: npt.NDArray[np.int64]
    values: Array
    weights: Array
    rates: Array


class SensorKernel(Protocol):
    """Rows of one sensor. Arrays must be C-contiguous."""

    def residual(self, motion: Moved, samples: Read, constants: Array) -> Array:
        """(B, m) whitened, at values of the sensor's own constants."""

    def linearise(
        self, motion: Moved, samples: Read, constants: Array, column: int, count: int
    ) -> tuple[Array, Array, Array, Array]:
        """The residual and its derivatives.

        Returns:
            residual (B, m); derivatives by the stages that it needs (B, m, 1 to 3 nv), by all of `count` constants, of
            which the sensor's begin at `column` (B, m, count or 0), and by the readings (B, m, m), of joints (B, m, 0).
        """


def sensor_kernel(constants: SensorConstants, name: str = "") -> SensorKernel | None:
    """The compiled kernel, or None where the reference is asked for or nothing was compiled.

    Raises:
        ConfigError: see `kernel.implementation`.
    """
    if implementation(name) != "compiled" or _sensor_rows is None:
        return None
    return _sensor_rows.SensorRows(*constants)
