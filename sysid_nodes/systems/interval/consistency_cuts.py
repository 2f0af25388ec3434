# SPDX-License-Identifier: Apache-2.0
"""Half-spaces that hold all physical bodies: v' P(theta) v >= 0 with the pseudo-inertia P, for any vector v (4,)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.inertia import PSEUDO_INERTIA_BASIS

Array = npt.NDArray[np.float64]

_LENGTH = np.array([0.1, 0.1, 0.1, 1.0])
"""Metres against one: balances kg m2 and kg in the eigenvalues."""

_IMPOSSIBLE = -1e-6
"""An eigenvalue below this is not rounding."""

_SMALLEST = 0.03
"""Radius of gyration that a body is taken to have at least, so that directions exist [m]."""


def normals(v: Array) -> Array:
    """(k, 10) of the half-spaces ``normal @ theta >= 0`` of vectors v (k, 4)."""
    return np.asarray(np.einsum("ka,jab,kb->kj", v, PSEUDO_INERTIA_BASIS, v))


def vectors_against(theta: Array) -> Array:
    """(j, 4) vectors whose half-spaces leave out bodies (k, 10) that cannot exist: eigenvectors of a negative value."""
    pseudo = np.tensordot(theta, PSEUDO_INERTIA_BASIS, axes=1)
    values, vectors = np.linalg.eigh(pseudo / _LENGTH[:, None] / _LENGTH)
    return np.asarray(np.swapaxes(vectors, 1, 2)[values < _IMPOSSIBLE] / _LENGTH)


def vectors_about(theta: Array) -> Array:
    """(18, 4) vectors whose half-spaces are narrowest near a body (10,): second moments about its centre of mass.

    Along the axes of its frame, along its principal axes in the body's own proportions, and between each two of these.
    """
    mass = max(theta[0], 1e-6)
    centre = theta[1:4] / mass
    second = np.tensordot(theta, PSEUDO_INERTIA_BASIS, axes=1)[:3, :3] - mass * np.outer(centre, centre)
    values, axes = np.linalg.eigh(second)
    principal = axes / np.sqrt(np.maximum(values, mass * _SMALLEST**2))
    found = []
    for basis in (np.eye(3), principal.T / np.abs(principal).max()):
        between = [basis[i] + sign * basis[j] for i in range(3) for j in range(i) for sign in (1.0, -1.0)]
        found += [*basis, *between]
    directions = np.array(found)
    return np.column_stack([directions, -directions @ centre])
