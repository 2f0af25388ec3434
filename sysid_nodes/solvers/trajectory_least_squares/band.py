# SPDX-License-Identifier: Apache-2.0
"""A banded symmetric matrix by stage block columns that is LAPACK's band storage at the same time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.solvers.trajectory_least_squares.problem import Array


@dataclass(frozen=True)
class Band:
    """Lower half of a symmetric matrix that couples W consecutive stages of n coordinates, with one spare diagonal.

    Coordinate j of a stage starts at j (W n + 1) within the stage's row of `storage`; entry (i, j), i counted from the
    stage's start, lies i - j further, at j W n + i: the block column of a stage is contiguous. Entries with i < j fall
    on the spare diagonal of another column and must be zero when LAPACK reads the matrix.

    Attributes:
        storage: (stages, n (W n + 1)).
        size: n.
    """

    storage: Array
    size: int

    @staticmethod
    def zeros(stages: int, size: int, width: int) -> Band:
        """The zero matrix."""
        return Band(np.zeros((stages, size * (width * size + 1))), size)

    @property
    def reach(self) -> int:
        """W n, rows of a block column."""
        return int(self.storage.shape[1] // self.size) - 1

    @property
    def columns(self) -> Array:
        """(stages, n, W n) view: [k, j, i] is the entry of row i from the start of stage k, column j of stage k."""
        return self.storage[:, : self.size * self.reach].reshape(-1, self.size, self.reach)

    @property
    def lapack(self) -> Array:
        """(W n + 1, N) view in Fortran order for ?pbtrf and its kin, lower half."""
        return self.storage.reshape(-1, self.reach + 1).T

    def copy(self) -> Band:
        """A matrix of its own memory."""
        return Band(self.storage.copy(), self.size)

    def clear_upper(self) -> None:
        """Zeroes the entries with i < j, which block products leave behind."""
        for j in range(1, self.size):
            self.columns[:, j, :j] = 0.0
