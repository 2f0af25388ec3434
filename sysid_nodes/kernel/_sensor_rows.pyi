# SPDX-License-Identifier: Apache-2.0
import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel.sensor_rows import Moved, Read

_Array = npt.NDArray[np.float64]

class SensorRows:
    def __init__(
        self,
        kind: int,
        window: int,
        step: float,
        adjoint: _Array,
        offset: _Array,
        turn: _Array,
        sigma: _Array,
        extra: _Array,
        has_bias: bool,
        has_offset: bool,
        late: bool,
    ) -> None: ...
    def residual(self, motion: Moved, samples: Read, constants: _Array) -> _Array: ...
    def linearise(
        self, motion: Moved, samples: Read, constants: _Array, column: int, count: int
    ) -> tuple[_Array, _Array, _Array, _Array]: ...
