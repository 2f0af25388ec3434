# SPDX-License-Identifier: Apache-2.0
"""All models that a certificate is about: the nominal one, and how far the true one may be from it in each number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.verification.document import Document

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Models:
    """Nominal numbers and half-widths.

    Attributes:
        theta, theta_off: (n, 10) as in Chain.theta.
        coulomb, viscous, armature, offset: (n, 2) nominal and half-width by joint.
        physical: whether the nominal body is one, and within the bounds.
    """

    theta: Array
    theta_off: Array
    coulomb: Array
    viscous: Array
    armature: Array
    offset: Array
    physical: bool

    @property
    def least_armature(self) -> Array:
        """(n,) [kg m2]."""
        return np.asarray(self.armature[:, 0] - self.armature[:, 1])


def models(document: Document, body: int) -> Models:
    """The models of a document, whose bounds are of what joint ``body`` moves."""
    known, motor = document.premises["known_robot"], document.premises["robot"]["motor"]
    theta = document.chain.theta.copy()
    off = known["inertia_relative"] * (np.abs(theta) if known["inertia_scale"] == "value" else _sizes(theta))
    lower, upper = _possible(document["lower"], document["upper"])
    nominal = document["nominal"]
    theta[body] = nominal
    off[body] = np.maximum(upper - nominal, nominal - lower) * (1.0 + 1e-15)
    inside = bool(((lower <= nominal) & (nominal <= upper)).all())

    def constants(name: str, share: float) -> Array:
        value = document.per_joint(known[name]) if len(known[name]) else np.array(motor[name], dtype=np.float64)
        return np.stack([value, share * np.abs(value)], axis=1)

    offset = constants("offset", 0.0)
    offset[:, 1] = document.per_joint(known["offset_absolute"])
    return Models(
        theta,
        off,
        constants("coulomb", known["friction_relative"]),
        constants("viscous", known["friction_relative"]),
        constants("armature", known["armature_relative"]),
        offset,
        inside and all(_is_physical(row) for row in theta),
    )


def _possible(lower: Array, upper: Array) -> tuple[Array, Array]:
    """Bounds less what no body can have: with S = int x x' dm, Ixx = Syy + Szz and Ixy = -Sxy, so that no moment is
    negative or more than the other two, and |Ixy| <= sqrt(Sxx Syy) <= (Sxx + Syy) / 2 = Izz / 2."""
    lower, upper = lower.copy(), upper.copy()
    lower[[0, 4, 6, 9]] = np.maximum(lower[[0, 4, 6, 9]], 0.0)
    for one, two, three in ((4, 6, 9), (6, 9, 4), (9, 4, 6)):
        upper[one] = min(upper[one], (upper[two] + upper[three]) * (1.0 + 1e-15))
    for cross, moment in ((5, 9), (7, 6), (8, 4)):
        lower[cross] = max(lower[cross], -0.5 * upper[moment])
        upper[cross] = min(upper[cross], 0.5 * upper[moment])
    return lower, upper


def _is_physical(theta: Array) -> bool:
    """Whether the kinetic energy of a body cannot be negative."""
    m, c = theta[0], theta[1:4]
    skew = np.array([[0.0, -c[2], c[1]], [c[2], 0.0, -c[0]], [-c[1], c[0], 0.0]])
    inertia = theta[[4, 5, 7, 5, 6, 8, 7, 8, 9]].reshape(3, 3)
    whole = np.block([[m * np.eye(3), -skew], [skew, inertia]])
    return bool(np.linalg.eigvalsh(whole)[0] >= -1e-12 * np.abs(theta).max())


def _sizes(theta: Array) -> Array:
    """(n, 10) mass, mass times length and mass times length squared of each body, length its radius of gyration."""
    length = np.sqrt(np.maximum(0.5 * theta[:, [4, 6, 9]].sum(axis=1), 0.0) / np.maximum(theta[:, 0], 1e-9))
    return np.asarray(theta[:, :1] * length[:, None] ** np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2]))
