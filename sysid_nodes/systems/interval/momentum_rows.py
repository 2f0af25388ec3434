# SPDX-License-Identifier: Apache-2.0
"""One row of the momentum balance per window and joint, linear in all parameters, with its error radius."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.systems.interval.error_radius import (
    POSITION,
    SAMPLING,
    VELOCITY,
)

Array = npt.NDArray[np.float64]

TORQUE_RELATIVE, TORQUE_ABSOLUTE = "relative torque noise", "absolute torque noise"
TORQUE_RATE, FRICTION_SIGN, ROUNDING = "torque between samples", "sign of friction at standstill", "rounding"
CALIBRATION = "calibration residuals"
CAUSES = (
    TORQUE_RELATIVE,
    TORQUE_ABSOLUTE,
    TORQUE_RATE,
    POSITION,
    VELOCITY,
    SAMPLING,
    FRICTION_SIGN,
    CALIBRATION,
    ROUNDING,
)


@dataclass(frozen=True)
class MomentumRows:
    """Rows ``coefficients @ p in [-radius, radius]`` of W windows and n joints.

    Attributes:
        t: (W, 2) first and last stamp of each window [s].
        coefficients: (W, n, 15 n) on the physical parameters p of `Unknowns`.
        radius: (W, n, len(CAUSES)) error radius [N m s] for an identified body of parameters `about`.
        body_radius: (W, n, 3, 3) what a body off these adds: cause (position, velocity, sampling) by norm
            (mass, |first moment|, |inertia|) of the difference, to be multiplied by those norms.
        about: (10,) parameters of the identified body.
    """

    t: Array
    coefficients: Array
    radius: Array
    body_radius: Array
    about: Array

    def total_radius(self, body: Bounds) -> Array:
        """(W, n) radius for every identified body in a box."""
        norms = body_norms(body.lower - self.about, body.upper - self.about)
        return np.asarray(self.radius.sum(axis=2) + (self.body_radius @ norms).sum(axis=2))


_BY_WINDOW = ("t", "coefficients", "radius", "body_radius")


def select(rows: MomentumRows, at: slice | npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> MomentumRows:
    """Some of the windows."""
    return replace(rows, **{name: getattr(rows, name)[at] for name in _BY_WINDOW})


def join(rows: MomentumRows, more: MomentumRows) -> MomentumRows:
    """The windows of both, which must agree in `about` where `body_radius` is not zero."""
    return replace(more, **{name: np.concatenate([getattr(rows, name), getattr(more, name)]) for name in _BY_WINDOW})


def body_norms(lower: Array, upper: Array) -> Array:
    """(..., 3) largest mass, first moment and inertia norm in boxes of inertial parameters (..., 10)."""
    size = np.maximum(np.abs(lower), np.abs(upper))
    inertia = size[..., 4:] ** 2 @ np.array([1.0, 2.0, 1.0, 2.0, 2.0, 1.0])  # Frobenius norm bounds the spectral one
    return np.stack([size[..., 0], np.linalg.norm(size[..., 1:4], axis=-1), np.sqrt(inertia)], axis=-1)
