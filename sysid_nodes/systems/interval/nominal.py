# SPDX-License-Identifier: Apache-2.0
"""Physically consistent least squares inside the proven bounds."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.inertia import PSEUDO_INERTIA_BASIS
from sysid_nodes.solvers.semidefinite import constrained_quadratic
from sysid_nodes.systems.interval.unknowns import Unknowns

Array = npt.NDArray[np.float64]

_MARGIN = 1e-9
"""Smallest eigenvalue asked of the pseudo-inertia, relative to the mass, so that the estimate is strictly physical."""


class NominalEstimator:
    """Weighted least squares over all unknowns with the known robot's box as a Gaussian prior.

    Each row is weighted with its error radius; each unknown of the known robot has the variance of a uniform
    distribution over its interval. The known robot is eliminated by a Schur complement, so that a ten-dimensional
    semidefinite program remains, whatever the amount of data.
    """

    def __init__(self, unknowns: Unknowns) -> None:
        self._unknowns = unknowns
        self._hessian = np.zeros((unknowns.size, unknowns.size))
        self._gradient = np.zeros(unknowns.size)

    def add(self, rows: Array, offset: Array, radius: Array) -> None:
        """Takes rows (m, d) on xi with ``rows @ xi + offset`` in [-radius, radius]."""
        weight = 1.0 / np.maximum(radius, 1e-12)
        a, b = rows * weight[:, None], offset * weight
        self._hessian += a.T @ a
        self._gradient += a.T @ b

    def add_calibration(self, information: Array) -> None:
        """Takes the information (15 n, 15 n) of a calibration's rows, which hold without what is identified."""
        basis = self._unknowns.basis.copy()
        basis[:, :10] = 0.0
        self._hessian += basis.T @ information @ basis
        self._gradient += basis.T @ information @ self._unknowns.known_centre

    def unconstrained_estimate(self) -> Array:
        """(d,) unconstrained estimate of all xi, for prediction."""
        prior = np.full(self._unknowns.size, 3.0)
        return np.asarray(-np.linalg.solve(self._hessian + np.diag(prior), self._gradient))

    def solve(self, bounds: Bounds) -> Array:
        """(10,) estimate inside the bounds."""
        unknowns = self._unknowns
        prior = np.concatenate([np.full(10, 1e-9), np.full(unknowns.size - 10, 3.0)])
        h = self._hessian + np.diag(prior)
        rest = np.linalg.solve(h[10:, 10:], np.column_stack([h[10:, :10], self._gradient[10:]]))
        hessian = h[:10, :10] - h[:10, 10:] @ rest[:, :10]
        gradient = self._gradient[:10] - h[:10, 10:] @ rest[:, 10]
        centre, scale = unknowns.prior.centre, unknowns.prior.half_width.copy()
        scale[scale == 0.0] = 1.0
        lower, upper = (bounds.lower - centre) / scale, (bounds.upper - centre) / scale
        # theta = centre + scale x: the constant part of the pseudo-inertia enters as one more, fixed, coordinate.
        matrices = np.concatenate(
            [PSEUDO_INERTIA_BASIS * scale[:, None, None], np.tensordot(centre, PSEUDO_INERTIA_BASIS, axes=1)[None]]
        )
        size = float(np.trace(hessian)) or 1.0
        x = constrained_quadratic(
            np.pad(hessian, (0, 1)) / size,
            np.append(gradient, 0.0) / size,
            np.append(lower, 1.0),
            np.append(upper, 1.0),
            [(matrices, _MARGIN * max(float(bounds.upper[0]), 1e-6))],
        )
        theta = bounds.centre if x is None else centre + scale * x[:10]
        return np.clip(theta, bounds.lower, bounds.upper)
