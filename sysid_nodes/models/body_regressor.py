# SPDX-License-Identifier: Apache-2.0
"""One body's columns of the standard regressor, and how a function of them changes with the motion.

In coordinates of the body, with J_l the motion vector of joint l (root first), V_l and A_l the velocity and the
acceleration (gravity taken off) that the joints up to l give, T_l = V_l x J_l, v = V_last and a = A_last, row l is

    W_l = B(J_l, a) - B(v x J_l, v),    B(x, y) theta = x' I(theta) y.

Seen from the body, a joint moves what lies between it and the base and nothing beyond it, hence

    dJ_j/dq_l = -J_l x J_j for j < l, else 0
    dv/dq_l = T_l                               dv/dqd_l = J_l
    da/dq_l = A_l x J_l + T_l x (v - V_l)       da/dqd_l = T_l + J_l x (v - V_l)       da/dqdd_l = J_l.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.kernel import reference
from sysid_nodes.kernel.tree import Array
from sysid_nodes.models.chain import Chain


@dataclass(frozen=True, eq=False)
class BodyRegressor:
    """W_e (eq. 30) of one body at N samples; make it with `body_regressor`. Samples run along the last axis inside.

    Attributes:
        joints: (m,) the joints that move the body, root first; the rows of the others are zero.
        n: joints of the robot.
        rows: (m, 10, N) W_l of those joints.
    """

    joints: npt.NDArray[np.intp]
    n: int
    rows: Array
    _J: Array
    _V: Array
    _T: Array
    _A: Array
    _X: Array

    def pullback(self, weight: Array) -> tuple[Array, Array, Array]:
        """Derivatives of sum(weight * rows) in q, qd and qdd: (N, n) each, for weight (m, 10, N)."""
        J, V, T, A = self._J, self._V, self._T, self._A
        v, a = V[-1], A[-1]
        h = _inertia(weight, v[None])
        d_a = _inertia(weight, J).sum(axis=0)
        d_v = -(_force_cross(J, h) + _inertia(weight, self._X)).sum(axis=0)
        moved = _force_cross(J, _inertia(weight, a[None]) + _force_cross(v[None], h))
        before = np.cumsum(moved, axis=0) - moved  # of the joints j < l, whose J_j joint l moves
        rest = v - V
        cross = reference.motion_cross
        parts = (
            (d_a * (cross(A, J) + cross(T, rest)) + d_v * T - before * J).sum(axis=1),
            (d_a * (T + cross(J, rest)) + d_v * J).sum(axis=1),
            (d_a * J).sum(axis=1),
        )
        out = np.zeros((3, J.shape[-1], self.n))
        for full, part in zip(out, parts, strict=True):
            full[:, self.joints] = part.T
        return out[0], out[1], out[2]


def body_regressor(chain: Chain, body: int, q: Array, qd: Array, qdd: Array) -> BodyRegressor:
    """The body's columns of `standard_regressor` at N samples (N, n), ready to be differentiated.

    Raises:
        SamplesError: the chain has no such body, or an array is not (N, n).
    """
    if not 0 <= body < chain.n:
        raise SamplesError(f"body {body} is not one of the chain's {chain.n}")
    q, qd, qdd = (np.asarray(x, dtype=np.float64) for x in (q, qd, qdd))
    for array in (q, qd, qdd):
        if array.ndim != 2 or array.shape != (len(q), chain.n):
            raise SamplesError(f"joint arrays must have shape (N, {chain.n}), the same N, got {array.shape}")
    tree, joints = chain.tree, np.flatnonzero(chain.supports()[:, body])
    motion = reference.forward_kinematics(tree, q, qd)
    J = reference.to_body(motion.rotation[body], motion.origin[body], motion.jacobian[joints])
    V = np.cumsum(J * qd.T[joints, None], axis=0)
    T = reference.motion_cross(V, J)
    A = np.cumsum(J * qdd.T[joints, None] + T * qd.T[joints, None], axis=0)
    A[:, :3] -= np.einsum("rcn,r->cn", motion.rotation[body], tree.gravity)
    X = reference.motion_cross(V[-1][None], J)
    rows = reference.inertia_form(J, A[-1]) - reference.inertia_form(X, V[-1])
    return BodyRegressor(joints, chain.n, rows, J, V, T, A, X)


def _inertia(parameters: Array, x: Array) -> Array:
    """I(parameters) x: parameters (..., 10, N), x (..., 6, N)."""
    m, c = parameters[..., :1, :], parameters[..., 1:4, :]
    xx, xy, yy, xz, yz, zz = (parameters[..., i, :] for i in range(4, 10))
    linear, angular = x[..., :3, :], x[..., 3:, :]
    out = np.empty(np.broadcast_shapes((*parameters.shape[:-2], 6, parameters.shape[-1]), x.shape))
    out[..., :3, :] = m * linear + reference.cross(angular, c)
    out[..., 3:, :] = reference.cross(c, linear)
    for row, entries in enumerate(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)), start=3):
        for column, entry in enumerate(entries):
            out[..., row, :] += entry * angular[..., column, :]
    return out


def _force_cross(v: Array, f: Array) -> Array:
    """Dual cross product v x* f of a motion vector and a wrench (force, moment), (..., 6, N)."""
    linear, angular = v[..., :3, :], v[..., 3:, :]
    moment = reference.cross(angular, f[..., 3:, :]) + reference.cross(linear, f[..., :3, :])
    return np.concatenate([reference.cross(angular, f[..., :3, :]), moment], axis=-2)
