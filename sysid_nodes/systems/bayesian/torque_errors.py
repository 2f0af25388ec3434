# SPDX-License-Identifier: Apache-2.0
"""Errors of torques that are linear in constants phi, whose standard deviations are to be found with them.

Of each joint by itself; or, where loops hold forces that joints without a motor do not feel (two feet that stand can
push against each other as they like), of what such forces leave: with B_k the torques that they hand on to motors and
nothing known of them, the readings t_k = A_k phi + B_k mu + e_k of a stage have

    log p(t_k | phi) = -log det(S) - log det(B' S^-2 B) / 2 - |Q S^-1 (A_k phi - t_k)|^2 / 2 + constant,

S the joints' standard deviations and Q the projector on what B_k does not reach (restricted likelihood;
H. D. Patterson, R. Thompson, Biometrika 58, 1971).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

TOGETHER = 3
"""Stages whose torques are compared by their mean: errors of accelerations are 3.7 times less there than at a stage."""

_NONE = 1e-3  # independent errors, of which no noise is told
_REACHED = 1e-9  # of the largest singular value of B, below which is rounding


class Judged(NamedTuple):
    """Attributes: (K, m) errors, zero where no torque is used; (m,) number of independent ones of each joint; volume,
    which the logarithm of their probability loses beside sum(number log noise)."""

    left: Array
    number: Array
    volume: float

    def noise(self, least: Array) -> Array:
        """(m,) as errors show it, at least so much [N m]."""
        shown = np.sqrt(np.sum(self.left**2, axis=0) / np.maximum(self.number, _NONE))
        return np.asarray(np.maximum(shown, least))


class TorqueErrors(Protocol):
    """Of all used torques."""

    def rows(self, noise: Array) -> tuple[Array, Array]:
        """Rows (R, p) and targets (R,) in units of noise (m,), which give the same squares as all of them."""
        ...

    def judge(self, phi: Array, noise: Array) -> Judged:
        """Errors at constants (p,)."""
        ...


def torque_errors(by_phi: Array, target: Array, used: BoolArray, handed: Array) -> TorqueErrors:
    """Errors by_phi phi - target.

    Args:
        by_phi: (K, m, p).
        target: (K, m) [N m].
        used: (K, m) which of them count.
        handed: (K, m, f) torques by forces that nothing else tells; f may be 0.
    """
    of = _Handed if handed.shape[2] else _Apart
    return of(by_phi, target, used, handed)


@dataclass(frozen=True)
class _Apart:
    by_phi: Array
    target: Array
    used: BoolArray
    handed: Array

    @cached_property
    def _parts(self) -> list[tuple[Array, Array]]:
        return [compress(self.by_phi[k, j], self.target[k, j]) for j, k in enumerate(self.used.T)]

    def rows(self, noise: Array) -> tuple[Array, Array]:
        parts = list(zip(self._parts, noise, strict=True))
        root, target = (np.concatenate([part[k] / s for part, s in parts]) for k in (0, 1))
        return compress(root, target)

    def judge(self, phi: Array, noise: Array) -> Judged:  # noqa: ARG002 - they have nothing in common
        return Judged((self.by_phi @ phi - self.target) * self.used, self.used.sum(axis=0).astype(float), 0.0)


@dataclass(frozen=True)
class _Handed(_Apart):
    def rows(self, noise: Array) -> tuple[Array, Array]:
        weight, basis, _ = self._passive_reach(noise)
        both = weight[:, :, None] * np.concatenate([self.by_phi, self.target[:, :, None]], axis=2)
        both -= basis @ (basis.swapaxes(1, 2) @ both)
        flat = both.reshape(-1, both.shape[2])
        return compress(flat[:, :-1], flat[:, -1])

    def judge(self, phi: Array, noise: Array) -> Judged:
        weight, basis, volume = self._passive_reach(noise)
        left = (weight * (self.by_phi @ phi - self.target))[:, :, None]
        left = (left - basis @ (basis.swapaxes(1, 2) @ left))[:, :, 0] * noise
        taken = np.sum(basis**2, axis=(0, 2))
        return Judged(left, self.used.sum(axis=0) - taken, volume + float(taken @ np.log(noise)))

    def _passive_reach(self, noise: Array) -> tuple[Array, Array, float]:
        """Weights (K, m); bases (K, m, f) of what B reaches, zero beyond its rank; log det(B' S^-2 B) / 2 of all."""
        weight = self.used / noise
        basis, sizes, _ = np.linalg.svd(weight[:, :, None] * self.handed, full_matrices=False)
        there = sizes > _REACHED * sizes.max()
        return weight, basis * there[:, None], float(np.sum(np.log(sizes[there])))


def compress(root: Array, target: Array) -> tuple[Array, Array]:
    """Rows that give the same squares, no more of them than columns."""
    if len(root) <= root.shape[1]:
        return root, target
    both = np.asarray(np.linalg.qr(np.column_stack([root, target]), mode="r"))
    return both[:, :-1], both[:, -1]


def shares(used: BoolArray) -> tuple[Array, BoolArray]:
    """(B, TOGETHER, m) weights of the torques that are used (K, m) in means of stages that follow one another, and
    (B, m) which of these means are of most of their stages.
    """
    count = len(used) // TOGETHER
    there = used[: count * TOGETHER].reshape(count, TOGETHER, -1)
    number = there.sum(axis=1)
    return there / np.maximum(number, 1)[:, None], np.asarray(2 * number > TOGETHER)


def means(values: Array, weight: Array) -> Array:
    """(B, m, ...) of values (K, m, ...) by weights (B, TOGETHER, m)."""
    parts = values[: len(weight) * TOGETHER].reshape(*weight.shape, *values.shape[2:])
    return np.asarray(np.einsum("blm,blm...->bm...", weight, parts))
