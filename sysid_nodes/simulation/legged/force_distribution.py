# SPDX-License-Identifier: Apache-2.0
"""Ground forces that give a wanted wrench: least squares over the friction pyramids of the feet on the ground."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from sysid_nodes.robots.robot import Array


def distribute(points: Array, wrench: Array, friction: float, *, weights: Array, regularisation: Array) -> Array:
    """Forces f in the pyramids that minimise |W (G f - wrench)|^2 + sum r_i |f_i|^2.

    Each force is a non-negative combination of its pyramid's four edges, so that the program is non-negative least
    squares. The pyramid is inscribed in the friction cone.

    Args:
        points: (k, 3) where the forces act, relative to the wrench's reference point [m].
        wrench: (6,) wanted force and moment [N, N m].
        friction: coefficient.
        weights: (6,) diagonal of W.
        regularisation: (k,) r_i; a large one unloads a foot.

    Returns:
        (k, 3) forces on the robot, in the world [N].
    """
    count = len(points)
    if not count:
        return np.zeros((0, 3))
    edges = np.array([[friction, 0.0, 1.0], [-friction, 0.0, 1.0], [0.0, friction, 1.0], [0.0, -friction, 1.0]])
    ex, ey, ez = edges.T[:, None, :]
    x, y, z = points.T[:, :, None]
    rows = np.zeros((6 + 3 * count, count, 4))
    rows[0], rows[1], rows[2] = ex, ey, ez
    rows[3], rows[4], rows[5] = y * ez - z * ey, z * ex - x * ez, x * ey - y * ex
    rows[:6] *= weights[:, None, None]
    own = np.arange(count)
    rows[6:].reshape(count, 3, count, 4)[own, :, own] = np.sqrt(regularisation)[:, None, None] * edges.T
    matrix = rows.reshape(len(rows), 4 * count)
    target = np.concatenate([weights * wrench, np.zeros(3 * count)])
    combination, _ = nnls(matrix, target, maxiter=200)
    forces: Array = combination.reshape(count, 4) @ edges
    return forces
