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
        axes: (3, 3) of the level ground, rows normal and two tangents.
        radii: (nc,) of the contact spheres [m].
        height: of the ground along its normal [m].
        contact: (6,) step [s], impulse scale, rounding of |v_t| [m/s], 1 for Coulomb's law or 0 for Anitescu's,
            whitening of gaps [1/m] and of sliding velocities [s/m].
        rest: joint speed within which Coulomb friction turns over [rad/s].
    """

    axes: Array
    radii: Array
    height: float
    contact: Array
    rest: float


class WindowSurroundings(NamedTuple):
    """Robot and ground at a value of the unknown constants, and readings of the K inner stages.

    Attributes:
        inertia: (n + 1, 10) parameters of every body.
        offsets: (nc, 3) centres of the contact spheres in their bodies' frames [m].
        friction: (4, n) of the joints: Coulomb, viscous, offset, armature.
        ground: (6,) height above the level ground [m], slope about its two tangents [rad], give [m/N] and its lag [s],
            friction coefficient.
        smoothing: of the contacts [J].
        torque: (K, n) measured, without the drives' gains [N m].
        scale: (K, nv) whitening of the dynamics' rows.
        force_sigma: of the prior on forces [N].
        firmness: (K, nc, 2) factors on the whitening of gaps and of sliding velocities.
    """

    inertia: Array
    offsets: Array
    friction: Array
    ground: Array
    smoothing: float
    torque: Array
    scale: Array
    force_sigma: float
    firmness: Array


class WindowColumns(NamedTuple):
    """Columns for derivatives by the constants.

    Attributes:
        bodies: (nb,) identified; their parameters have the first 10 nb columns.
        slopes: (nb, 10, 10) derivatives of their inertial parameters by these.
        at: (10,) column of the ground's height, first columns of its slope, of the feet, of the drives' gains, of the
            joints' friction and armature, columns of the other links' masses, of the ground's give, of its lag and of
            its friction, each -1 where there is none; and p.
        foot: (nc,) foot that each contact sphere belongs to.
        shares: (n, g) gains that add up to each drive's.
        factor: (n,) 1 plus its gain.
        limits: (n,) torque limits, units of joint friction [N m].
        weight: (p,) gradient of the logarithm of the robot's mass, in units of which disturbances and the forces' prior
            are.
        rotors: (n,) derivative of the joints' armature by its column [kg m2].
    """

    bodies: npt.NDArray[np.int64]
    slopes: Array
    at: npt.NDArray[np.int64]
    foot: npt.NDArray[np.int64]
    shares: Array
    factor: Array
    limits: Array
    weight: Array
    rotors: Array


class WindowKernel(Protocol):
    """Rows of the K inner stages of a window of N: q (N, nq), w (N, nc, 3). Arrays must be C-contiguous float64."""

    def residual(
        self, q: Array, w: Array, surroundings: WindowSurroundings
    ) -> tuple[Array, Array, Array, Array, Array, Array]:
        """(K, nv + 6 nc) residual; mean (N-1, nv), turn_jacobian, velocity, acceleration, rotation of the motion."""

    def blocks(
        self, q: Array, w: Array, surroundings: WindowSurroundings, columns: WindowColumns
    ) -> tuple[Array, Array, Array, Array, Array, Array, Array, Array, Array]:
        """The residual, derivatives by three stages, by the constants and by contact variables; then the motion."""

    def solve_contacts(
        self, q: Array, w: Array, surroundings: WindowSurroundings, iterations: int, tolerance: float, turns: bool
    ) -> tuple[Array, Array, Array, Array, Array, Array, Array]:
        """w (N, nc, 3), that of every inner stage moved towards its best (systems/prime/elimination.py); `residual`.

        `turns`: whether contacts are turned over where a stage fits badly.
        """


def window_kernel(tree: FloatingTree, constants: WindowConstants, name: str = "") -> WindowKernel | None:
    """The compiled kernel, or None where the reference is asked for or nothing was compiled.

    Raises:
        ConfigError: see `kernel.implementation`.
    """
    if implementation(name) != "compiled" or _stages is None:
        return None
    return _stages.WindowKernel(*tree, *constants)
