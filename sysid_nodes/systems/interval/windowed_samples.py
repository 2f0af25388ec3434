# SPDX-License-Identifier: Apache-2.0
"""Samples cut into windows, with sums and maxima over each window."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_samples import JointSamples

Array = npt.NDArray[np.float64]
Edges = npt.NDArray[np.intp]


@dataclass(frozen=True)
class WindowedSamples:
    """N samples and W windows of them.

    Attributes:
        edges: (W, 2) first and last sample of each window, both included; windows may share these.
        stamp_error: largest error of a stamp [s].
        sign_certain: (N - 1, n) whether a velocity keeps its sign between two samples.
    """

    samples: JointSamples
    edges: Edges
    stamp_error: float
    sign_certain: npt.NDArray[np.bool_]

    @cached_property
    def dt(self) -> Array:
        """(N - 1, 1) sample intervals [s]."""
        return np.asarray(np.diff(self.samples.t)[:, None])

    @cached_property
    def duration(self) -> Array:
        """(W,) [s]."""
        return np.asarray(self.samples.t[self.edges[:, 1]] - self.samples.t[self.edges[:, 0]])

    def sum(self, intervals: Array) -> Array:
        """(W, k) sums of the values (N - 1, k) of sample intervals over each window."""
        return np.asarray(np.add.reduceat(*self._up_to_the_end(intervals), axis=0)[::2])

    @property
    def posture(self) -> Array:
        """(W, n) mean positions [rad or m]."""
        q = self.samples.q
        return self.sum(0.5 * (q[1:] + q[:-1]) * self.dt) / self.duration[:, None]

    def maximum(self, intervals: Array) -> Array:
        """(W, k) largest of the values (N - 1, k) of sample intervals in each window."""
        return np.asarray(np.maximum.reduceat(*self._up_to_the_end(intervals), axis=0)[::2])

    def any(self, intervals: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """(W,) whether something (N - 1, k) is true of some sample interval of each window."""
        padded = np.append(intervals.any(axis=1), False)
        return np.asarray(np.logical_or.reduceat(padded, self.edges.ravel())[::2])

    def _up_to_the_end(self, intervals: Array) -> tuple[Array, npt.NDArray[np.intp]]:
        """Values and edges for `reduceat`, which has no index behind the last value but takes that for the end."""
        at, end = self.edges.ravel(), len(intervals)
        if (at[:-1] == end).any():  # of a window that is not the last: some value behind, which is in no window
            return np.vstack([intervals, intervals[-1:]]), at
        return intervals, at[:-1] if at[-1] == end else at
