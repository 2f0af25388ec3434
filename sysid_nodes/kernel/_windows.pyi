# SPDX-License-Identifier: Apache-2.0
import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]

def bound_positions(
    q: _Array,
    qd: _Array,
    dt: _Array,
    edges: npt.NDArray[np.int64],
    error: _Array,
    creep: _Array,
    rounding: float,
) -> tuple[_Array, _Array, _Array, _Array]: ...
def sign_certain(dt: _Array, v: _Array, error: _Array, acceleration: _Array) -> npt.NDArray[np.bool_]: ...
