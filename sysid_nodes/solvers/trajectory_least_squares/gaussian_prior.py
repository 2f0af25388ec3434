# SPDX-License-Identifier: Apache-2.0
"""A Gaussian prior on a few consecutive stages and the parameters, in square-root information form."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks


@dataclass(frozen=True)
class GaussianPrior:
    """The cost |root d + offset|^2 / 2 of the differences d from a reference: stages in order, then parameters.

    On a manifold d is a tangent difference that the problem computes (logarithm at the reference). Positive
    semidefinite whatever the numbers are. Rows may be fewer than coordinates: no knowledge of the rest.

    Attributes:
        root: (r, width * n + p) square root of the information.
        offset: (r,) whitened residual at the reference itself.
        size: n.
        parameters: p.
        first: first stage.
    """

    root: Array
    offset: Array
    size: int
    parameters: int = 0
    first: int = 0

    def __post_init__(self) -> None:
        spare = self.root.shape[-1] - self.parameters
        if self.root.ndim != 2 or self.offset.shape != self.root.shape[:1] or spare < self.size or spare % self.size:
            raise SamplesError(
                f"a prior needs root (r, width * {self.size} + {self.parameters}) and offset (r,), "
                f"got {self.root.shape} and {self.offset.shape}"
            )

    @staticmethod
    def from_sigmas(stage: Array, parameter: Array | None = None) -> GaussianPrior:
        """Independent priors centred on the reference: (width, n) or (n,) sigmas of stages and (p,) of parameters.

        An infinite sigma means that nothing is known.

        Raises:
            SamplesError: a sigma is not positive.
        """
        stage = np.atleast_2d(stage)
        parameter = np.zeros(0) if parameter is None else parameter
        sigmas = np.concatenate([stage.ravel(), parameter])
        if not np.all(sigmas > 0.0):
            raise SamplesError("sigmas of a prior must be positive")
        known = np.isfinite(sigmas)
        return GaussianPrior(np.diag(1.0 / sigmas)[known], np.zeros(known.sum()), stage.shape[1], parameter.size)

    @property
    def width(self) -> int:
        """Stages the prior spans."""
        return int((self.root.shape[1] - self.parameters) // self.size)

    def at(self, first: int) -> GaussianPrior:
        """The same prior on stages from `first`: a moving window counts its stages anew."""
        return replace(self, first=first)

    def residual(self, stage_difference: Array, parameter_difference: Array | None = None) -> Array:
        """(1, r) whitened residual at (width, n) and (p,) differences from the reference."""
        parameter = np.zeros(self.parameters) if parameter_difference is None else parameter_difference
        difference = np.concatenate([stage_difference.ravel(), parameter])
        return np.asarray(self.root @ difference + self.offset)[None]

    def blocks(
        self,
        stage_difference: Array,
        parameter_difference: Array | None = None,
        difference_jacobian: Array | None = None,
    ) -> Blocks:
        """The prior as a residual block.

        Args:
            stage_difference: (width, n) from the reference.
            parameter_difference: (p,), or None for zero.
            difference_jacobian: (width, n, n) of each stage's difference with respect to its tangent step; None where
                that is the identity.
        """
        split = self.width * self.size
        jacobian = self.root[:, :split]
        if difference_jacobian is not None:
            parts = jacobian.reshape(-1, self.width, self.size)
            jacobian = np.einsum("rwi,wij->rwj", parts, difference_jacobian).reshape(-1, split)
        return Blocks(
            np.array([self.first]),
            self.residual(stage_difference, parameter_difference),
            jacobian[None],
            self.root[None, :, split:] if self.parameters else None,
        )
