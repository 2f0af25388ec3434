# SPDX-License-Identifier: Apache-2.0
import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]

most_symbols: int

def frames(
    parents: npt.NDArray[np.int64], *arrays: _Array
) -> tuple[tuple[_Array, _Array, _Array], tuple[_Array, _Array, _Array]]: ...
def dynamics(parents: npt.NDArray[np.int64], *arrays: _Array) -> tuple[tuple[_Array, _Array, _Array], ...]: ...
