# SPDX-License-Identifier: Apache-2.0
"""Errors of the readings, measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.ndimage import median_filter

from sysid_nodes.data.joint_samples import JointSamples

Array = npt.NDArray[np.float64]

_SHARE_ON_GRID = 0.98
_TYPICAL = 1.4826
_SINGLE = 5
"""Readings whose median leaves out two wrong ones in a row, and leaves all as they are where they rise or fall."""


@dataclass(frozen=True)
class NoiseLevels:
    """Attributes, (n,) each: encoder_step, the positions' grid [rad], 0 where there is none; velocity, the largest
    difference between the mean velocity of two samples and what the position did between them, but for one in a
    hundred [rad/s]; acceleration, the largest between two samples, single wrong readings left out [rad/s2]; torque,
    the standard deviation of noise from sample to sample [N m]; torque_rate, the largest change [N m/s].
    """

    encoder_step: Array
    velocity: Array
    acceleration: Array
    torque: Array
    torque_rate: Array


def noise_levels(samples: JointSamples, max_gap: float) -> NoiseLevels:
    """Levels of samples (at least four of them); pauses longer than max_gap [s] are left out."""
    dt = np.diff(samples.t)
    good = dt <= max_gap
    steps = dt[good][:, None]
    moved = np.diff(samples.q, axis=0)[good]
    mean_speed = (0.5 * (samples.qd[1:] + samples.qd[:-1]))[good]
    gained = np.diff(median_filter(samples.qd, size=(_SINGLE, 1)), axis=0)[good]
    torque = np.diff(samples.tau, axis=0)[good]
    encoder = np.array([_grid(column) for column in samples.q.T])
    mismatch = np.abs(moved - mean_speed * steps)
    velocity = np.quantile(np.maximum(mismatch - encoder, 0.0) / steps, 0.99, axis=0)
    bend = np.diff(samples.tau, n=2, axis=0)
    noise = _TYPICAL * np.median(np.abs(bend - np.median(bend, axis=0)), axis=0) / np.sqrt(6.0)
    return NoiseLevels(
        encoder_step=encoder,
        velocity=velocity,
        acceleration=np.abs(gained / steps).max(axis=0),
        torque=noise,
        torque_rate=np.abs(torque / steps).max(axis=0),
    )


def _grid(q: Array) -> float:
    """The step of the grid that positions (N,) lie on; 0 where they lie on none that is coarse enough to tell."""
    change = np.abs(np.diff(q))
    change = change[change > 1e-9]
    if change.size < 20:
        return 0.0
    step = float(np.quantile(change, 0.01))
    for _ in range(3):  # a better step from changes of more and more steps
        few = change[change < 40.0 * step]
        step = float(np.median(few / np.maximum(np.rint(few / step), 1.0)))
    off = np.abs(change / step - np.rint(change / step))
    return step if float((off < 0.1).mean()) > _SHARE_ON_GRID else 0.0
