# SPDX-License-Identifier: Apache-2.0
import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.int64]

def pivots(
    table: _Array,
    basic: _Indices,
    nonbasic: _Indices,
    at_upper: npt.NDArray[np.bool_],
    cost: _Array,
    value: _Array,
    place: _Array,
    lower: _Array,
    upper: _Array,
    tolerances: _Array,
    limit: int,
) -> int: ...
