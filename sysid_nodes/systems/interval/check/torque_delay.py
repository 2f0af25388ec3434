# SPDX-License-Identifier: Apache-2.0
"""By how much the torque of a stamp is older than its position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.systems.interval.check.window_means import WindowMeans

Array = npt.NDArray[np.float64]

_MOST = 0.06
"""Delays looked for [s]."""

_GRID = 61
_PARTS = 8
"""Parts of the run of which each is left out once."""

_WINDOWS_A_COLUMN = 2
"""Windows that it takes for each number that a joint's fit takes from them."""


@dataclass(frozen=True)
class TorqueDelay:
    """Attributes: delay [s], positive where torque is late; error, its standard deviation [s]; at_end, whether the
    best delay looked for is the largest or the smallest, so that it may be beyond.
    """

    delay: float
    error: float
    at_end: bool


def torque_delay(samples: JointSamples, means: WindowMeans, rigid: Array, body: int) -> TorqueDelay | None:
    """The delay at which rigid torque, friction, armature and any payload explain the readings of all joints best.

    None with too few windows. A delay is the driver's, so all joints and all of a run share it; what friction does that
    the model lacks looks like one, too, but another one on every joint and at every time. The error is therefore the
    jackknife's, over joints and over parts of the run.

    Args:
        samples: (N).
        means: of windows cut from them (W).
        rigid: (W, n) rigid torque as described [N m].
        body: index of the link that may carry something; what it is may have been misjudged for the delay.
    """
    inside = (means.t[:, 0] >= samples.t[0] + _MOST) & (means.t[:, 1] <= samples.t[-1] - _MOST)
    n = rigid.shape[1]
    own = slice(10 * body, 10 * body + 10)
    ones = np.ones((means.count, 1))
    columns = [np.hstack([rigid[:, [k]], means.regressor[:, k, own], means.motion[:, k], ones])[inside]
               for k in range(n)]  # fmt: skip
    windows = np.arange(int(inside.sum()))
    parts = np.array_split(windows, _PARTS)
    if windows.size - len(parts[0]) < _WINDOWS_A_COLUMN * columns[0].shape[1]:
        return None
    delays = np.linspace(-_MOST, _MOST, _GRID)
    readings = _late_readings(samples, means.t[inside], delays)

    def cost(seen: npt.NDArray[np.intp]) -> Array:
        """(delays, n) less log-likelihood of each delay, the spread of each joint estimated along with it."""
        left = []
        for k in range(n):
            reading, basis = readings[:, seen, k], _basis(columns[k][seen])
            left.append((reading**2).sum(axis=1) - ((reading @ basis) ** 2).sum(axis=1))
        return np.asarray(0.5 * len(seen) * np.log(np.maximum(np.array(left).T, 1e-300)))

    whole = cost(windows)
    best = int(np.argmin(whole.sum(axis=1)))
    if best in (0, _GRID - 1):
        return TorqueDelay(float(delays[best]), np.inf, at_end=True)
    found = _lowest(delays, whole.sum(axis=1))
    by_joint = [_lowest(delays, np.delete(whole, k, axis=1).sum(axis=1)) for k in range(n)] if n > 1 else [found]
    by_part = [_lowest(delays, cost(np.setdiff1d(windows, part)).sum(axis=1)) for part in parts]
    return TorqueDelay(found, float(np.hypot(_jackknife(by_joint), _jackknife(by_part))), at_end=False)


def _late_readings(samples: JointSamples, t: Array, delays: Array) -> Array:
    """(delays, W, n) mean torques over windows t (W, 2) that are late by so much; torque is linear between samples."""
    steps = np.diff(samples.t)[:, None]
    total = np.vstack([np.zeros((1, samples.tau.shape[1])),
                       np.cumsum(0.5 * (samples.tau[1:] + samples.tau[:-1]) * steps, axis=0)])  # fmt: skip
    slope = np.diff(samples.tau, axis=0) / steps
    at = t[None] + delays[:, None, None]
    before = np.clip(np.searchsorted(samples.t, at, side="right") - 1, 0, len(steps) - 1)
    since = (at - samples.t[before])[..., None]
    impulse = total[before] + since * (samples.tau[before] + 0.5 * since * slope[before])
    return np.asarray((impulse[:, :, 1] - impulse[:, :, 0]) / np.diff(t, axis=1))


def _lowest(delays: Array, cost: Array) -> float:
    """The delay of least cost, by a parabola through the three about it."""
    best = int(np.clip(np.argmin(cost), 1, len(cost) - 2))
    low, mid, high = cost[best - 1 : best + 2]
    shift = 0.5 * (low - high) / max(low - 2.0 * mid + high, 1e-9)
    return float(delays[best] + np.clip(shift, -1.0, 1.0) * (delays[1] - delays[0]))


def _jackknife(without: list[float]) -> float:
    """Standard deviation from the values found without one part each."""
    return float(np.sqrt((len(without) - 1) * np.var(without)))


def _basis(columns: Array) -> Array:
    """Orthonormal basis of the space of some columns (W, k), which may depend on one another."""
    size = np.maximum(np.linalg.norm(columns, axis=0), 1e-12)
    left, singular, _ = np.linalg.svd(columns / size, full_matrices=False)
    return np.asarray(left[:, singular > 1e-6 * singular[0]])
