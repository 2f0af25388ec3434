# SPDX-License-Identifier: Apache-2.0
import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.int64]

worthwhile: bool

def add_blocks(
    groups: list[tuple[_Indices, _Array, _Array, _Array, _Array, _Indices, _Array]],
    local_first: _Indices,
    band: _Array,
    border: _Array,
    corner: _Array,
    gradient: _Array,
    parameter_gradient: _Array,
    hessian: _Array,
    by_stage: _Array,
    by_parameter: _Array,
    local_gradient: _Array,
) -> None: ...
def factorise(
    equations: tuple[_Array, ...],
    damping: float,
    local_first: _Indices,
    used: npt.NDArray[np.bool_],
    roots: _Array,
    rows: _Array,
    band: _Array,
    border: _Array,
    corner: _Array,
    gradient: _Array,
    parameter_gradient: _Array,
) -> bool: ...
def solve_band(band: _Array, first: int, transposed: bool, rows: _Array) -> None: ...
def invert(
    begin: int,
    width: int,
    local_first: _Indices,
    used: npt.NDArray[np.bool_],
    band: _Array,
    border: _Array,
    parameter: _Array,
    roots: _Array,
    rows: _Array,
    stage: _Array,
    cross: _Array,
    neighbour: _Array,
    second: _Array,
    local: _Array,
) -> None: ...
def leverages(
    reach: int,
    first: _Indices,
    shift: _Indices,
    jacobian: _Array,
    parameter: _Array,
    local: _Array,
    owner: _Indices,
    roots: _Array,
    rows: _Array,
    stage: _Array,
    neighbour: _Array,
    second: _Array,
    cross: _Array,
    covariance: _Array,
    out: _Array,
) -> None: ...
def gains(
    first: _Indices,
    jacobian: _Array,
    parameter: _Array,
    local: _Array,
    owner: _Indices,
    local_first: _Indices,
    roots: _Array,
    rows: _Array,
    by_stage: _Array,
    by_parameter: _Array,
    out: _Array,
) -> None: ...
