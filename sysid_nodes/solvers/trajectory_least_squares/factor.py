# SPDX-License-Identifier: Apache-2.0
"""Damped normal equations solved in O(T): local variables by dense Schur complements, stages by a band Cholesky
factor, parameters by the Schur complement of the arrow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import lapack

from sysid_nodes.kernel.normal_equations import compiled_normal_equations
from sysid_nodes.solvers.trajectory_least_squares.band import Band
from sysid_nodes.solvers.trajectory_least_squares.normal_equations import CHUNK, NormalEquations, add_window
from sysid_nodes.solvers.trajectory_least_squares.problem import Array
from sysid_nodes.solvers.trajectory_least_squares.windows import scatter_add

_UNDETERMINED = 1e-13
"""A pivot that small, relative to the diagonal, is the rounding of zero."""


@dataclass(frozen=True)
class Step:
    """Tangent steps: stage (T + 1, n), parameter (p,), local (T + 1, l)."""

    stage: Array
    parameter: Array
    local: Array

    def promise(self, equations: NormalEquations) -> float:
        """Decrease of the linear model's cost, -g' step / 2, by a whole undamped step."""
        along = float(np.sum(equations.gradient * self.stage) + equations.parameter_gradient @ self.parameter)
        if equations.local is not None:
            along += float(np.sum(equations.local.gradient * self.local))
        return -0.5 * along


@dataclass(frozen=True)
class Factor:
    """Cholesky factor of the (damped) Hessian, ordered local variables, stages, parameters.

    Attributes:
        equations: what was factorised.
        band: the factor L of the stages, after local elimination.
        border: (N, p) L^-1 times the border.
        corner: (p, p) lower Cholesky factor of the parameters' Schur complement.
        gradient: (N,) L^-1 times the stage gradient.
        parameter_gradient: (p,) gradient of the parameters after elimination of all else.
        local_root: (T + 1, l, l) inverse Cholesky factor of each local Hessian; (0, 0, 0) without local variables.
        local_rows: (T + 1, l, W * n + p + 1) local_root times coupling to stages, parameters, and the gradient.
    """

    equations: NormalEquations
    band: Band
    border: Array
    corner: Array
    gradient: Array
    parameter_gradient: Array
    local_root: Array
    local_rows: Array

    def step(self, parameter: Array | None = None) -> Step:
        """-H^-1 g, or the best step with that of the parameters given."""
        layout = self.equations.layout
        if parameter is None:
            parameter = -self.parameter_gradient
            if layout.parameters:
                parameter = lapack.dpotrs(self.corner, parameter, lower=1)[0]
        right = -(self.gradient + self.border @ parameter)
        stage = lapack.dtbtrs(self.band.lapack, right[:, None], uplo="L", trans="T")[0]
        stage = stage.reshape(layout.stages, layout.size)
        return Step(stage, parameter, self._local_step(stage, parameter))

    def pulled(self, gradient: Step) -> Factor:
        """The same Hessian's with a gradient added to that of the equations (which stay as they are)."""
        structure, layout = self.equations.windows, self.equations.layout
        stage, parameter, local = gradient.stage.copy(), gradient.parameter, self.local_rows
        if local.size:
            reach = structure.width * layout.size
            own = np.einsum("kij,kj->ki", self.local_root, gradient.local)
            back = np.einsum("kij,ki->kj", local[:, :, :-1], own)
            for k in range(structure.width):
                part = back[:, k * layout.size : (k + 1) * layout.size]
                scatter_add(stage, structure.local_first + k, -part)
            parameter = parameter - back[:, reach:].sum(axis=0)
            local = np.concatenate([local[:, :, :-1], local[:, :, -1:] + own[:, :, None]], axis=2)
        moved = self._solve_band(stage[:, :, None], 0, transposed=False).reshape(-1)
        return replace(
            self,
            gradient=self.gradient + moved,
            parameter_gradient=self.parameter_gradient + parameter - self.border.T @ moved,
            local_rows=local,
        )

    def covariances_with(self, *asked: int) -> tuple[Array, Array]:
        """(T + 1, n, s n) covariances of all stages with s of them, (p, s n) of the parameters with these."""
        layout = self.equations.layout
        rows = np.zeros((layout.stages, layout.size, len(asked), layout.size))
        for i, stage in enumerate(asked):
            rows[stage, :, i] = np.eye(layout.size)
        rows = self._solve_band(rows.reshape(*rows.shape[:2], -1), min(asked), transposed=False)
        flat = rows.reshape(-1, rows.shape[2])
        parameter = -(self.border.T @ flat)
        if layout.parameters:
            parameter = lapack.dpotrs(self.corner, parameter, lower=1)[0]
        flat -= self.border @ parameter
        return self._solve_band(rows, 0, transposed=True), np.asarray(parameter)

    def first_stages(self, count: int) -> tuple[Array, Step] | None:
        """The first `count` stages as the equations want them when those that follow and the parameters are given.

        Returns:
            (T + 1, n, c) derivatives of the stages by those W - 1 that follow, which are themselves, and by the
            parameters, zero for stages further on; and the step when none of these c unknowns moves. None where the
            first stages are not determined then.
        """
        layout, width = self.equations.layout, self.equations.windows.width
        n, j = layout.size, np.arange(layout.size)
        pivot, whole = (band.columns[:count, j, j] for band in (self.band, self.equations.band))
        if not np.all(pivot**2 > _UNDETERMINED * whole):
            return None
        given = min(width - 1, layout.stages - count) * n
        right = np.zeros((count, n, given + layout.parameters + 1))
        for k in range(max(count - width + 1, 0), count):
            coupled = self.band.columns[k, :, (count - k) * n :][:, :given]
            right[k, :, : coupled.shape[1]] = -coupled
        right[:, :, given:-1] = -self.border[: count * n].reshape(count, n, layout.parameters)
        right[:, :, -1] = -self.gradient[: count * n].reshape(count, n)
        found = self._solve_band(right, 0, transposed=True)
        by_given = np.zeros((layout.stages * n, given + layout.parameters))
        by_given[: count * n] = found[:, :, :-1].reshape(count * n, -1)
        by_given[count * n : count * n + given] = np.eye(given, by_given.shape[1])
        stage, parameter = np.zeros((layout.stages, n)), np.zeros(layout.parameters)
        stage[:count] = found[:, :, -1]
        step = Step(stage, parameter, self._local_step(stage, parameter))
        return by_given.reshape(layout.stages, n, -1), step

    def solve_first(self, rows: Array) -> Array:
        """L^-1 of the first K stages times (K, n, c), which it overwrites."""
        return self._solve_band(rows, 0, transposed=False)

    def _solve_band(self, rows: Array, first: int, *, transposed: bool) -> Array:
        """L^-1 or L^-T of the first K stages times (K, n, c), zero before stage `first`."""
        kernel, band = compiled_normal_equations(), Band(self.band.storage[: len(rows)], self.band.size)
        if kernel is None:
            trans, flat = "T" if transposed else "N", rows.reshape(-1, rows.shape[2])
            return np.ascontiguousarray(lapack.dtbtrs(band.lapack, flat, uplo="L", trans=trans)[0]).reshape(rows.shape)
        kernel.solve_band(band.storage, first, transposed, rows)
        return rows

    def _local_step(self, stage: Array, parameter: Array) -> Array:
        layout, structure = self.equations.layout, self.equations.windows
        if self.local_root.size == 0:
            return np.zeros((layout.stages, layout.local))
        window = structure.local_first[:, None] + np.arange(structure.width)
        reach = structure.width * layout.size
        coupled = np.ones((layout.stages, self.local_rows.shape[2]))
        coupled[:, :reach], coupled[:, reach:-1] = stage[window].reshape(layout.stages, reach), parameter
        moved = np.einsum("kij,kj->ki", self.local_rows, coupled)
        return np.asarray(-np.einsum("kji,kj->ki", self.local_root, moved))


