# SPDX-License-Identifier: Apache-2.0
"""Regressors of a tree of rigid bodies in NumPy: the readable twin of the compiled kernel.

Spatial motion vectors are (linear, angular), taken at the base origin in base axes unless a name says otherwise.
With J_k the motion vector of joint k, v_k the velocity of the body it carries and B_i(x, y) = x' I_i y / dtheta_i the
inertia form of body i (symmetric in x and y, linear in the ten parameters), kinetic energy and potential give

    M(q) qd              row k:  sum_i B_i(J_k, v_i) theta_i                                (eq. 11)
    C(q, qd)' qd - g(q)  row k:  sum_i [B_i(dJ_k, v_i) + B_i(J_k, gravity)] theta_i         (eq. 12)
    inverse dynamics     row k:  sum_i [B_i(J_k, a_i - gravity) - B_i(v_i x J_k, v_i)] theta_i   (eq. 10)

over the bodies i that joint k supports. The second line is dT/dq - dU/dq: seen from body i, moving joint k changes the
body's own velocity by dJ_k = v_k x J_k, because joints beyond k turn with it and joints before k do not notice.

Samples run along the LAST axis in here (contiguous columns make NumPy several times faster); the callers' arrays have
them first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel.tree import Array, Tree

BLOCK = 2048
"""Samples worked on at once: bounds the memory and keeps the columns in the cache."""


class TreeMotion(NamedTuple):
    """Positions and motion of n joints, for N samples.

    Attributes:
        rotation: (n, 3, 3, N) joint frame axes in the base.
        origin: (n, 3, N) joint frame origins in the base [m].
        jacobian: (n, 6, N) motion vector J_k of each joint.
        velocity: (n, 6, N) velocity v_k of each body.
        turn: (n, 6, N) dJ_k = v_k x J_k, the rate of change of J_k.
    """

    rotation: Array
    origin: Array
    jacobian: Array
    velocity: Array
    turn: Array


def cross(a: Array, b: Array) -> Array:
    """Cross product along the second axis from the end: (..., 3, N) x (..., 3, N)."""
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    for x, y, z in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        np.multiply(a[..., y, :], b[..., z, :], out=out[..., x, :])
        out[..., x, :] -= a[..., z, :] * b[..., y, :]
    return out


def motion_cross(v: Array, m: Array) -> Array:
    """Spatial cross product v x m of motion vectors (..., 6, N)."""
    linear, angular = v[..., :3, :], v[..., 3:, :]
    upper = cross(angular, m[..., :3, :]) + cross(linear, m[..., 3:, :])
    return np.concatenate([upper, cross(angular, m[..., 3:, :])], axis=-2)


def to_body(rotation: Array, origin: Array, m: Array) -> Array:
    """Motion vectors (..., 6, N) seen from a body's own frame: rotation (3, 3, N), origin (3, N)."""
    at_origin = m[..., :3, :] + cross(m[..., 3:, :], origin)
    parts = [np.einsum("rcn,...rn->...cn", rotation, part) for part in (at_origin, m[..., 3:, :])]
    return np.concatenate(parts, axis=-2)


def inertia_form(x: Array, y: Array) -> Array:
    """x' I y as the row of ten that multiplies [m, mc, Ixx, Ixy, Iyy, Ixz, Iyz, Izz]: (..., 10, N).

    Args:
        x, y: (..., 6, N) motion vectors in the frame the parameters are expressed in.
    """
    xl, xa, yl, ya = x[..., :3, :], x[..., 3:, :], y[..., :3, :], y[..., 3:, :]
    out = np.empty((*np.broadcast_shapes(x.shape, y.shape)[:-2], 10, x.shape[-1]))
    out[..., 0, :] = (xl * yl).sum(axis=-2)
    out[..., 1:4, :] = cross(xl, ya) + cross(yl, xa)
    for column, (r, c) in enumerate(((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)), start=4):
        np.multiply(xa[..., r, :], ya[..., c, :], out=out[..., column, :])
        if r != c:
            out[..., column, :] += xa[..., c, :] * ya[..., r, :]
    return out


def supports(tree: Tree) -> npt.NDArray[np.bool_]:
    """(n, n) True at [k, i] where moving joint k moves body i."""
    n = len(tree.parents)
    out = np.eye(n, dtype=np.bool_)
    for i, parent in enumerate(tree.parents):
        if parent >= 0:
            out[:, i] |= out[:, parent]
    return out


def forward_kinematics(tree: Tree, q: Array, qd: Array) -> TreeMotion:
    """Place and velocity of every joint for q, qd (N, n)."""
    return at_velocities(tree, at_rest(tree, q), qd)


def at_rest(tree: Tree, q: Array) -> TreeMotion:
    """Place of every joint for q (N, n), with no velocity."""
    samples, n = q.shape
    rotation, origin = np.empty((n, 3, 3, samples)), np.empty((n, 3, samples))
    jacobian = np.zeros((n, 6, samples))
    # Rodrigues: R = 1 + sin K + (1 - cos) K^2, multiplied by the fixed placement once.
    skew = np.cross(np.eye(3), tree.axis[:, None])  # rows e_j x axis: skew(axis) in matrix form
    once = tree.rotation @ skew
    terms = np.stack([tree.rotation, once, once @ skew], axis=1)
    angle = np.stack([np.ones_like(q), np.sin(q), 1.0 - np.cos(q)])
    for i, parent in enumerate(tree.parents):
        fixed, offset, axis = tree.rotation[i], tree.translation[i][:, None], tree.axis[i]
        if tree.revolute[i]:
            turned = np.tensordot(terms[i], angle[:, :, i], (0, 0))
            shift = np.broadcast_to(offset, (3, samples))
        else:
            turned = np.broadcast_to(fixed[:, :, None], (3, 3, samples))
            shift = offset + (fixed @ axis)[:, None] * q[:, i]
        if parent >= 0:
            rotation[i] = np.einsum("abn,bcn->acn", rotation[parent], turned)
            origin[i] = origin[parent] + np.einsum("abn,bn->an", rotation[parent], shift)
        else:
            rotation[i], origin[i] = turned, shift
        direction = np.einsum("abn,b->an", rotation[i], axis)
        if tree.revolute[i]:
            jacobian[i, :3], jacobian[i, 3:] = cross(origin[i], direction), direction
        else:
            jacobian[i, :3] = direction
    still = np.zeros_like(jacobian)
    return TreeMotion(rotation, origin, jacobian, still, still)


