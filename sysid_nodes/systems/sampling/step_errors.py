# SPDX-License-Identifier: Apache-2.0
"""Errors of the simulations' steps in the residuals of C clips with R each, as a covariance of every clip's own."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def changes(own: Array, half: Array, quarter: Array) -> Array:
    """(2, C, R) by which half and a quarter of the step change residuals (C, R); none where a simulation has failed."""
    parts = np.array([half, quarter]) - own
    return np.where(np.isfinite(parts).all(axis=0), parts, 0.0)


def unknown_parts(half: Array, quarter: Array) -> Array:
    """(2, C, R) unknown parts of what no step would leave, by the changes of `changes`.

    The first is by how much whole and half steps would have it otherwise than half and quarter ones, errors of
    simulations being proportional to the step; the second what half a step changes.
    """
    return np.array([2.0 * quarter - 3.0 * half, half])


def whiten(columns: Array, rough: Array) -> Array:
    """Columns (C, R, M) of errors with covariances I + sum_e s_e s_e', s_e (C, R) of `rough`, as of errors with I."""
    columns = np.concatenate([np.moveaxis(rough, 0, 2), columns], axis=2)
    for k in range(len(rough)):  # each once those before it are of the unit
        size = np.linalg.norm(columns[..., k], axis=1)[:, None, None]
        along = np.divide(columns[..., k : k + 1], size, out=np.zeros_like(columns[..., :1]), where=size > 0.0)
        columns = columns - (1.0 - 1.0 / np.hypot(1.0, size)) * along * (np.swapaxes(along, 1, 2) @ columns)
    return np.asarray(columns[..., len(rough) :])
