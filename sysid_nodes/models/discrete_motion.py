# SPDX-License-Identifier: Apache-2.0
"""Velocities and accelerations of a floating-base robot from its configurations at equal steps, with derivatives.

A configuration q (nq,) is pinocchio's: base position in the world, quaternion x, y, z, w, joint positions. A tangent
(nv,) is base translation and rotation in the base's axes, then joints: `retract`. Stacks have the stage first.

From q_{k-1}, q_k, q_{k+1} at a step dt, the mean velocities over the two intervals give at stage k

    acceleration = (mean after - mean before) / dt,   velocity = (mean after + mean before) / 2,

the base's linear part in the world, its angular part by log(R_k' R_{k+1}) / dt in the base. With
v_{k+1} = (q_{k+1} (-) q_k) / dt this is the paper's M (v_{k+1} - v_k) = dt (...) (eq. 1) but for the velocity in h,
which the paper takes half a step early: ours is second order in dt. The exact equation behind it, for constant M,
averages every force over [t_{k-1}, t_{k+1}] with the triangle weight (1 - |t - t_k| / dt) / dt; so measured torques are
to be averaged, and so are the contact forces that come out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.rotations import (
    cross,
    quaternion_exp,
    quaternion_inverse,
    quaternion_log,
    quaternion_matrix,
    quaternion_product,
    right_log_jacobian,
    skew,
)

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]


def retract(q: Array, step: Array) -> Array:
    """Configurations (..., nq) moved by tangents (..., nv): first translated along the base's axes, then rotated."""
    quaternion = q[..., 3:7]
    position = q[..., :3] + np.einsum("...ij,...j->...i", quaternion_matrix(quaternion), step[..., :3])
    turned = quaternion_product(quaternion, quaternion_exp(step[..., 3:6]))
    turned = turned / np.linalg.norm(turned, axis=-1, keepdims=True)
    return np.concatenate([position, turned, q[..., 7:] + step[..., 6:]], axis=-1)


def difference(reference: Array, q: Array) -> Array:
    """Tangent (..., nv) with retract(reference, tangent) = q."""
    quaternion = reference[..., 3:7]
    shift = np.einsum("...ji,...j->...i", quaternion_matrix(quaternion), q[..., :3] - reference[..., :3])
    turn = quaternion_log(quaternion_product(quaternion_inverse(quaternion), q[..., 3:7]))
    return np.concatenate([shift, turn, q[..., 7:] - reference[..., 7:]], axis=-1)


def difference_jacobian(reference: Array, q: Array) -> Array:
    """Derivative (..., nv, nv) of `difference` with respect to the tangent at q."""
    nv = q.shape[-1] - 1
    out = np.zeros((*q.shape[:-1], nv, nv))
    joints = np.arange(6, nv)
    out[..., joints, joints] = 1.0
    out[..., :3, :3] = quaternion_matrix(reference[..., 3:7]).swapaxes(-1, -2) @ quaternion_matrix(q[..., 3:7])
    turned = quaternion_product(quaternion_inverse(reference[..., 3:7]), q[..., 3:7])
    out[..., 3:6, 3:6] = right_log_jacobian(quaternion_log(turned))
    return out


@dataclass(frozen=True)
class DiscreteMotion:
    """Motion of N configurations: means over the N - 1 intervals, and both orders at the N - 2 inner stages.

    Attributes:
        dt: step [s].
        mean: (N-1, nv) velocity over each interval: base linear part in the world, angular in the base, joints.
        turn_jacobian: (N-1, 3, 3) J, of the interval's turn by the rotation of its last configuration; by that of its
            first it is -J'.
        velocity, acceleration: (N-2, nv) at the inner stages, pinocchio's: in the base's axes, spatial.
        rotation: (N, 3, 3) base to world.
    """

    dt: float
    mean: Array
    turn_jacobian: Array
    velocity: Array
    acceleration: Array
    rotation: Array

    def mean_in(self, stage: int) -> Array:
        """(N-1, nv) mean velocities with the linear part in the axes of each interval's first (0) or last (1) base."""
        rotation = self.rotation[1:] if stage else self.rotation[:-1]
        return np.concatenate([np.einsum("kji,kj->ki", rotation, self.mean[:, :3]), self.mean[:, 3:]], axis=1)


def discrete_motion(q: Array, dt: float) -> DiscreteMotion:
    """Motion of configurations (N, nq) spaced by dt [s]."""
    rotation = quaternion_matrix(q[:, 3:7])
    turn = quaternion_log(quaternion_product(quaternion_inverse(q[:-1, 3:7]), q[1:, 3:7]))
    mean = np.concatenate([np.diff(q[:, :3], axis=0), turn, np.diff(q[:, 7:], axis=0)], axis=1) / dt
    velocity = 0.5 * (mean[1:] + mean[:-1])
    acceleration = np.diff(mean, axis=0) / dt
    for array in (velocity, acceleration):
        array[:, :3] = np.einsum("kji,kj->ki", rotation[1:-1], array[:, :3])
    acceleration[:, :3] -= cross(velocity[:, 3:6], velocity[:, :3])
    return DiscreteMotion(dt, mean, right_log_jacobian(turn), velocity, acceleration, rotation)


