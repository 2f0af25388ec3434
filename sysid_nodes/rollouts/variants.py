# SPDX-License-Identifier: Apache-2.0
"""What differs between simulations: parameters of the robot, and what a simulation is to do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.inertia import parameters_to_inertia

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Variants:
    """M sets of parameters of one robot with n joints.

    Attributes:
        bodies: (k,) moving bodies whose inertia varies, by Robot.body_index.
        inertia: (M, k, 10) their parameters in pinocchio's order.
        gain: (M, n) linear gain of the drives.
        weakness: (M, n) 1 / strength of the motors [1/(N m)], zero for no limit.
        friction: (M,) of the feet on the ground.
        time_constant: (M,) of MuJoCo's contact model [s].
    """

    bodies: tuple[int, ...]
    inertia: Array
    gain: Array
    weakness: Array
    friction: Array
    time_constant: Array

    def __len__(self) -> int:
        return len(self.gain)

    @cached_property
    def principal(self) -> tuple[Array, Array, Array, Array]:
        """Mass (M, k), centre (M, k, 3), principal moments about it (M, k, 3) and their axes w, x, y, z (M, k, 4)."""
        mass = self.inertia[..., 0]
        centre = self.inertia[..., 1:4] / mass[..., None]
        square = np.einsum("...i,...i->...", centre, centre)[..., None, None] * np.eye(3)
        about = parameters_to_inertia(self.inertia) - mass[..., None, None] * (
            square - np.einsum("...i,...j->...ij", centre, centre)
        )
        moments, axes = np.linalg.eigh(about)
        axes[..., 0] *= np.linalg.det(axes)[..., None]  # a rotation and no reflection
        return mass, centre, moments, _quaternions(axes)


@dataclass(frozen=True)
class Work:
    """B simulations of T steps.

    Attributes:
        start: (B, nq + nv) MuJoCo's qpos and qvel.
        variant: (B,) which of the variants.
        clip: (B,) which of the clips.
        targets: (C, T, n) set-points of the drives of each clip, held over a step [rad].
        every: steps between two recorded states.
    """

    start: Array
    variant: IntArray
    clip: IntArray
    targets: Array
    every: int = 1

    @property
    def steps(self) -> int:
        """T."""
        return int(self.targets.shape[1])

    def part(self, begin: int, end: int) -> Work:
        """The simulations from `begin` to before `end`."""
        return replace(self, start=self.start[begin:end], variant=self.variant[begin:end], clip=self.clip[begin:end])


def _quaternions(rotation: Array) -> Array:
    """(..., 4) w, x, y, z of rotations (..., 3, 3); from the largest of the four, which no rounding makes small."""
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
