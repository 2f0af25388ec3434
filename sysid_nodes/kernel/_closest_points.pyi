# SPDX-License-Identifier: Apache-2.0
import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]

def ways_out(centre: _Array, generators: _Array) -> tuple[_Array, _Array]: ...
def closest_points(
    centre: _Array, generators: _Array, enough: _Array, tolerance: float, iterations: int
) -> tuple[_Array, _Array, _Array, _Array]: ...
