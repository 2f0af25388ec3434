# SPDX-License-Identifier: Apache-2.0
"""Rotations of three-space for stacks (..., 3): exponential, logarithm and the derivative of the logarithm."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def skew(vector: Array) -> Array:
    """[v]x (..., 3, 3) with [v]x u = v x u."""
    vector = np.asarray(vector, dtype=np.float64)
    out = np.zeros((*vector.shape, 3))
    x, y, z = vector[..., 0], vector[..., 1], vector[..., 2]
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -z, y, -x
    out[..., 1, 0], out[..., 2, 0], out[..., 2, 1] = z, -y, x
    return out


def cross(a: Array, b: Array) -> Array:
    """a x b (..., 3); np.cross takes ten times as long on the short stacks of a moving window."""
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def quaternion_product(a: Array, b: Array) -> Array:
    """a b (..., 4), quaternions x, y, z, w."""
    ax, ay, az, aw = a[..., 0], a[..., 1], a[..., 2], a[..., 3]
    bx, by, bz, bw = b[..., 0], b[..., 1], b[..., 2], b[..., 3]
    parts = (
        aw * bx + bw * ax + ay * bz - az * by,
        aw * by + bw * ay + az * bx - ax * bz,
        aw * bz + bw * az + ax * by - ay * bx,
        aw * bw - ax * bx - ay * by - az * bz,
    )
    return np.stack(parts, axis=-1)


def quaternion_inverse(a: Array) -> Array:
    """Conjugate (..., 4) of unit quaternions x, y, z, w."""
    return np.asarray(a * np.array([-1.0, -1.0, -1.0, 1.0]))


def quaternion_exp(rotation: Array) -> Array:
    """Unit quaternion (..., 4) of the rotation vector (..., 3) [rad]."""
    half = 0.5 * np.asarray(rotation, dtype=np.float64)
    angle = np.linalg.norm(half, axis=-1, keepdims=True)
    return np.concatenate([np.sinc(angle / np.pi) * half, np.cos(angle)], axis=-1)


def quaternion_log(quaternion: Array) -> Array:
    """Rotation vector (..., 3) [rad], at most pi long, of unit quaternions."""
    vector, scalar = quaternion[..., :3], quaternion[..., 3:]
    vector, scalar = np.where(scalar < 0.0, -vector, vector), np.abs(scalar)
    sine = np.linalg.norm(vector, axis=-1, keepdims=True)
    angle = np.arctan2(sine, scalar)
    # angle / sine -> 1 + sine^2 / 6; below 1e-4 the next term is under rounding.
    factor = np.where(sine > 1e-4, angle / np.where(sine > 1e-4, sine, 1.0), 1.0 + sine**2 / 6.0)
    return np.asarray(2.0 * factor * vector)


def quaternion_matrix(quaternion: Array) -> Array:
    """Rotation matrix (..., 3, 3) of unit quaternions."""
    cross = skew(quaternion[..., :3])
    return np.asarray(np.eye(3) + 2.0 * (quaternion[..., 3, None, None] * cross + cross @ cross))


def right_log_jacobian(rotation: Array) -> Array:
    """J (..., 3, 3) with log(exp(r) exp(d)) = r + J d to first order; its transpose is that of log(exp(d) exp(r))."""
    rotation = np.asarray(rotation, dtype=np.float64)
    square = np.sum(rotation**2, axis=-1)[..., None, None]
    angle = np.sqrt(square)
    small = angle < 1e-2
    safe = np.where(small, 1.0, angle)
    half = 0.5 * safe
    # (1 - (a/2) cot(a/2)) / a^2 -> 1/12 + a^2/720 + a^4/30240, the last under rounding below 0.01.
    factor = np.where(small, 1.0 / 12.0 + square / 720.0, (1.0 - half / np.tan(half)) / safe**2)
    cross = skew(rotation)
    return np.asarray(np.eye(3) + 0.5 * cross + factor * (cross @ cross))


def matrix_log(rotation: Array) -> Array:
    """Rotation vector (..., 3) [rad] of matrices that turn by clearly less than pi, as between two stages."""
    difference = rotation - rotation.swapaxes(-1, -2)
    vector = 0.5 * np.stack([difference[..., 2, 1], difference[..., 0, 2], difference[..., 1, 0]], axis=-1)
    sine = np.linalg.norm(vector, axis=-1, keepdims=True)
    cosine = 0.5 * (np.trace(rotation, axis1=-2, axis2=-1)[..., None] - 1.0)
    factor = np.where(sine > 1e-4, np.arctan2(sine, cosine) / np.where(sine > 1e-4, sine, 1.0), 1.0 + sine**2 / 6.0)
    return np.asarray(factor * vector)
