# SPDX-License-Identifier: Apache-2.0
"""Means over windows of torque readings and of what explains them; no acceleration has to be differentiated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.regressors import window_regressors
from sysid_nodes.systems.interval.check.friction_sign import STIFFNESS, friction_turn

Array = npt.NDArray[np.float64]
Edges = npt.NDArray[np.intp]

MOVES = 0.5
"""Mean sign of the velocity from which a window counts as motion in that direction."""

_TURNING = 0.01
"""Speed over which friction is taken to change its sign [rad/s]."""


@dataclass(frozen=True)
class WindowMeans:
    """Means over W windows of n joints.

    Attributes:
        t: (W, 2) first and last stamp [s].
        reading: (W, n) torque [N m].
        regressor: (W, n, 10 n) of the rigid torque on the inertial parameters.
        motion: (W, n, 3) sign of the velocity, velocity [rad/s], acceleration [rad/s2].
        place: (W, n) position in the middle [rad or m].
        turns: (W, n, 2) friction over full friction, by travel since the last turn; 0 of a sliding joint.
    """

    t: Array
    reading: Array
    regressor: Array
    motion: Array
    place: Array
    turns: Array

    @property
    def count(self) -> int:
        return len(self.t)

    @property
    def moving(self) -> npt.NDArray[np.bool_]:
        """(n,) joints that surely moved in some window."""
        return np.asarray((np.abs(self.motion[:, :, 0]) > MOVES).any(axis=0))

    def rigid(self, theta: Array) -> Array:
        """(W, n) rigid torque of inertial parameters theta (n, 10) [N m]."""
        return np.asarray(self.regressor @ theta.ravel())


def window_means(chain: Chain, samples: JointSamples, edges: Edges) -> WindowMeans:
    """Means over the windows samples[first..last], (W, 2)."""
    first, last = edges.T
    duration = (samples.t[last] - samples.t[first])[:, None]
    momentum, integral = window_regressors(chain, samples.t, samples.q, samples.qd, edges)
    sign = _integral(samples.t, np.tanh(samples.qd / _TURNING), edges)
    travel = samples.q[last] - samples.q[first]
    speed = samples.qd[last] - samples.qd[first]
    middle = 0.5 * (samples.t[first] + samples.t[last])
    return WindowMeans(
        t=samples.t[edges],
        reading=window_torque(samples.t, samples.tau, edges),
        regressor=(momentum - integral) / duration[:, :, None],
        motion=np.stack([sign, travel, speed], axis=2) / duration[:, :, None],
        place=np.column_stack([np.interp(middle, samples.t, q) for q in samples.q.T]),
        turns=_turns(chain, samples, edges) / duration[:, :, None],
    )


def _turns(chain: Chain, samples: JointSamples, edges: Edges) -> Array:
    """(W, n, k) integrals of friction over full friction, by k stiffnesses."""
    turns = np.zeros((len(edges), chain.n, len(STIFFNESS)))
    for k, stiffness in enumerate(STIFFNESS):
        by_joint = [friction_turn(q, qd, stiffness) for q, qd in zip(samples.q.T, samples.qd.T, strict=True)]
        turns[:, :, k] = _integral(samples.t, np.column_stack(by_joint), edges) * chain.tree.revolute
    return turns


def window_torque(t: Array, tau: Array, edges: Edges) -> Array:
    """(W, n) mean of torques tau (N, n) at stamps t over each window."""
    return np.asarray(_integral(t, tau, edges) / (t[edges[:, 1]] - t[edges[:, 0]])[:, None])


def _integral(t: Array, values: Array, edges: Edges) -> Array:
    """(W, n) trapezoid integrals of values (N, n)."""
    steps = 0.5 * (values[1:] + values[:-1]) * np.diff(t)[:, None]
    total = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(steps, axis=0)])
    return np.asarray(total[edges[:, 1]] - total[edges[:, 0]])
