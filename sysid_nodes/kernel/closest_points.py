# SPDX-License-Identifier: Apache-2.0
"""The compiled search for closest points, where it was built; see models/closest_point.py and separation.py."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel import implementation

try:
    from sysid_nodes.kernel import _closest_points
except ImportError:
    _closest_points = None  # type: ignore[assignment]

Array = npt.NDArray[np.float64]


def closest_points(
    centre: Array, generators: Array, enough: Array, tolerance: float, iterations: int, *, kernel: str = ""
) -> tuple[Array, Array, Array, Array] | None:
    """Points (N, 3), coefficients (N, G), directions (N, 3) and heights (N,); None where the reference is to do it.

    Args:
        centre, generators: (N, 3) and (N, G, 3) of the bodies.
        enough: (N,) distances at which the search may stop.
        tolerance, iterations: as of the reference.
        kernel: see `kernel.implementation`.

    Raises:
        ConfigError: see `kernel.implementation`.
    """
    if implementation(kernel) != "compiled" or _closest_points is None:
        return None
    arrays = [np.ascontiguousarray(x, dtype=np.float64) for x in (centre, generators, enough)]
    return _closest_points.closest_points(arrays[0], arrays[1], arrays[2], tolerance, iterations)


def ways_out(centre: Array, generators: Array) -> tuple[Array, Array] | None:
    """Minus the lengths (N,) of the shortest ways that take the origin out of bodies, and their directions (N, 3).

    None where the reference is to do it.

    Args:
        centre, generators: (N, 3) and (N, G, 3) of the bodies.

    Raises:
        ConfigError: see `kernel.implementation`.
    """
    if implementation() != "compiled" or _closest_points is None:
        return None
    return _closest_points.ways_out(*(np.ascontiguousarray(x, dtype=np.float64) for x in (centre, generators)))
