# SPDX-License-Identifier: Apache-2.0
"""Value of a motion: optimality criteria (Pukelsheim, Optimal Design of Experiments, 2006).

They are of the parameters that people ask for, each in units of the precision that is asked of it, so that kilograms,
metres and newton metres count alike; the paper's tr(F^-1) is A with all coordinates in their own units. T is what its
public release maximises. T ignores that parameters can be mistaken for one another; it is here to compare.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError

Array = npt.NDArray[np.float64]


def criterion(name: str, information: Array, covariance: Array, slopes: Array) -> float:
    """The cost of what a motion tells: less is better; infinite where the parameters cannot be told.

    Args:
        name: A, D, E or T.
        information: (K, K), which T is of.
        covariance: (K, K), which the others are of.
        slopes: (Q, K) derivatives of the parameters asked for, each over what is asked of it.

    Raises:
        ConfigError: there is no such criterion.
    """
    if not (np.isfinite(information).all() and np.isfinite(covariance).all()):
        return np.inf
    if name == "T":
        back = np.linalg.pinv(slopes)
        return -float(np.trace(back.T @ information @ back))
    asked = slopes @ covariance @ slopes.T
    values = np.linalg.eigvalsh(0.5 * (asked + asked.T))
    if not values[0] > 0.0:
        return np.inf
    if name == "A":
        return float(values.sum())
    if name == "D":
        return float(np.log(values).sum())
    if name == "E":
        return float(values[-1])
    raise ConfigError(f"there is no criterion '{name}'; there are A, D, E and T")


def invert(information: Array) -> Array:
    """(K, K) covariance of an information (K, K), scaled to a unit diagonal before it is inverted."""
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    kept = np.maximum(values, 1e-12 * values[-1])
    return np.asarray((vectors / kept) @ vectors.T / np.outer(scale, scale))
