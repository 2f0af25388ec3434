# SPDX-License-Identifier: Apache-2.0
import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.int64]

def joint_rollout(
    signals: _Array,
    law: _Array,
    first: _Indices,
    start: _Array,
    active: _Indices,
    step: float,
    stride: int,
    smoothing: float,
    hard: bool,
) -> tuple[_Array, _Array]: ...
def joint_adjoint(
    by_position: _Array, by_velocity: _Array, to_position: _Array, to_velocity: _Array, step: float
) -> _Array: ...
