# SPDX-License-Identifier: Apache-2.0
"""Dynamics and contact rows of a window of stages: compiled where it was built, else the estimator's own NumPy."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel import implementation
from sysid_nodes.kernel.floating_tree import Array, FloatingTree

try:
    from sysid_nodes.kernel import _stages
except ImportError:
    _stages = None  # type: ignore[assignment]


class WindowConstants(NamedTuple):
    """Constants shared by all windows.

    Attributes:
        axes: (3, 3) of the ground, rows normal and two tangents.
        radii: (nc,) of the contact spheres [m].
        height: of the ground along its normal [m].
        contact: (9,) step [s], friction coefficient, impulse scale, force sigma [N], rounding of |v_t| [m/s], 1 for
            Coulomb's law or 0 for Anitescu's, whitening of the contact velocity (3).
        friction: (4, n) of the joints: Coulomb, viscous, offset, armature.
        rest: joint speed within which Coulomb friction turns over [rad/s].
    """

    axes: Array
    radii: Array
    height: float
    contact: Array
    friction: Array
    rest: float


class WindowKernel(Protocol):
    """Rows of the K inner stages of a window of N. Arrays must be C-contiguous float64.

    Common arguments: q (N, nq), w (N, nc, 3), inertia (n + 1, 10), height of the ground above its plane [m], smoothing
    of the contacts, torque (K, n) measured, scale (K, nv) of the dynamics' rows.
    """

    def residual(
        self, q: Array, w: Array, inertia: Array, height: float, smoothing: float, torque: Array, scale: Array
    ) -> tuple[Array, Array, Array, Array, Array, Array]:
        """(K, nv + 6 nc) residual; mean (N-1, nv), turn_jacobian, velocity, acceleration, rotation of the motion."""

    def blocks(
        self,
        q: Array,
        w: Array,
        inertia: Array,
        height: float,
        smoothing: float,
        torque: Array,
        scale: Array,
        bodies: npt.NDArray[np.int64],
        slopes: Array,
        column: int,
        parameters: int,
    ) -> tuple[Array, Array, Array, Array, Array, Array, Array, Array, Array]:
        """The residual, derivatives by three stages, by parameters and by contact variables; then the motion.

        Args:
            bodies: (nb,) identified; their parameters have the first 10 nb columns.
            slopes: (nb, 10, 10) derivatives of their inertial parameters by these.
            column: of the ground's height.
            parameters: p.
        """

    def settle(
        self,
        q: Array,
        w: Array,
        inertia: Array,
        height: float,
        smoothing: float,
        torque: Array,
        scale: Array,
        iterations: int,
    ) -> Array:
        """w (N, nc, 3), that of every inner stage moved towards its best."""


def window_kernel(tree: FloatingTree, constants: WindowConstants, name: str = "") -> WindowKernel | None:
    """The compiled kernel, or None where the reference is asked for or nothing was compiled.

    Raises:
        ConfigError: see `kernel.implementation`.
    """
    if implementation(name) != "compiled" or _stages is None:
        return None
    return _stages.WindowKernel(*tree, *constants)
