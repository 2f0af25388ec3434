# SPDX-License-Identifier: Apache-2.0
import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel.window import WindowColumns, WindowSurroundings

_Array = npt.NDArray[np.float64]

class StageKernel:
    def __init__(
        self,
        parents: npt.NDArray[np.int64],
        rotation: _Array,
        translation: _Array,
        axis: _Array,
        revolute: npt.NDArray[np.bool_],
        gravity: _Array,
        contact_bodies: npt.NDArray[np.int64],
        contact_offsets: _Array,
    ) -> None: ...
    def kinematics(self, q: _Array) -> tuple[_Array, _Array, _Array, _Array]: ...
    def dynamics(
        self, q: _Array, velocity: _Array, acceleration: _Array, inertia: _Array, force: _Array, moment: _Array
    ) -> _Array: ...
    def dynamics_derivatives(
        self,
        q: _Array,
        velocity: _Array,
        acceleration: _Array,
        inertia: _Array,
        force: _Array,
        moment: _Array,
        bodies: npt.NDArray[np.int64],
    ) -> tuple[_Array, _Array, _Array, _Array, _Array]: ...

class WindowKernel:
    def __init__(
        self,
        parents: npt.NDArray[np.int64],
        rotation: _Array,
        translation: _Array,
        axis: _Array,
        revolute: npt.NDArray[np.bool_],
        gravity: _Array,
        contact_bodies: npt.NDArray[np.int64],
        contact_offsets: _Array,
        axes: _Array,
        radii: _Array,
        height: float,
        contact: _Array,
        rest: float,
    ) -> None: ...
    def residual(
        self, q: _Array, w: _Array, surroundings: WindowSurroundings
    ) -> tuple[_Array, _Array, _Array, _Array, _Array, _Array]: ...
    def blocks(
        self, q: _Array, w: _Array, surroundings: WindowSurroundings, columns: WindowColumns
    ) -> tuple[_Array, _Array, _Array, _Array, _Array, _Array, _Array, _Array, _Array]: ...
    def solve_contacts(
        self, q: _Array, w: _Array, surroundings: WindowSurroundings, iterations: int, tolerance: float, turns: bool
    ) -> tuple[_Array, _Array, _Array, _Array, _Array, _Array, _Array]: ...
