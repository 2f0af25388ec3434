# SPDX-License-Identifier: Apache-2.0
"""Effects that the model leaves out, as the readings before a window tell of them beside its arrival cost.

A score test of a whole log (untold.py) eliminates all unknowns u from the equations of u and the sizes s of effects.
A window's stages are eliminated when they leave it, one after the other, and the order of elimination does not matter:
with J and D the derivatives of all rows so far by what is left of u and by s,

    C = J' D,   S = D' D,   g = D' r,   each of what the elimination has left,

go with the arrival, which is J and r of s = 0. Eliminating unknowns x of the Hessian H, with the gradient b, leaves

    C_s - H_sx H_xx^-1 C_x,   S - C_x' H_xx^-1 C_x,   g - C_x' H_xx^-1 b_x,

and C' d more of g where the reference moves by d. What earlier stages have put into the arrival is then in C, and
nothing counts twice: for linear residuals the test of the sum is that of the whole log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from sysid_nodes.solvers.trajectory_least_squares import Blocks
from sysid_nodes.solvers.trajectory_least_squares.factor import Factor, Step
from sysid_nodes.solvers.trajectory_least_squares.influence import residuals_after
from sysid_nodes.solvers.trajectory_least_squares.windows import scatter_add

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Carried:
    """Of e sizes, beside the n unknowns of an arrival, first those of stages and then the constants.

    Attributes:
        cross: (n, e) C.
        information: (e, e) S.
        gradient: (e,) g at the arrival's reference.
        excess: squares of the rows' residuals beyond those of noise.
    """

    cross: Array
    information: Array
    gradient: Array
    excess: float = 0.0

    @staticmethod
    def nothing(unknowns: int, count: int = 0) -> Carried:
        """Before anything was told of so many sizes."""
        return Carried(np.zeros((unknowns, count)), np.zeros((count, count)), np.zeros(count))

    def widen(self, count: int) -> Carried:
        """With so many sizes in all, nothing told of those that are new."""
        more = max(count - len(self.gradient), 0)
        return replace(
            self,
            cross=np.pad(self.cross, ((0, 0), (0, more))),
            information=np.pad(self.information, (0, more)),
            gradient=np.pad(self.gradient, (0, more)),
        )

    def forget(self, chosen: slice) -> Carried:
        """As if some effects had not been there until now."""
        cross, information, gradient = self.cross.copy(), self.information.copy(), self.gradient.copy()
        cross[:, chosen] = information[chosen] = information[:, chosen] = gradient[chosen] = 0.0
        return Carried(cross, information, gradient, self.excess)

    def change_unknowns(self, slope: Array) -> Carried:
        """Of new unknowns (m,), by which the old ones have the derivative (n, m)."""
        return replace(self, cross=slope.T @ self.cross)

    def eliminate(self, root: Array, offset: Array, count: int) -> Carried:
        """Without the first unknowns of an arrival; nothing where they are not determined.

        Args:
            root, offset: (r, n), (r,) rows of the arrival.
            count: how many.
        """
        hessian, gradient = root.T @ root, root.T @ offset
        scale = np.sqrt(np.diag(hessian)[:count])
        nothing = Carried.nothing(len(hessian) - count, len(self.gradient))
        if not (np.isfinite(hessian).all() and np.isfinite(self.cross).all() and np.all(scale > 0.0)):
            return nothing
        try:
            factor = cho_factor(hessian[:count, :count] / np.outer(scale, scale), lower=True)
        except LinAlgError:
            return nothing
        first = self.cross[:count]
        gain = cho_solve(factor, first / scale[:, None]) / scale[:, None]
        return Carried(
            self.cross[count:] - hessian[count:, :count] @ gain,
            self.information - first.T @ gain,
            self.gradient - gain.T @ gradient[:count],
            self.excess,
        )


@dataclass(frozen=True)
class Leaving:
    """Plain rows of stages that leave a window, by groups.

    Attributes:
        blocks: with their derivatives.
        left: (B, m, c) derivatives by the c unknowns that stay, the leaving ones at their best.
        residual: (B, m) there.
        effects: (B, m, e) derivatives by sizes of effects, None for none.
    """

    blocks: Sequence[Blocks]
    left: Sequence[Array]
    residual: Sequence[Array]
    effects: Sequence[Array | None]


def carry(
    before: Carried, leaving: Leaving, arrival: Blocks, arrived: Array, factor: Factor, step: Step, count: int
) -> Carried:
    """The sums of all stages up to those that leave.

    What is left of rows is at right angles to the derivatives by what was eliminated: products with it need no
    elimination of the effects, only their own squares do.

    Args:
        before: beside the window's arrival.
        leaving: rows of the stages that leave.
        arrival: the arrival's unknowns less its reference.
        arrived: (n, c) their derivatives by the unknowns that stay.
        factor: undamped, of the window.
        step: of the leaving stages to their best.
        count: stages that leave.
    """
    n, e, width = factor.equations.layout.size, len(before.gradient), factor.equations.windows.width
    by_stage = np.zeros((count + width, n, e))
    by_local = np.zeros((len(factor.local_root), factor.equations.layout.local, e))
    cross, information = arrived.T @ before.cross, before.information.copy()
    gradient = before.gradient + before.cross.T @ residuals_after([arrival], step)[0][0]
    first, excess = arrival.jacobian[0].T @ before.cross, before.excess
    by_stage[: len(first) // n] += first.reshape(-1, n, e)
    for blocks, left, residual, effect in zip(
        leaving.blocks, leaving.left, leaving.residual, leaving.effects, strict=True
    ):
        excess += float(np.sum(residual**2)) - residual.size
        if effect is None or not len(effect):
            continue
        flat = effect.reshape(-1, e)
        cross += left.reshape(-1, len(cross)).T @ flat
        information += flat.T @ flat
        gradient += flat.T @ residual.reshape(-1)
        moved = (blocks.jacobian.swapaxes(1, 2) @ effect).reshape(len(effect), -1, n, e)
        for k in range(moved.shape[1]):
            scatter_add(by_stage, blocks.first + k, moved[:, k])
        if blocks.local_jacobian is not None and blocks.local is not None:
            scatter_add(by_local, blocks.local, blocks.local_jacobian.swapaxes(1, 2) @ effect)
    return Carried(cross, information - _eliminated(factor, by_stage, by_local, count), gradient, excess)


def _eliminated(factor: Factor, by_stage: Array, by_local: Array, count: int) -> Array:
    """(e, e) C_x' H_xx^-1 C_x of the first `count` stages and of local variables, from their rows of C."""
    n, e, structure = by_stage.shape[1], by_stage.shape[2], factor.equations.windows
    total, reach = np.zeros((e, e)), structure.width * n
    owners = np.flatnonzero(by_local.any(axis=(1, 2)))
    if len(owners):
        moved = factor.local_root[owners] @ by_local[owners]
        total += np.einsum("kli,klj->ij", moved, moved)
        back = (factor.local_rows[owners, :, :reach].swapaxes(1, 2) @ moved).reshape(len(owners), -1, n, e)
        for k in range(back.shape[1]):
            scatter_add(by_stage, structure.local_first[owners] + k, -back[:, k])
    solved = factor.solve_first(np.ascontiguousarray(by_stage[:count])).reshape(-1, e)
    return np.asarray(total + solved.T @ solved)
