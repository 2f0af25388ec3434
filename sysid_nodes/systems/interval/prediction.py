# SPDX-License-Identifier: Apache-2.0
"""Measured and predicted torque as means over windows, for which no velocity has to be differentiated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.systems.interval.estimate.window_model import WindowModel
from sysid_nodes.systems.interval.momentum_rows import MomentumRows
from sysid_nodes.systems.interval.unknowns import Unknowns

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TorquePrediction:
    """Attributes: t (W,) middle of each window [s]; measured, predicted, radius (W, n) mean torque [N m]."""

    t: Array
    measured: Array
    predicted: Array
    radius: Array


class TorqueArchive:
    """Keeps a bounded, evenly thinned set of windows for the report.

    Args:
        unknowns: parameters of the rows.
        limit: windows kept at most.
    """

    def __init__(self, unknowns: Unknowns, limit: int = 1500) -> None:
        self._unknowns, self._limit = unknowns, limit
        self._stride, self._seen = 1, 0
        self._kept: list[tuple[Array, Array, Array]] = []

    def add(self, rows: MomentumRows) -> None:
        """Takes the rows of some windows."""
        for t, coefficients, radius in zip(rows.t, rows.coefficients, rows.radius.sum(axis=2), strict=True):
            if self._seen % self._stride == 0:
                self._kept.append((t, coefficients, radius))
            self._seen += 1
        if len(self._kept) > self._limit:
            self._kept = self._kept[::2]
            self._stride *= 2

    def predict(self, known: Array, theta: Array) -> TorquePrediction:
        """Mean torques with the body at theta (10,) and the known robot at (16 n,), load friction included."""
        n = self._unknowns.joints
        if not self._kept:
            empty = np.zeros((0, n))
            return TorquePrediction(np.zeros(0), empty, empty, empty)
        t = np.array([entry[0] for entry in self._kept])
        duration = t[:, 1] - t[:, 0]
        rows = np.array([entry[1] for entry in self._kept])[:, :, : 15 * n] / duration[:, None, None]
        radius = np.array([entry[2] for entry in self._kept])
        count = len(t)
        none = np.zeros((count, n))
        model = WindowModel(n, self._unknowns.body, rows, none, np.zeros(count, dtype=np.intp), none)
        left, _ = model.residual(np.concatenate([known, theta]))
        return TorquePrediction(t.mean(axis=1), model.measured, model.measured + left, radius / duration[:, None])
