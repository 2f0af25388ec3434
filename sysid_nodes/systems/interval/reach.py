# SPDX-License-Identifier: Apache-2.0
"""Levers of joints on bodies: norm bounds of a chain's kinematics, in every configuration and within a window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel import reference
from sysid_nodes.models.chain import Chain

Array = npt.NDArray[np.float64]

_STRIDE = 0.01
"""Kinematics are evaluated about this often [s]; what may happen in between is added."""


@dataclass(frozen=True)
class Levers:
    """Norm bounds in each of W windows.

    Attributes:
        lam: (W, n, n) largest linear speed of body i's origin for unit speed of joint l, at [w, l, i].
        alpha: (n, n) 1 where revolute joint l turns body i, else 0.
        hessian: (W, n, n, n, 3) coefficients on (mass, |first moment|, |inertia|) of body i of |d2U_i / dq_k dq_l| at
            [w, k, l, i].
        third: (n, n, n, n, 3) likewise of |d3U_i / dq_k dq_l dq_s| at [k, l, s, i], in every configuration.
        picked: the samples of each window at which kinematics were evaluated.
        places: of all bodies there, at rest.
    """

    lam: Array
    alpha: Array
    hessian: Array
    third: Array
    picked: tuple[npt.NDArray[np.intp], ...]
    places: reference.TreeMotion

    def third_along(self, one: Array, other: Array) -> Array:
        """(W, n, n, 3) bounds of the third derivatives of the potential along two directions (W, n)."""
        return np.tensordot(one[:, :, None] * other[:, None, :], self.third, ((1, 2), (1, 2)))


class Reach:
    """Levers of one chain.

    Args:
        chain: the kinematic tree.
        travel: (n,) largest |q| of the prismatic joints [m]; other entries do not matter.

    Attributes:
        travel: (n,) largest |q| for which the levers hold, inf for revolute joints [rad or m].
    """

    def __init__(self, chain: Chain, travel: Array) -> None:
        n, tree = chain.n, chain.tree
        self._tree = tree
        self._mask = chain.supports()
        revolute = tree.revolute
        self.travel = np.where(revolute, np.inf, travel)
        slide = np.where(revolute, 0.0, travel)
        step = np.linalg.norm(tree.translation, axis=1) + slide
        reach = np.zeros((n, n))
        for i in range(n):
            distance, joint = 0.0, i
            while joint >= 0:
                reach[joint, i] = distance + slide[joint]
                distance += float(step[joint])
                joint = int(tree.parents[joint])
        self._widest = np.where(revolute[:, None], reach, 1.0) * self._mask
        self._alpha = (self._mask & revolute[:, None]).astype(np.float64)
        weight = float(np.linalg.norm(tree.gravity))
        # The part of gravity that can turn joint l: |g x axis| for a joint on the base, else |g|.
        self._load = np.full(n, weight)
        for k in np.flatnonzero((tree.parents < 0) & revolute):
            axis = tree.rotation[k] @ tree.axis[k]
            self._load[k] = float(np.linalg.norm(np.cross(tree.gravity, axis))) + 1e-9
        self._third = np.zeros((n, n, n, n, 3))
        for k, j, s in np.ndindex(n, n, n):
            a, b, c = sorted((k, j, s))
            load = min(self._load[a], self._load[b], self._load[c])
            turned = load * self._alpha[a] * self._alpha[b]
            self._third[k, j, s, :, 0] = turned * self._widest[c] * self._mask[k]
            self._third[k, j, s, :, 1] = turned * self._alpha[c] * self._mask[k]

    def levers(self, t: Array, q: Array, edges: npt.NDArray[np.intp], speed: Array, dq: Array) -> Levers:
        """Levers that hold throughout each window, between the samples and for every position error.

        Args:
            t: (N,) stamps [s].
            q: (N, n) measured positions.
            edges: (W, 2) first and last sample of each window.
            speed: (W, n) largest speed of each joint in each window.
            dq: (W, n) largest position error.
        """
        n = len(self._alpha)
        picked = tuple(_spread(t, int(first), int(last)) for first, last in edges)
        index = np.concatenate(picked)
        starts = np.cumsum([0, *(len(p) for p in picked[:-1])])
        motion = reference.at_rest(self._tree, q[index])
        axis = np.einsum("nabs,nb->nas", motion.rotation, self._tree.axis)
        lam = np.broadcast_to(self._widest, (len(edges), n, n)).copy()
        joint, body = np.nonzero(self._mask & self._tree.revolute[:, None])
        arm = reference.cross(axis[joint], motion.origin[body] - motion.origin[joint])
        lam[:, joint, body] = np.maximum.reduceat(np.sqrt((arm**2).sum(axis=1)), starts, axis=1).T
        tilt = np.sqrt((reference.cross(self._tree.gravity[:, None], axis) ** 2).sum(axis=1))
        load = np.maximum.reduceat(tilt, starts, axis=1).T
        # Halfway between two evaluations every joint may have moved by this much.
        pause = np.array([float(np.diff(t[p]).max()) for p in picked])
        moved = 0.5 * speed * pause[:, None] + dq
        drift = moved[:, :, None] * self._widest
        beyond = drift.sum(axis=1, keepdims=True) - np.cumsum(drift, axis=1)
        revolute = self._tree.revolute[None, :, None]
        lam = np.where(revolute, np.minimum(lam + beyond, self._widest), lam) * self._mask
        turned = moved * self._tree.revolute
        load = np.minimum(load + np.linalg.norm(self._tree.gravity) * (np.cumsum(turned, axis=1) - turned), self._load)
        return Levers(lam, self._alpha, self._hessian(lam, load + 1e-9), self._third, picked, motion)

    def _hessian(self, lam: Array, load: Array) -> Array:
        k, j = np.indices(self._alpha.shape)
        a, b = np.minimum(k, j), np.maximum(k, j)
        # The second derivative is (g x axis_a)' (axis_b x arm): zero load on b as well where b is on the base.
        turned = np.minimum(load[:, a], self._load[b])[..., None] * (self._alpha[a] * self._mask[k] * self._mask[j])
        return np.stack([turned * lam[:, b], turned * self._alpha[b], np.zeros_like(turned)], axis=-1)


def _spread(t: Array, first: int, last: int) -> npt.NDArray[np.intp]:
    """Indices from first to last, both included, about _STRIDE apart."""
    count = min(last - first + 1, 2 + int((t[last] - t[first]) / _STRIDE))
    return np.linspace(first, last, count).astype(np.intp)
