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

_GRID, _FINE = 25, 11
_FEWEST = 10
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


def torque_delay(
    samples: JointSamples, edges: npt.NDArray[np.intp], means: WindowMeans, rigid: Array, body: int
) -> TorqueDelay:
    """The delay at which rigid torque, friction, armature and any payload explain the readings of all joints best.

    Args:
        samples, edges: the samples (N) and the windows cut from them (W, 2).
        means: of these windows.
        rigid: (W, n) rigid torque as described [N m].
        body: index of the link that may carry something; what it is may have been misjudged for the delay.
    """
    inside = (means.t[:, 0] >= samples.t[0] + _MOST) & (means.t[:, 1] <= samples.t[-1] - _MOST)
    if inside.sum() < _FEWEST:
        return TorqueDelay(0.0, np.inf, at_end=True)
    n = rigid.shape[1]
    own = slice(10 * body, 10 * body + 10)
    ones = np.ones((means.count, 1))
    bases = [_basis(np.hstack([rigid[:, [k]], means.regressor[:, k, own], means.motion[:, k], ones])[inside])
             for k in range(n)]  # fmt: skip

    def cost(delay: float) -> float:
        """Less log-likelihood of a delay [s], the spread of each joint estimated along with it."""
        late = np.column_stack([np.interp(samples.t + delay, samples.t, samples.tau[:, k]) for k in range(n)])
        reading = window_torque(samples.t, late, edges[inside])
        left = [
            np.sum((column - basis @ (basis.T @ column)) ** 2) for column, basis in zip(reading.T, bases, strict=True)
        ]
        return 0.5 * _INDEPENDENT * float(inside.sum()) * float(np.log(np.maximum(left, 1e-300)).sum())

    delays = np.linspace(-_MOST, _MOST, _GRID)
    costs = np.array([cost(delay) for delay in delays])
    best = int(np.argmin(costs))
    if best in (0, _GRID - 1):
        return TorqueDelay(float(delays[best]), np.inf, at_end=True)
    step = float(delays[1] - delays[0])
    fine = np.linspace(delays[best] - step, delays[best] + step, _FINE)
    costs = np.array([cost(delay) for delay in fine])
    best = int(np.clip(np.argmin(costs), 1, _FINE - 2))
    step = float(fine[1] - fine[0])
    low, mid, high = costs[best - 1 : best + 2]
    bend = max(low - 2.0 * mid + high, 1e-9)
    shift = float(np.clip(0.5 * (low - high) / bend, -1.0, 1.0)) * step
    return TorqueDelay(float(fine[best]) + shift, step / float(np.sqrt(bend)), at_end=False)


def _basis(columns: Array) -> Array:
    """Orthonormal basis of the space of some columns (W, k), which may depend on one another."""
    size = np.maximum(np.linalg.norm(columns, axis=0), 1e-12)
    left, singular, _ = np.linalg.svd(columns / size, full_matrices=False)
    return np.asarray(left[:, singular > 1e-6 * singular[0]])