def join_motions(parts: Sequence[DiscreteMotion]) -> DiscreteMotion:
    """The motion of stages of which each part has two in common with the next."""

    def join(name: str, shared: int) -> Array:
        arrays = [getattr(part, name) for part in parts]
        return np.concatenate([*(array[: len(array) - shared] for array in arrays[:-1]), arrays[-1]])

    return DiscreteMotion(
        parts[0].dt,
        join("mean", 1),
        join("turn_jacobian", 1),
        join("velocity", 0),
        join("acceleration", 0),
        join("rotation", 2),
    )


def chain(
    motion: DiscreteMotion, by_velocity: Array, by_acceleration: Array | None, inner: IntArray | None = None
) -> Array:
    """Derivatives of a quantity of inner stages through its velocity and acceleration there.

    Args:
        motion: of N configurations.
        by_velocity, by_acceleration: (B, m, nv) derivatives in `velocity` and `acceleration`; None is zero.
        inner: (B,) which inner stages, 0 for stage 1; None for all N - 2.

    Returns:
        (B, m, 3, nv) derivatives in the tangents of stages k-1, k, k+1.
    """
    count, rows, nv = by_velocity.shape
    at = slice(None) if inner is None else inner
    previous, own, following = motion.rotation[:-2][at], motion.rotation[1:-1][at], motion.rotation[2:][at]
    velocity, acceleration = motion.velocity[at], motion.acceleration[at]
    dt, here = motion.dt, own.swapaxes(-1, -2)
    before, after = motion.turn_jacobian[:-1][at], motion.turn_jacobian[1:][at]
    slow = by_velocity * (0.5 / dt)
    fast = np.zeros_like(slow) if by_acceleration is None else by_acceleration / dt**2
    # The base's spatial acceleration is R' p'' - w x v: its last part acts through both velocities.
    slow[:, :, :3] -= 0.5 * dt * fast[:, :, :3] @ skew(velocity[:, 3:6])
    slow[:, :, 3:6] += 0.5 * dt * fast[:, :, :3] @ skew(velocity[:, :3])
    out = np.empty((count, rows, 3, nv))
    out[:, :, 0, 6:] = fast[:, :, 6:] - slow[:, :, 6:]
    out[:, :, 1, 6:] = -2.0 * fast[:, :, 6:]
    out[:, :, 2, 6:] = fast[:, :, 6:] + slow[:, :, 6:]
    through_before, through_after = fast - slow, fast + slow
    out[:, :, 0, :3] = (through_before[:, :, :3] @ here) @ previous
    out[:, :, 1, :3] = -2.0 * fast[:, :, :3]
    out[:, :, 2, :3] = (through_after[:, :, :3] @ here) @ following
    out[:, :, 0, 3:6] = through_before[:, :, 3:6] @ before.swapaxes(-1, -2)
    out[:, :, 1, 3:6] = -through_before[:, :, 3:6] @ before - through_after[:, :, 3:6] @ after.swapaxes(-1, -2)
    out[:, :, 2, 3:6] = through_after[:, :, 3:6] @ after
    # Turning the base turns the axes in which R' p' and R' p'' are read.
    bare = acceleration[:, :3] + cross(velocity[:, 3:6], velocity[:, :3])
    out[:, :, 1, 3:6] += dt**2 * fast[:, :, :3] @ skew(bare) + 2.0 * dt * slow[:, :, :3] @ skew(velocity[:, :3])
    return out


def chain_mean(motion: DiscreteMotion, by_velocity: Array, intervals: IntArray, stage: int) -> Array:
    """Derivatives of a quantity through `mean_in(stage)` of some intervals.

    Args:
        motion: of N configurations.
        by_velocity: (B, m, nv) derivatives in the mean velocities.
        intervals: (B,) their intervals.
        stage: 0 for velocities in the axes of the interval's first base, 1 for its last.

    Returns:
        (B, m, 2, nv) derivatives in the tangents of the interval's two stages.
    """
    first, last = motion.rotation[intervals], motion.rotation[intervals + 1]
    read = (last if stage else first).swapaxes(-1, -2)
    turn = motion.turn_jacobian[intervals]
    scaled = by_velocity / motion.dt
    out = np.empty((*scaled.shape[:2], 2, scaled.shape[2]))
    out[:, :, 0, 6:], out[:, :, 1, 6:] = -scaled[:, :, 6:], scaled[:, :, 6:]
    out[:, :, 0, :3] = -scaled[:, :, :3] @ (read @ first)
    out[:, :, 1, :3] = scaled[:, :, :3] @ (read @ last)
    out[:, :, 0, 3:6] = -scaled[:, :, 3:6] @ turn.swapaxes(-1, -2)
    out[:, :, 1, 3:6] = scaled[:, :, 3:6] @ turn
    linear = np.einsum("bij,bj->bi", read, motion.mean[intervals, :3])
    out[:, :, stage, 3:6] += by_velocity[:, :, :3] @ skew(linear)
    return out
