# SPDX-License-Identifier: Apache-2.0
"""Stacks of rotations as MuJoCo's unit quaternions w, x, y, z, and of states with them."""

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


def drift(states: Array, time: float) -> Array:
    """MuJoCo states (..., nq + nv) whose configurations have gone on at their velocities for a time [s]."""
    n = (states.shape[-1] - 13) // 2
    out, rates = np.array(states), states[..., 7 + n :]
    out[..., :3] += time * rates[..., :3]
    out[..., 3:7] = product(out[..., 3:7], exponential(time * rates[..., 3:6]))
    out[..., 7 : 7 + n] += time * rates[..., 6:]
    return out


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


def matrix(q: Array) -> Array:
    """(..., 3, 3) rotation matrices."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        (2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
        (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def from_matrix(rotation: Array) -> Array:
    """(..., 4) of rotation matrices (..., 3, 3); from the largest of the four, which no rounding makes small."""
    r = rotation
    diagonal = np.stack([r[..., 0, 0], r[..., 1, 1], r[..., 2, 2]], axis=-1)
    trace = diagonal.sum(axis=-1)
    # The symmetric matrix 4 q q' - 1 has the quaternion, w first, in every column.
    k = np.empty((*r.shape[:-2], 4, 4))
    k[..., 0, 0] = trace
    for i, j in ((0, 1), (1, 2), (2, 0)):
        third = 3 - i - j
        k[..., 0, 1 + third] = k[..., 1 + third, 0] = r[..., j, i] - r[..., i, j]
        k[..., 1 + i, 1 + j] = k[..., 1 + j, 1 + i] = r[..., i, j] + r[..., j, i]
    for i in range(3):
        k[..., 1 + i, 1 + i] = 2.0 * diagonal[..., i] - trace
    k += np.eye(4)
    largest = np.argmax(np.einsum("...ii->...i", k), axis=-1)
    column = np.take_along_axis(k, largest[..., None, None], axis=-1)[..., 0]
    return np.asarray(column / np.linalg.norm(column, axis=-1, keepdims=True))