def factorise(equations: NormalEquations, damping: float, *, room: Factor | None = None) -> Factor | None:
    """Factor of H + damping * D, or None when that is not positive definite to working precision.

    D is `NormalEquations.damping_scale`. A coordinate that occurs in no residual has a zero
    diagonal; it is given the diagonal 1 when damped. Local variables that no block holds stay where they are. `room`, a
    factor of equations of the same structure that is needed no longer, gives its memory: to ask for as much anew takes
    as long as to fill it.
    """
    if (equations.measured is not None or equations.held is not None) and damping > 0.0:
        equations, damping = equations.with_damping(damping), 0.0
    kernel = compiled_normal_equations()
    with np.errstate(over="ignore", invalid="ignore"):
        eliminated = (
            _eliminate(equations.with_damping(damping))
            if kernel is None
            else _eliminate_compiled(kernel, equations, damping, room)
        )
    if eliminated is None:
        return None
    reduced, root, rows = eliminated
    p = equations.layout.parameters
    corner = np.zeros((0, 0))
    if p:
        corner, info = lapack.dpotrf(reduced.corner, lower=1)
        if info != 0:
            return None
    if not (np.isfinite(reduced.parameter_gradient).all() and np.isfinite(reduced.gradient).all()):
        return None
    border, gradient = reduced.border.reshape(reduced.gradient.size, p), reduced.gradient.reshape(-1)
    return Factor(equations, reduced.band, border, corner, gradient, reduced.parameter_gradient, root, rows)


