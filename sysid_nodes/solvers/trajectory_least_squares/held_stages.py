# SPDX-License-Identifier: Apache-2.0
"""Stages that are damped more than all others, for the linear model fails there alone.

A trajectory's cost is a sum over its stages, and so is what a step does to it. Where a step is rejected for what few
stages make of it, as where a contact opens or closes, more damping or a shorter step everywhere would have a thousand
stages wait for one. These few are damped instead, and the others take their step. Local variables are where the model
fails, so only the blocks that have some are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sysid_nodes.solvers.trajectory_least_squares.normal_equations import NormalEquations
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks

_FEW = 0.02
"""Share of the stages that can be to blame: more are a model that holds nowhere."""
_WITHOUT = 0.25
"""Part of what a step promised that it has to gain without them."""
_FIRST, _FACTOR = 1e-3, 30.0
"""Damping of a stage that is blamed for the first time, and what multiplies it with every other time."""
_MOST = 1e3
"""Damping of a stage beyond which it is not to blame."""
_FORGET = 0.1
"""Factor on it with every step taken."""


class HeldStages:
    """Damping of single stages in a descent.

    Args:
        shapes: of the blocks of each group (`InPieces.shapes`).
        stages: T + 1.
    """

    def __init__(self, shapes: Sequence[Blocks], stages: int) -> None:
        self._shapes = shapes
        self._damping = np.zeros(stages)

    @property
    def most(self) -> float:
        """The largest damping of a stage."""
        return float(self._damping.max())

    def hold(self, equations: NormalEquations, damping: float) -> NormalEquations:
        """The equations with these stages' part in a damping of all."""
        if damping <= 0.0 or self.most <= damping:
            return equations
        return replace(equations, held=np.maximum(self._damping / damping, 1.0))

    def blame(self, before: Sequence[Array], after: Sequence[Array], predicted: float, decrease: float) -> bool:
        """Holds the few stages without which a rejected step would have gained what it promised, if there are any.

        Args:
            before: (B, m) residuals of each group where the step begins.
            after: where it would lead.
            predicted, decrease: promised and actual decrease of the cost.
        """
        rise = self._costs(after) - self._costs(before)
        if not np.isfinite(rise).all():
            return False
        worst = np.argsort(-rise)[: max(int(_FEW * len(rise)), 1)]
        explained = np.cumsum(rise[worst]) + decrease >= _WITHOUT * predicted
        if not explained.any():
            return False
        blamed = worst[: int(np.argmax(explained)) + 1]
        raised = np.maximum(_FACTOR * self._damping[blamed], _FIRST)
        if raised.max() > _MOST:
            return False
        for shift in (-1, 0, 1):
            around = np.clip(blamed + shift, 0, len(rise) - 1)
            np.maximum.at(self._damping, around, raised)
        return True

    def forget(self) -> None:
        """After a step that was taken."""
        self._damping *= _FORGET

    def _costs(self, residuals: Sequence[Array]) -> Array:
        """(T + 1,) cost of the blocks that own local variables of each stage."""
        total = np.zeros(len(self._damping))
        with np.errstate(over="ignore", invalid="ignore"):
            for residual, blocks in zip(residuals, self._shapes, strict=True):
                if blocks.local is not None:
                    squared = np.einsum("bm,bm->b", residual, residual)
                    value = squared if blocks.loss is None else blocks.loss(squared)[0]
                    total += np.bincount(blocks.local, value, len(total))
        return 0.5 * total
