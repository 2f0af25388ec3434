# SPDX-License-Identifier: Apache-2.0
"""Predicted less measured, of every sensor, in units of its noise."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.rollouts.rotations import exponential, inverse, logarithm, product, vertical
from sysid_nodes.systems.sampling.config import NoiseConfig
from sysid_nodes.systems.sampling.log import MotionLog
from sysid_nodes.systems.sampling.unknowns import Sensing

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def residuals(log: MotionLog, noise: NoiseConfig, instants: IntArray, states: Array, sensing: Sensing) -> Array:
    """(..., m) whitened residuals of states (..., nq + nv) at instants (...) of a log; zero where nothing was measured.

    Columns: joint positions (n), joint velocities (n), position (3), orientation (3), angular velocity (3), vertical
    (3).
    A pose that is late by `delay` is that of a robot which has gone on at its present velocity.
    """
    n = log.q.shape[1]
    q, w, rotation = states[..., 7 : 7 + n], states[..., 13 + n :], states[..., 3:7]
    velocity, turning = states[..., 7 + n : 10 + n], states[..., 10 + n : 13 + n]
    posed = log.posed[instants][..., None]
    late = product(rotation, exponential(-sensing.delay * turning))
    tracked = product(late, exponential(sensing.alignment))
    moved = states[..., :3] - sensing.delay * velocity - log.position[instants]
    turned = logarithm(product(inverse(log.rotation[instants]), tracked))
    parts = (
        (q - log.q[instants]) / noise.joint_position,
        (w - log.w[instants]) / noise.joint_velocity,
        posed * moved / noise.position,
        posed * turned / noise.orientation,
        (turning + sensing.gyro_bias - log.gyro[instants]) / noise.gyroscope,
        (vertical(rotation) - log.up[instants]) / noise.vertical,
    )
    return np.concatenate(parts, axis=-1)
