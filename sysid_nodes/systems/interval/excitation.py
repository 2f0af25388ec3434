# SPDX-License-Identifier: Apache-2.0
"""Excitation: how well the motion so far distinguishes the body's ten parameters."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.bounds import PARAMETER_NAMES, Bounds
from sysid_nodes.results.identification import Excitation

Array = npt.NDArray[np.float64]

_SHARE = 0.3
"""Entries of a direction below this share of its largest are left out of its name."""


class ExcitationMeter:
    """Accumulates the Gram matrix of the body's regressor; constant memory.

    Args:
        prior: box that scales the parameters against one another.
    """

    def __init__(self, prior: Bounds) -> None:
        self._scale = np.maximum(prior.half_width, 1e-12)
        self._gram = np.zeros((10, 10))
        # A parameter that the prior knows exactly cannot be blind: it starts with information, and no row adds to it.
        self._information = np.diag(np.where(prior.half_width > 0.0, 0.0, 4.0))

    def add(self, regressor: Array, radius: Array) -> None:
        """Takes rows Y (m, 10) of the body's regressor with their error radii (m,)."""
        self._gram += regressor.T @ regressor
        weighted = regressor * (self._scale / np.maximum(radius, 1e-12)[:, None])
        self._information += weighted.T @ weighted

    def measure(self) -> Excitation:
        """Condition number of Y and the directions in which data say less than the prior.

        A unit direction in the scaled parameters is blind when moving along it by the prior's half-width changes the
        rows by less than their error radii, in the root of the sum of squares.
        """
        values = np.linalg.eigvalsh(self._gram)
        smallest, largest = float(values[0]), float(values[-1])
        # Squaring halves the digits: below 1e-14 of the largest an eigenvalue of Y'Y is rounding.
        full = largest > 0.0 and smallest > 1e-14 * largest
        scaled, directions = np.linalg.eigh(self._information)
        singular = np.sqrt(np.maximum(scaled, 0.0))
        blind = tuple(_name(directions[:, k]) for k in np.flatnonzero(singular < 1.0))
        return Excitation(float(np.sqrt(largest / smallest)) if full else float("inf"), singular[::-1].copy(), blind)


def _name(direction: Array) -> str:
    """A direction in words: the parameter it is, or the mix of those that matter."""
    size = np.abs(direction)
    order = [int(k) for k in np.argsort(-size) if size[k] >= _SHARE * size.max()]
    sign = np.sign(direction[order[0]])
    parts = [PARAMETER_NAMES[order[0]]]
    parts += [("+ " if sign * direction[k] > 0.0 else "- ") + PARAMETER_NAMES[k] for k in order[1:]]
    return " ".join(parts)