def at_velocities(tree: Tree, motion: TreeMotion, qd: Array) -> TreeMotion:
    """The same places at other velocities qd (N, n)."""
    velocity = motion.jacobian * qd.T[:, None]
    for i, parent in enumerate(tree.parents):
        if parent >= 0:
            velocity[i] += velocity[parent]
    return motion._replace(velocity=velocity, turn=motion_cross(velocity, motion.jacobian))


def momentum_rows(tree: Tree, motion: TreeMotion) -> Iterator[tuple[npt.NDArray[np.intp], int, Array, Array]]:
    """Per body i: the joints k that move it, i, and the rows of W_m and of W_c, (len(k), 10, N) each."""
    moves = supports(tree)
    for i in range(len(tree.parents)):
        k = np.flatnonzero(moves[:, i])
        frame = (motion.rotation[i], motion.origin[i])
        velocity, jacobian = to_body(*frame, motion.velocity[i]), to_body(*frame, motion.jacobian[k])
        gravity = np.zeros_like(velocity)
        gravity[:3] = np.einsum("rcn,r->cn", motion.rotation[i], tree.gravity)
        rate = inertia_form(to_body(*frame, motion.turn[k]), velocity) + inertia_form(jacobian, gravity)
        yield k, i, inertia_form(jacobian, velocity), rate


def standard_regressor(tree: Tree, q: Array, qd: Array, qdd: Array) -> Array:
    """W with M(q) qdd + C(q, qd) qd + g(q) = W theta (eq. 10): (N, n, 10 n) for q, qd, qdd (N, n)."""
    n, moves = q.shape[1], supports(tree)
    out = np.zeros((len(q), n, 10 * n))
    for start in range(0, len(q), BLOCK):
        block = slice(start, start + BLOCK)
        motion = forward_kinematics(tree, q[block], qd[block])
        acceleration = np.empty_like(motion.velocity)
        for i, parent in enumerate(tree.parents):
            carried = acceleration[parent] if parent >= 0 else np.r_[-tree.gravity, np.zeros(3)][:, None]
            acceleration[i] = carried + motion.jacobian[i] * qdd[block, i] + motion.turn[i] * qd[block, i]
        for i in range(n):
            k = np.flatnonzero(moves[:, i])
            frame = (motion.rotation[i], motion.origin[i])
            velocity = to_body(*frame, motion.velocity[i])
            local = to_body(*frame, motion.jacobian[k])
            rows = inertia_form(local, to_body(*frame, acceleration[i]))
            rows -= inertia_form(motion_cross(velocity[None], local), velocity)
            out[block, k, 10 * i : 10 * i + 10] = np.moveaxis(rows, -1, 0)
    return out


def window_regressors(tree: Tree, t: Array, q: Array, qd: Array, edges: npt.NDArray[np.int64]) -> tuple[Array, Array]:
    """Difference of W_m over each window and trapezoid integral of W_c between its edge samples.

    All windows' samples are laid end to end and worked off in blocks, so neither many short windows nor one long one
    costs memory beyond the result.

    Args:
        t: (N,) stamps [s]; q, qd: (N, n); edges: (n_windows, 2) first and last sample of each window.

    Returns:
        dW_m, int_W_c: (n_windows, n, 10 n) each.
    """
    n, windows = q.shape[1], len(edges)
    difference, integral = np.zeros((windows, n, 10 * n)), np.zeros((windows, n, 10 * n))
    lengths = edges[:, 1] - edges[:, 0] + 1
    starts = np.cumsum(lengths) - lengths
    window = np.repeat(np.arange(windows), lengths)
    position = np.arange(len(window)) - starts[window]
    sample = edges[window, 0] + position
    half = np.zeros(len(window) + 1)  # half of the step that ends at each entry, zero where a window starts
    half[1:-1] = np.where(position[1:] > 0, 0.5 * (t[sample[1:]] - t[sample[:-1]]), 0.0)
    weight = half[:-1] + half[1:]
    # The edges carry the momentum: +1 at a window's last sample, -1 at its first.
    sign = (position == lengths[window] - 1).astype(np.float64) - (position == 0)
    for begin in range(0, len(window), BLOCK):
        block = slice(begin, begin + BLOCK)
        rows = sample[block]
        change = np.flatnonzero(np.diff(window[block], prepend=-1))
        ids = window[block][change]
        edge = np.flatnonzero(sign[block])
        motion = forward_kinematics(tree, q[rows], qd[rows])
        for k, i, momentum, rate in momentum_rows(tree, motion):
            columns = slice(10 * i, 10 * i + 10)
            rate *= weight[block]
            sums = np.add.reduceat(rate, change, axis=-1)
            integral[ids[:, None], k[None, :], columns] += np.moveaxis(sums, -1, 0)
            signed = np.moveaxis(momentum[..., edge] * sign[block][edge], -1, 0)
            np.add.at(difference[:, :, columns], (window[block][edge][:, None], k[None, :]), signed)
    return difference, integral
