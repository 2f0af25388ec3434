# SPDX-License-Identifier: Apache-2.0
"""Losses of clips: outliers pull no harder, and a clip that simulations follow badly tells less than the others.

A clip with a landing in it fits to 1.5 to 3 times the noise whatever its start and the parameters, one without to the
noise. Weighed alike, it is mostly the former that decide: of a log that stands, trots and hops a mass came out 2 % off
that the part without hops tells to 0.4 %. Each clip is therefore weighed by the variance of its own residuals, where
that is more than noise: generalised least squares with variances by groups, iterated with the search (Carroll and
Ruppert, Transformation and Weighting in Regression, 1988, chapter 2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.trajectory_least_squares.robust import Huber

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ClipLoss:
    """Loss of the squared residuals of C clips.

    Attributes:
        each: of a single residual.
        weight: (C,) of all that a clip has; 1 where noise explains it.
    """

    each: Huber
    weight: Array

    @classmethod
    def choose(cls, residual: Array, clips: int, robust: float) -> ClipLoss | None:
        """For residuals of so many clips as they are, of any shape, clip by clip; None: `robust` is 0.

        Huber's begins at so many times their spread, or the sensors' noise if that is more: residuals within the noise
        are no outliers, however much better most others fit.
        """
        spread = Huber.at_spread(residual, robust)
        if spread is None:
            return None
        each, own = Huber(max(spread.threshold, robust)), residual.reshape(clips, -1)
        variance = each(own**2)[0].sum(axis=1) / np.maximum((own != 0.0).sum(axis=1), 1)
        return cls(each, 1.0 / np.maximum(variance, 1.0))

    def __call__(self, squared: Array) -> tuple[Array, Array]:
        """rho and rho' at squares of any shape, clip by clip."""
        value, slope = (part.reshape(len(self.weight), -1) for part in self.each(squared))
        weight = self.weight[:, None]
        return (weight * value).reshape(squared.shape), (weight * slope).reshape(squared.shape)
