# SPDX-License-Identifier: Apache-2.0
"""Parameters that differ between simulations, and the work that they are to do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.inertia import parameters_to_inertia
from sysid_nodes.rollouts.rotations import from_matrix

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
        dry: (M, n) dry friction that only moving joints feel, the drives' law [N m].
        holding: (M, n) dry friction that holds joints at rest, too: MuJoCo's own constraint, beside the model's [N m].
        bristles: (M, n) dry friction that gives a little before it slides, as Dahl's bristles do [N m].
        friction: (M,) of the feet on the ground.
        time_constant: (M,) of MuJoCo's contact model [s].
    """

    bodies: tuple[int, ...]
    inertia: Array
    gain: Array
    weakness: Array
    dry: Array
    holding: Array
    bristles: Array
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
        return mass, centre, moments, from_matrix(axes)


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

    @property
    def longest(self) -> float:
        """Time after which whoever simulates it hangs: a step takes some tens of microseconds, a start seconds [s]."""
        return 300.0 + 0.1 * len(self.start) * self.steps

    def part(self, begin: int, end: int) -> Work:
        """The simulations from `begin` to before `end`."""
        return replace(self, start=self.start[begin:end], variant=self.variant[begin:end], clip=self.clip[begin:end])
