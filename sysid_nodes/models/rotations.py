# SPDX-License-Identifier: Apache-2.0
"""Rotations of three-space for stacks (..., 3): exponential, logarithm and the derivative of the logarithm."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def _skew_of_axes() -> Array:
    """(3, 9): e_i times it is [e_i]x, row by row."""
    out = np.zeros((3, 3, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[i, k, j], out[i, j, k] = 1.0, -1.0
    return out.reshape(3, 9)


def _products_of_units() -> Array:
    """(4, 4, 4): component k of the product of units i and j of the quaternions x, y, z, w at i, k, j."""
    out = np.zeros((4, 4, 4))
    for i in range(3):
        out[i, i, 3] = out[3, i, i] = 1.0
        out[i, 3, i] = -1.0
        out[i, :3, :3] = _SKEW[i].reshape(3, 3)
    out[3, 3, 3] = 1.0
    return out


def _turns_of_pairs() -> Array:
    """(4, 4, 3, 3): the rotation matrix less one of x, y, z, w is the sum of products i and j times it."""
    out = np.zeros((4, 4, 3, 3))
    cross = _SKEW.reshape(3, 3, 3)
    out[3, :3] = 2.0 * cross
    out[:3, :3] = 2.0 * (cross[:, None] @ cross)
    return out


_SKEW = _skew_of_axes()
_PRODUCT = _products_of_units().reshape(4, 16)
_MATRIX = _turns_of_pairs().reshape(16, 9)
"""Constant maps: on the short stacks of a moving window one product with them takes a fifth of the time of what they
say written out, component by component."""


def skew(vector: Array) -> Array:
    """[v]x (..., 3, 3) with [v]x u = v x u."""
    vector = np.asarray(vector, dtype=np.float64)
    return np.asarray((vector @ _SKEW).reshape(*vector.shape, 3))


def cross(a: Array, b: Array) -> Array:
    """a x b (..., 3)."""
    return np.asarray((skew(a) @ b[..., None])[..., 0])


def quaternion_product(a: Array, b: Array) -> Array:
    """a b (..., 4), quaternions x, y, z, w."""
    return np.asarray(((a @ _PRODUCT).reshape(*a.shape, 4) @ b[..., None])[..., 0])


def quaternion_inverse(a: Array) -> Array:
    """Conjugate (..., 4) of unit quaternions x, y, z, w."""
    return np.asarray(a * _CONJUGATE)


_CONJUGATE = np.array([-1.0, -1.0, -1.0, 1.0])


def quaternion_exp(rotation: Array) -> Array:
    """Unit quaternion (..., 4) of the rotation vector (..., 3) [rad]."""
    half = 0.5 * np.asarray(rotation, dtype=np.float64)
    angle = np.sqrt(np.einsum("...i,...i", half, half))
    safe = np.maximum(angle, _TINY)
    out = np.empty((*half.shape[:-1], 4))
    out[..., :3] = (np.sin(safe) / safe)[..., None] * half
    out[..., 3] = np.cos(angle)
    return out


_TINY = 1e-100
"""An angle of which the sine is the angle [rad]."""


def quaternion_log(quaternion: Array) -> Array:
    """Rotation vector (..., 3) [rad], at most pi long, of unit quaternions."""
    vector, scalar = quaternion[..., :3], quaternion[..., 3]
    square = np.einsum("...i,...i", vector, vector)
    sine = np.sqrt(square)
    # angle / sine -> 1 + sine^2 / 6; below 1e-4 the next term is under rounding.
    ratio = np.arctan2(sine, np.abs(scalar)) / np.maximum(sine, 1e-4)
    factor = np.where(sine > 1e-4, ratio, 1.0 + square / 6.0)
    return np.asarray((2.0 * np.copysign(factor, scalar))[..., None] * vector)


def quaternion_matrix(quaternion: Array) -> Array:
    """Rotation matrix (..., 3, 3) of unit quaternions."""
    pairs = (quaternion[..., :, None] * quaternion[..., None, :]).reshape(*quaternion.shape[:-1], 16)
    return np.asarray((pairs @ _MATRIX).reshape(*quaternion.shape[:-1], 3, 3) + _UNIT)


_UNIT = np.eye(3)


def right_log_jacobian(rotation: Array) -> Array:
    """J (..., 3, 3) with log(exp(r) exp(d)) = r + J d to first order; its transpose is that of log(exp(d) exp(r))."""
    rotation = np.asarray(rotation, dtype=np.float64)
    square = np.einsum("...i,...i", rotation, rotation)
    safe = np.maximum(np.sqrt(square), 1e-2)
    half = 0.5 * safe
    # (1 - (a/2) cot(a/2)) / a^2 -> 1/12 + a^2/720 + a^4/30240, the last under rounding below 0.01.
    exact = (1.0 - half / np.tan(half)) / safe**2
    factor = np.where(square < 1e-4, 1.0 / 12.0 + square / 720.0, exact)
    cross = skew(rotation)
    return np.asarray(_UNIT + 0.5 * cross + factor[..., None, None] * (cross @ cross))


def matrix_log(rotation: Array) -> Array:
    """Rotation vector (..., 3) [rad] of matrices that turn by clearly less than pi, as between two stages."""
    difference = rotation - rotation.swapaxes(-1, -2)
    vector = 0.5 * np.stack([difference[..., 2, 1], difference[..., 0, 2], difference[..., 1, 0]], axis=-1)
    sine = np.linalg.norm(vector, axis=-1, keepdims=True)
    cosine = 0.5 * (np.trace(rotation, axis1=-2, axis2=-1)[..., None] - 1.0)
    factor = np.where(sine > 1e-4, np.arctan2(sine, cosine) / np.where(sine > 1e-4, sine, 1.0), 1.0 + sine**2 / 6.0)
    return np.asarray(factor * vector)
