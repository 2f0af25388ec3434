# SPDX-License-Identifier: Apache-2.0
import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]

class LazyProgram:
    def __init__(self, d: int) -> None: ...
    @property
    def table(self) -> _Array: ...
    def copy(self) -> LazyProgram: ...
    def remove(self, keep: npt.NDArray[np.bool_], rows: _Array) -> None: ...
    def maximise(
        self,
        objective: _Array,
        rows: _Array,
        row_lower: _Array,
        row_upper: _Array,
        scale: _Array,
        lower: _Array,
        upper: _Array,
        tolerance: float,
        constants: _Array,
        iterations: int,
        entering: int,
    ) -> tuple[int, _Array, _Array]: ...
