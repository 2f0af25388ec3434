# SPDX-License-Identifier: Apache-2.0
"""Predicted less measured, of every sensor, in units of its noise."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.rollouts.rotations import drift, exponential, inverse, logarithm, product, vertical
from sysid_nodes.systems.sampling.config import NoiseConfig
from sysid_nodes.systems.sampling.log import MotionLog
from sysid_nodes.systems.sampling.unknowns import Sensing

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def residuals(log: MotionLog, noise: NoiseConfig, instants: IntArray, states: Array, sensing: Sensing) -> Array:
    """(..., L, m) whitened residuals of states (..., L, nq + nv) at instants (..., L) in a row.

    Columns: joint positions (n), joint velocities (n), position (3), orientation (3), angular velocity (3), vertical
    (3); zero where nothing was measured. A simulation's velocities are those at the instants, its configurations half a
    step later (`log`). A pose that is late by `delay` is that of a robot which has gone on at its present velocity.
    """
    n = log.q.shape[1]
    states = drift(states, -0.5 * log.step)
    q, rotation, rates = states[..., 7 : 7 + n], states[..., 3:7], states[..., 7 + n :]
    velocity, turning, w = rates[..., :3], rates[..., 3:6], rates[..., 6:]
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
