# SPDX-License-Identifier: Apache-2.0
"""Rigid-body terms of many stages of a floating-base robot: compiled where it was built, else by Python's pinocchio."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel import implementation, stages_reference
from sysid_nodes.kernel.floating_tree import Array, FloatingTree

try:
    from sysid_nodes.kernel import _stages
except ImportError:
    _stages = None  # type: ignore[assignment]


class StageKernel(Protocol):
    """Methods of both implementations; documented in `stages_reference`. Arrays must be C-contiguous float64."""

    def kinematics(self, q: Array) -> tuple[Array, Array, Array, Array]:
        """Contact spheres and their Jacobians."""

    def dynamics(
        self, q: Array, velocity: Array, acceleration: Array, inertia: Array, force: Array, moment: Array
    ) -> Array:
        """Inverse dynamics less the contacts' part."""

    def dynamics_derivatives(
        self,
        q: Array,
        velocity: Array,
        acceleration: Array,
        inertia: Array,
        force: Array,
        moment: Array,
        bodies: npt.NDArray[np.int64],
    ) -> tuple[Array, Array, Array, Array, Array]:
        """Inverse dynamics and its derivatives."""


def stage_kernel(tree: FloatingTree, name: str = "") -> StageKernel:
    """A kernel for a robot; `name` picks "compiled" or "reference", empty the best there is.

    Raises:
        ConfigError: see `kernel.implementation`.
    """
    if implementation(name) == "compiled" and _stages is not None:
        return _stages.StageKernel(*tree)
    return stages_reference.StageKernel(tree)
