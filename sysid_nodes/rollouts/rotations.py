# SPDX-License-Identifier: Apache-2.0
"""Stacks of rotations as MuJoCo's unit quaternions w, x, y, z."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def product(a: Array, b: Array) -> Array:
    """(..., 4) rotation b, then a."""
    aw, av, bw, bv = a[..., :1], a[..., 1:], b[..., :1], b[..., 1:]
    scalar = aw * bw - np.sum(av * bv, axis=-1, keepdims=True)
    return np.concatenate([scalar, aw * bv + bw * av + np.cross(av, bv)], axis=-1)


def inverse(q: Array) -> Array:
    """(..., 4)."""
    return np.asarray(q * np.array([1.0, -1.0, -1.0, -1.0]))


def exponential(vector: Array) -> Array:
    """(..., 4) rotation by a rotation vector (..., 3) [rad]."""
    half = 0.5 * np.linalg.norm(vector, axis=-1, keepdims=True)
    # np.sinc(x) = sin(pi x) / (pi x)
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * vector], axis=-1)


def logarithm(q: Array) -> Array:
    """(..., 3) rotation vector of at most pi [rad]."""
    q = np.where(q[..., :1] < 0.0, -q, q)
    length = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(length, q[..., :1])
    return np.asarray(np.where(length > 1e-9, angle / np.maximum(length, 1e-9), 2.0) * q[..., 1:])


def vertical(q: Array) -> Array:
    """(..., 3) the world's z axis in the axes of a body: the third row of its rotation."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    return np.stack([2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)], axis=-1)
