# SPDX-License-Identifier: Apache-2.0
"""Eigenvectors of symmetric matrices, whatever LAPACK's iterations do.

NumPy asks for divide and conquer, which on rare matrices does not converge, and above 25 rows passes on what is not a
number without a word. The QR iteration is slower and does without it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import linalg

Array = npt.NDArray[np.float64]


def eigenvectors(matrix: Array) -> tuple[Array, Array]:
    """(K,) eigenvalues, ascending, and (K, K) eigenvectors in columns; not a number where there are none to be found.

    Args:
        matrix: (K, K), symmetric.
    """
    for find in (np.linalg.eigh, _by_qr_iteration):
        try:
            values, vectors = find(matrix)
        except (np.linalg.LinAlgError, ValueError):  # ValueError: SciPy of entries that are not finite
            continue
        if np.isfinite(values).all() and np.isfinite(vectors).all():
            return values, vectors
    return np.full(len(matrix), np.nan), np.full(matrix.shape, np.nan)


def _by_qr_iteration(matrix: Array) -> tuple[Array, Array]:
    values, vectors = linalg.eigh(matrix, driver="ev")
    return values, vectors