def _eliminate(equations: NormalEquations) -> tuple[NormalEquations, Array, Array] | None:
    """Equations without local variables and stages, `local_root` and `local_rows`; None where not positive definite.

    The stages' equations are then their factor's, the parameters' are what is left.
    """
    layout = equations.layout
    root, rows = _local_rows(equations)
    if root is None:
        return None
    reduced = _reduce(equations, rows)
    factor, info = lapack.dpbtrf(reduced.band.lapack, lower=1, overwrite_ab=1)
    if info != 0:
        return None
    right = np.empty((layout.stages * layout.size, layout.parameters + 1), order="F")
    right[:, :-1] = reduced.border.reshape(right.shape[0], layout.parameters)
    right[:, -1] = reduced.gradient.reshape(-1)
    solved = lapack.dtbtrs(factor, right, uplo="L", overwrite_b=1)[0]
    border, gradient = solved[:, :-1], solved[:, -1]
    corner = reduced.corner - border.T @ border
    parameter_gradient = reduced.parameter_gradient - border.T @ gradient
    left = replace(reduced, border=border, corner=corner, gradient=gradient, parameter_gradient=parameter_gradient)
    return left, root, rows


def _eliminate_compiled(
    kernel: Any, equations: NormalEquations, damping: float, room: Factor | None
) -> tuple[NormalEquations, Array, Array] | None:
    """`_eliminate` by the kernel."""
    layout, terms, windows = equations.layout, equations.local, equations.windows
    s, own = (0, 0) if terms is None else (layout.stages, layout.local)
    none = np.zeros((0, 0, 0))
    local = (none, none, none, np.zeros((0, 0)))
    if terms is not None:
        local = (terms.hessian, terms.stage, terms.parameter, terms.gradient)
    given = equations.band, equations.border, equations.corner, equations.gradient, equations.parameter_gradient
    band, border, corner, gradient, parameter_gradient = given
    if room is None:
        left = replace(equations, band=Band(np.empty_like(band.storage), band.size), border=np.empty_like(border))
        left = replace(left, gradient=np.empty_like(gradient))
        root, rows = np.empty((s, own, own)), np.empty((s, own, band.reach + layout.parameters + 1))
    else:
        shape = border.shape, gradient.shape
        left = replace(equations, band=room.band, border=room.border.reshape(shape[0]))
        left = replace(left, gradient=room.gradient.reshape(shape[1]))
        root, rows = room.local_root, room.local_rows
    left = replace(left, corner=np.empty_like(corner), parameter_gradient=np.empty_like(parameter_gradient))
    done = kernel.factorise(
        (*local, band.storage, border, corner, gradient, parameter_gradient),
        damping,
        windows.local_first,
        windows.local_used,
        root,
        rows,
        left.band.storage,
        left.border,
        left.corner,
        left.gradient,
        left.parameter_gradient,
    )
    return (left, root, rows) if done else None


def _local_rows(equations: NormalEquations) -> tuple[Array | None, Array]:
    """Inverse Cholesky factors of the local Hessians and their products with what they couple to."""
    terms = equations.local
    if terms is None:
        return np.zeros((0, 0, 0)), np.zeros((0, 0, 0))
    hessian = terms.hessian.copy()
    hessian[~equations.windows.local_used] = np.eye(equations.layout.local)
    rows = np.concatenate([terms.stage, terms.parameter, terms.gradient[:, :, None]], axis=2)
    try:
        root = np.linalg.inv(np.linalg.cholesky(hessian))
    except np.linalg.LinAlgError:
        return None, rows
    return root, root @ rows


def _reduce(equations: NormalEquations, rows: Array) -> NormalEquations:
    """A copy of the equations of stages and parameters with the local variables eliminated, ready for LAPACK."""
    reduced = replace(
        equations,
        band=equations.band.copy(),
        border=equations.border.copy(),
        corner=equations.corner.copy(),
        gradient=equations.gradient.copy(),
        parameter_gradient=equations.parameter_gradient.copy(),
    )
    if rows.size:
        p, reach = equations.layout.parameters, equations.band.reach
        used = np.flatnonzero(equations.windows.local_used)
        chunk = max(1, CHUNK // rows.shape[2] ** 2)
        for start in range(0, used.size, chunk):
            owners = used[start : start + chunk]
            y = rows[owners]
            products = -(y.transpose(0, 2, 1) @ y)
            add_window(reduced, equations.windows.local_first[owners], products, reach)
            theta = slice(reach, reach + p)
            reduced.corner[...] += products[:, theta, theta].sum(axis=0)
            reduced.parameter_gradient[...] += products[:, theta, -1].sum(axis=0)
    reduced.band.clear_upper()
    return reduced
