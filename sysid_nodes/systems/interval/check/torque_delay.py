# SPDX-License-Identifier: Apache-2.0
"""By how much the torque of a stamp is older than its position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.systems.interval.check.window_means import WindowMeans, window_torque

Array = npt.NDArray[np.float64]

_MOST = 0.06
"""Delays looked for [s]."""

_GRID = 25
_INDEPENDENT = 0.25
"""Share of the windows that count as independent."""


@dataclass(frozen=True)
class TorqueDelay:
    """Attributes: delay [s], positive where torque is late; error, its standard deviation [s]; at_end, whether the
    best delay looked for is the largest or the smallest, so that it may be beyond.
    """

    delay: float
    error: float
    at_end: bool


def torque_delay(samples: JointSamples, edges: npt.NDArray[np.intp], means: WindowMeans, rigid: Array) -> TorqueDelay:
    """The delay at which friction, armature and rigid torque explain the readings of all joints best.

    Args:
        samples, edges: the samples (N) and the windows cut from them (W, 2).
        means: of these windows.
        rigid: (W, n) rigid torque [N m].
    """
    delays = np.linspace(-_MOST, _MOST, _GRID)
    n = rigid.shape[1]
    bases = [
        np.linalg.qr(np.column_stack([rigid[:, k], means.motion[:, k], np.ones(means.count)]))[0] for k in range(n)
    ]
    left = np.empty((_GRID, n))
    for row, delay in enumerate(delays):
        late = np.column_stack([np.interp(samples.t + delay, samples.t, samples.tau[:, k]) for k in range(n)])
        reading = window_torque(samples.t, late, edges)
        for k, basis in enumerate(bases):
            left[row, k] = np.sum((reading[:, k] - basis @ (basis.T @ reading[:, k])) ** 2)
    independent = _INDEPENDENT * means.count
    cost = (0.5 * independent * np.log(np.maximum(left, 1e-300))).sum(axis=1)
    best = int(np.argmin(cost))
    if best in (0, _GRID - 1):
        return TorqueDelay(float(delays[best]), np.inf, at_end=True)
    step = delays[1] - delays[0]
    low, mid, high = cost[best - 1 : best + 2]
    curvature = max((low - 2.0 * mid + high) / step**2, 1e-12)
    shift = 0.5 * (low - high) / max(low - 2.0 * mid + high, 1e-12) * step
    return TorqueDelay(float(delays[best] + shift), float(1.0 / np.sqrt(curvature)), at_end=False)
