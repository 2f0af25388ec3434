# SPDX-License-Identifier: Apache-2.0
"""Gears that couple joints: motors turn by C times what joints do, and joints get C^T times the torques of motors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def motor_motion(coupling: Array, motion: Array) -> Array:
    """(N, n) positions, velocities or accelerations of motors behind their gears, from those of joints."""
    return np.asarray(motion @ coupling.T)


def motor_torques(coupling: Array, load: Array) -> Array:
    """(N, n, ...) torques that motors have to give, from those that joints need, or coefficients of these."""
    return np.asarray(np.einsum("ij,kj...->ki...", np.linalg.inv(coupling).T, load))
