# SPDX-License-Identifier: Apache-2.0
"""Normal equations of multiple shooting, the start states eliminated segment by segment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.shooting.problem import Array, Gaussian, IntArray, Rollout
from sysid_nodes.solvers.trajectory_least_squares.problem import Loss

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Step:
    """A step within the bounds.

    Attributes:
        parameters, start: (K,), (G, d) changes.
        decrease: of the cost that the linear model promises.
        shift: half the square of the parameters' change in units of their standard deviations under unit noise.
    """

    parameters: Array
    start: Array
    decrease: float
    shift: float


@dataclass(frozen=True)
class Equations:
    """The cost and its quadratic model at a point; G segments with d states each, K parameters.

    Attributes:
        cost: half the sum of squares after the robust loss, priors included.
        costs: (G,) the segments' shares of it; they have no share in the prior of the parameters.
        residual: (S, m) as it came.
        rows: (S m, K + d + 1) Jacobian by parameters and by the own start, and residual, weighted by the loss.
        edges: (G + 1,) rows at which segments begin, and their number.
        hessian, gradient: (K, K), (K,) of the parameters.
        by_start: (G, K, d) mixed second derivatives.
        start_hessian, start_gradient: (G, d, d), (G, d).
        information: (K,) of the parameters' prior.
    """

    cost: float
    costs: Array
    residual: Array
    rows: Array
    edges: IntArray
    hessian: Array
    gradient: Array
    by_start: Array
    start_hessian: Array
    start_gradient: Array
    information: Array

    @property
    def reduced_gradient(self) -> Array:
        """(K,) gradient of the cost when every start follows."""
        return self._reduce()[1]

    @property
    def reduced_hessian(self) -> Array:
        """(K, K) Gauss-Newton Hessian of the same."""
        return self._reduce()[0]

    def active_bounds(self, parameters: Array, lower: Array, upper: Array) -> tuple[BoolArray, BoolArray]:
        """(K,) parameters at their lower and upper bounds that the gradient pushes out."""
        gradient = self.reduced_gradient
        return (parameters <= lower) & (gradient > 0.0), (parameters >= upper) & (gradient < 0.0)

    def eliminate_starts(self, damping: float | Array) -> tuple[Array, Array]:
        """(G, d, d) inverse Hessians of the starts, with one damping or (G,), and (G, K, d) products with the mixed."""
        d = self.start_hessian.shape[1]
        diagonal = np.einsum("gii->gi", self.start_hessian)
        # The little that is always added keeps a start state that hardly shows from being solved for in rounding.
        little = 1e-10 * np.maximum(diagonal.max(axis=1, keepdims=True), 1e-200)
        inverse = np.linalg.inv(
            self.start_hessian + (np.reshape(damping, (-1, 1)) * diagonal + little)[:, None, :] * np.eye(d)
        )
        return inverse, self.by_start @ inverse

    def _reduce(self) -> tuple[Array, Array]:
        _, gain = self.eliminate_starts(0.0)
        hessian = self.hessian - np.einsum("gkd,gld->kl", gain, self.by_start)
        return hessian, self.gradient - np.einsum("gkd,gd->k", gain, self.start_gradient)

    def without_last(self, count: int) -> Equations:
        """The same where the last of the parameters stay as they are."""
        k = len(self.gradient) - count
        return replace(
            self,
            rows=np.delete(self.rows, np.s_[k : k + count], axis=1),
            hessian=self.hessian[:k, :k],
            gradient=self.gradient[:k],
            by_start=self.by_start[:, :k],
            information=self.information[:k],
        )

    def shift_parameters(self, change: Array) -> Equations:
        """The linear model once the parameters have moved by `change` (K,), every start following."""
        k = len(change)
        inverse, _ = self.eliminate_starts(0.0)
        pull = self.start_gradient + np.einsum("gkd,k->gd", self.by_start, change)
        starts = -np.einsum("gde,ge->gd", inverse, pull)
        rows = self.rows.copy()
        rows[:, -1] += rows[:, :k] @ change
        rows[:, -1] += np.einsum("rd,rd->r", rows[:, k:-1], np.repeat(starts, np.diff(self.edges), axis=0))
        return replace(
            self,
            rows=rows,
            gradient=self.gradient + self.hessian @ change + np.einsum("gkd,gd->k", self.by_start, starts),
            start_gradient=pull + np.einsum("gde,ge->gd", self.start_hessian, starts),
        )

    def step(
        self,
        damping: float,
        parameters: Array,
        lower: Array,
        upper: Array,
        free: npt.NDArray[np.bool_],
        *,
        held_back: float | Array = 0.0,
    ) -> Step:
        """A damped Gauss-Newton step; what would leave the bounds stops at them and the rest is solved anew.

        Args:
            damping: relative to the Hessian's diagonal.
            parameters, lower, upper: (K,) where the step begins, and bounds.
            free: (K,) parameters that may move.
            held_back: damping of the starts beyond that, one or (G,).
        """
        inverse, gain = self.eliminate_starts(damping + held_back)
        reduced = self.hessian - np.einsum("gkd,gld->kl", gain, self.by_start)
        gradient = self.gradient - np.einsum("gkd,gd->k", gain, self.start_gradient)
        hessian = reduced + np.diag(damping * np.diag(self.hessian))
        change, open_ = np.zeros(len(parameters)), free.copy()
        while open_.any():
            right = -(gradient[open_] + hessian[np.ix_(open_, ~open_)] @ change[~open_])
            change[open_] = _solve(hessian[np.ix_(open_, open_)], right)
            goal = parameters + change
            out = open_ & ((goal < lower) | (goal > upper))
            if not out.any():
                break
            change[out] = np.clip(goal, lower, upper)[out] - parameters[out]
            open_ &= ~out
        right = self.start_gradient + np.einsum("gkd,k->gd", self.by_start, change)
        start = -np.einsum("gde,ge->gd", inverse, right)
        linear = self.gradient @ change + np.sum(self.start_gradient * start)
        square = change @ self.hessian @ change + 2.0 * np.einsum("k,gkd,gd->", change, self.by_start, start)
        square += np.einsum("gd,gde,ge->", start, self.start_hessian, start)
        return Step(change, start, float(-linear - 0.5 * square), float(0.5 * change @ reduced @ change))


def assemble(
    rollout: Rollout,
    first: IntArray,
    parameters: Array,
    prior: Gaussian,
    moved: Array,
    information: Array,
    loss: Loss | None,
) -> Equations:
    """Normal equations of a rollout.

    Args:
        rollout: of S samples.
        first: (G,) first sample of each segment.
        parameters: (K,).
        moved: (G, d) start states less their guesses.
        information: (d,) of these.
        loss: of each residual.
    """
    count, width = rollout.residual.shape
    k, d = rollout.by_parameters.shape[2], rollout.by_start.shape[2]
    residual = rollout.residual.reshape(-1)
    rows = np.concatenate(
        [rollout.by_parameters.reshape(len(residual), k), rollout.by_start.reshape(-1, d), residual[:, None]], axis=1
    )
    off = parameters - prior.mean
    with np.errstate(over="ignore", invalid="ignore"):
        squared = residual**2
        if loss is not None:
            squared, weight = loss(squared)
            rows *= np.sqrt(weight)[:, None]
        costs = 0.5 * (np.add.reduceat(squared, first * width) + (information * moved**2).sum(axis=1))
        cost = float(costs.sum() + 0.5 * np.sum(prior.information * off**2))
    edges = np.append(first, count) * width
    products = np.zeros((len(first), k + d + 1, k + d + 1))
    finite = np.isfinite(cost) and bool(np.isfinite(rows).all())
    if finite:
        with np.errstate(over="ignore", invalid="ignore"):
            for g, (begin, end) in enumerate(pairwise(edges)):
                products[g] = rows[begin:end].T @ rows[begin:end]
        finite = bool(np.isfinite(products).all())
    total = products.sum(axis=0)
    return Equations(
        cost if finite else float("inf"),
        costs,
        rollout.residual,
        rows,
        edges,
        total[:k, :k] + np.diag(prior.information),
        total[:k, -1] + prior.information * off,
        products[:, :k, k:-1],
        products[:, k:-1, k:-1] + np.diag(information),
        products[:, k:-1, -1] + information * moved,
        prior.information,
    )


def _solve(matrix: Array, right: Array) -> Array:
    """Solution by scaled eigenvectors, so that a direction that nothing is known of does not run away."""
    scale = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
    kept = np.maximum(values, 1e-14 * max(values[-1], 1e-300))
    return np.asarray(vectors @ ((vectors.T @ (right / scale)) / kept) / scale)
