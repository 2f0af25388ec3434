# SPDX-License-Identifier: Apache-2.0
"""Derivatives of momentum and of its rate, for parameters that are given.

With p = M(q) qd and F = C(q, qd)' qd - g(q), the rate of p without torque, and in the notation of kernel/reference.py
(spatial vectors at the base, w_k = v_k x J_k, I_b and h_b inertia and momentum of all that joint b carries),

    M_kl        = J_k' I_b J_l                                           b the farther of k and l
    dp_k / dq_l = (J_k x J_l)' h_l + J_k' I_l w_l  for l beyond k,       J_k' I_k w_l  for l up to k
    dF_a / dq_b = (w_a x J_b)' h_b + w_a' I_b w_b + g' (axis_a x P_b)    for a up to b, P_b the linear part of I_b J_b

and zero where neither joint carries the other. dF / dqd is the transpose of dp / dq.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel import reference
from sysid_nodes.models.chain import Chain

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class MomentumDerivatives:
    """For N samples, each (N, n, n): row k, column l.

    Attributes:
        mass: M = dp / dqd.
        by_position: dp / dq.
        rate_by_position: dF / dq.
    """

    mass: Array
    by_position: Array
    rate_by_position: Array

    @property
    def rate_by_velocity(self) -> Array:
        """(N, n, n) dF / dqd."""
        return np.swapaxes(self.by_position, 1, 2)


def momentum_derivatives(chain: Chain, theta: Array, motion: reference.TreeMotion) -> MomentumDerivatives:
    """Derivatives at the motion's places and velocities for inertial parameters theta (10 n,)."""
    tree, n = chain.tree, chain.n
    jacobian, turn = motion.jacobian, motion.turn
    moves, parents = chain.supports(), tree.parents
    inertias = _inertias(theta.reshape(n, 10), motion.rotation, motion.origin)
    momenta = [inertia.times(motion.velocity[i]) for i, inertia in enumerate(inertias)]
    for i in range(n - 1, -1, -1):
        if (parent := int(parents[i])) >= 0:
            inertias[parent] = inertias[parent].plus(inertias[i])
            momenta[parent] = momenta[parent] + momenta[i]
    mass, by_position, rate = np.zeros((3, motion.origin.shape[-1], n, n))
    for b in range(n):
        up_to = np.flatnonzero(moves[:, b])
        near = jacobian[up_to]
        farther = np.broadcast_to(jacobian[b], near.shape)
        by_unit, by_turn = inertias[b].times(jacobian[b]), inertias[b].times(turn[b])
        mass[:, up_to, b] = mass[:, b, up_to] = _dot(near, by_unit)
        by_position[:, b, up_to] = _dot(turn[up_to], by_unit)
        by_position[:, up_to, b] = _dot(reference.motion_cross(near, farther), momenta[b]) + _dot(near, by_turn)
        swung = reference.cross(near[:, 3:], np.broadcast_to(by_unit[:3], near[:, 3:].shape))
        rate[:, up_to, b] = (
            _dot(reference.motion_cross(turn[up_to], farther), momenta[b])
            + _dot(turn[up_to], by_turn)
            + np.einsum("c,kcn->nk", tree.gravity, swung)
        )
        rate[:, b, up_to] = rate[:, up_to, b]
    return MomentumDerivatives(mass, by_position, rate)


@dataclass(frozen=True)
class _Inertia:
    """Of bodies at the base's origin: mass [kg], first moment (3, N), second moments (3, 3, N)."""

    mass: float
    first: Array
    second: Array

    def plus(self, other: _Inertia) -> _Inertia:
        """Of both."""
        return _Inertia(self.mass + other.mass, self.first + other.first, self.second + other.second)

    def times(self, motion: Array) -> Array:
        """(6, N) momentum of a motion (6, N)."""
        linear, angular = motion[:3], motion[3:]
        return np.concatenate(
            [
                self.mass * linear + reference.cross(angular, self.first),
                reference.cross(self.first, linear) + np.einsum("abn,bn->an", self.second, angular),
            ]
        )


def _inertias(theta: Array, rotation: Array, origin: Array) -> list[_Inertia]:
    """Of bodies with parameters (n, 10) in frames of axes (n, 3, 3, N) and origins (n, 3, N)."""
    mass, lever, entries = theta[:, 0, None, None], theta[:, 1:4], theta[:, [4, 5, 7, 5, 6, 8, 7, 8, 9]]
    moment = np.einsum("iabn,ib->ian", rotation, lever)
    # Steiner's terms: those of origin and moment, symmetric in the two.
    mixed = origin[:, :, None] * (moment + 0.5 * mass * origin)[:, None]
    shift = mixed + np.swapaxes(mixed, 1, 2)
    second = np.einsum("iacn,idcn->iadn", np.einsum("iabn,ibc->iacn", rotation, entries.reshape(-1, 3, 3)), rotation)
    second += np.eye(3)[:, :, None] * np.einsum("iaan->in", shift)[:, None, None] - shift
    return [_Inertia(*each) for each in zip(theta[:, 0].tolist(), moment + mass * origin, second, strict=True)]


def _dot(motions: Array, force: Array) -> Array:
    """(N, k) of motions (k, 6, N) with a force (6, N)."""
    return np.asarray(np.einsum("kcn,cn->nk", motions, force))
