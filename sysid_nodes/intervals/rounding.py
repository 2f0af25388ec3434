# SPDX-License-Identifier: Apache-2.0
"""Outward rounding: the one place where the errors of binary64 arithmetic are bounded.

Assumptions: IEEE 754 binary64 with gradual underflow, rounded to nearest, in NumPy and BLAS. Then a sum, product,
quotient or square root that does not overflow is `exact * (1 + d) + e` with `|d| <= U = 2^-53` and `|e| <= 2^-1075`,
where e = 0 for sums and differences. A chain of n of them, in any order and with or without fused multiply-adds, has
`|d| <= n U / (1 - n U)` (Higham, Accuracy and Stability of Numerical Algorithms, lemma 3.1).

Sines and cosines: `LIBM` is the relative error allowed to `numpy.sin` and `numpy.cos`. The C library is within 1 ulp
of the exact value and NumPy's vector code within 4; an ulp is at most 2^-52 of the value.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

EPS = 2.0**-52
"""Twice the unit roundoff U, so that `n * EPS` exceeds `n U / (1 - n U)` and the error of applying it."""

TINY = 2.0**-1022
"""Smallest normal number: more than all the underflows of one operation, and no slow subnormal number."""

LIBM = 6.0 * EPS
"""Relative error allowed to a sine or cosine: 4 ulp, and 2 more for the arithmetic that applies it."""


def next_up(x: Array) -> Array:
    """Upper bound of the exact result that was rounded to x."""
    return np.nextafter(x, np.inf)


def grow(x: Array, operations: int) -> Array:
    """Upper bound of an exact x >= 0 computed in `operations` roundings or fewer from terms that are all >= 0.

    With n roundings, `exact <= (x + n 2^-1075) / (1 - U)^n`. The factor is `1 + 2 (n + 2) U`: n of the 2 n cover the
    chain, for n up to 2^40, and the rest the rounding of the factor and of the product. TINY covers n + 1 underflows.
    NaN stays NaN, overflow gives inf.
    """
    return x * (1.0 + (operations + 2) * EPS) + TINY
