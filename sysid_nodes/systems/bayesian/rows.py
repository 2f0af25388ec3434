# SPDX-License-Identifier: Apache-2.0
"""Derivatives of residuals in the motion of their stage, in the forces there and in all constants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.systems.bayesian.mechanism import Torque

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Rows:
    """Derivatives of m rows at K stages: (K, m, n) by q, v and a, (K, m, c) by forces, (K, m, P) by x."""

    by_q: Array
    by_v: Array
    by_a: Array
    by_force: Array
    by_x: Array

    @staticmethod
    def zeros(count: int, rows: int, n: int, forces: int, constants: int) -> Rows:
        """Of rows that are to be filled in."""
        return Rows(*(np.zeros((count, rows, k)) for k in (n, n, n, forces, constants)))

    @staticmethod
    def of(found: Torque, joints: IntArray) -> Rows:
        parts = (found.by_q, found.by_v, found.by_a, found.by_force, found.by_x)
        return Rows(*(part[:, joints].copy() for part in parts))

    def of_joints(self, joints: IntArray) -> Rows:
        return self._map(lambda part: part[:, joints])

    def _map(self, change: object) -> Rows:
        parts = (self.by_q, self.by_v, self.by_a, self.by_force, self.by_x)
        return Rows(*(change(part) for part in parts))  # type: ignore[operator]

    def at(self, index: IntArray) -> Rows:
        return self._map(lambda part: part[index])

    def scale(self, factor: float | Array) -> Rows:
        by_row = np.asarray(factor)[..., None]
        return self._map(lambda part: part * by_row)

    def weighted_sum(self, weight: Array) -> Rows:
        """One row, the sum with weights (K, m)."""
        return self._map(lambda part: np.einsum("km,kmj->kj", weight, part)[:, None])

    def through(self, mixing: Array) -> Rows:
        """Rows mixed at each stage (K, m', m)."""
        return self._map(lambda part: mixing @ part)
