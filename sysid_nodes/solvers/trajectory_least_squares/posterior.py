# SPDX-License-Identifier: Apache-2.0
"""Gauss-Newton covariances of an estimate: the blocks of the inverse Hessian that matter, in O(T).

Backward from the last stage, the inverse is known on the window of stages that the next block column couples to
(Takahashi's selected inversion; the Rauch-Tung-Striebel smoother's covariance is the same recursion). With the block
column l_k of the Cholesky factor, diagonal block L_k and rows B_k below it,

    M = -L_k^-T B_k',   Sigma_ks = M Sigma_ss,   Sigma_kk = L_k^-T L_k^-1 + M Sigma_ss M'.

Every term of a variance is a sum of squares: it cannot turn negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack

from sysid_nodes.kernel.normal_equations import compiled_normal_equations
from sysid_nodes.solvers.trajectory_least_squares.factor import Factor, factorise
from sysid_nodes.solvers.trajectory_least_squares.normal_equations import NormalEquations
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, IntArray

_UNDETERMINED = 1e-13
"""A pivot that small, relative to the diagonal, is the rounding of zero."""


@dataclass(frozen=True)
class Posterior:
    """Marginal covariances in the tangent spaces at the estimate, in squared units of the coordinates.

    They are the linearised model's: exact for linear residuals of unit variance. Stages before `first` were not asked
    for and hold NaN; so do local variables that no block holds.

    Attributes:
        parameter: (p, p).
        stage: (T + 1, n, n).
        stage_parameter: (T + 1, n, p) between stages and parameters.
        neighbour: (T, n, n) between stage k and stage k + 1.
        second: (T - 1, n, n) between stage k and stage k + 2; NaN where no block couples three stages.
        local: (T + 1, l, l).
        first: first stage covered.
    """

    parameter: Array
    stage: Array
    stage_parameter: Array
    neighbour: Array
    second: Array
    local: Array
    first: int = 0


def posterior(equations: NormalEquations, *, last: int | None = None, room: Factor | None = None) -> Posterior | None:
    """Covariances of the `last` stages (all: None), or None where the data leave a coordinate undetermined.

    The parameters' covariance is exact whatever `last` is; fewer stages only save time. `room` as in `factorise`.
    """
    factor = factorise(equations, 0.0, room=room)
    return None if factor is None else covariances(factor, last=last)


def covariances(factor: Factor, *, last: int | None = None, local: bool = True) -> Posterior | None:
    """`posterior` from an undamped factor that is there already; local variables' are NaN where they are not wanted."""
    if least_pivot(factor) < _UNDETERMINED:
        return None
    stages = factor.equations.layout.stages
    begin = 0 if last is None else max(0, stages - last)
    recursion, kernel = _Recursion(factor, begin, local), compiled_normal_equations()
    return recursion.run() if kernel is None else recursion.run_compiled(kernel)


def least_pivot(factor: Factor) -> float:
    """Smallest share of a coordinate's information that coordinates eliminated earlier do not use up."""
    stage, parameter, local = factor.equations.diagonals()
    j = np.arange(factor.equations.layout.size)
    shares = [
        factor.band.columns[:, j, j] ** 2 / np.where(stage > 0.0, stage, 1.0),
        np.diag(factor.corner) ** 2 / np.where(parameter > 0.0, parameter, 1.0),
    ]
    if factor.local_root.size:
        shares.append(1.0 / (np.diagonal(factor.local_root, axis1=1, axis2=2) ** 2 * np.where(local > 0.0, local, 1.0)))
    return min(float(share.min(initial=np.inf)) for share in shares)


def _blank(begin: int, *shape: int) -> Array:
    """An array for covariances of stages from `begin` on, NaN before."""
    out = np.empty(shape)
    out[:begin] = np.nan
    return out


class _Recursion:
    def __init__(self, factor: Factor, begin: int, local: bool) -> None:
        layout, used = factor.equations.layout, factor.equations.windows.local_used
        self._used = used if local else np.zeros_like(used)
        s, n, p = layout.stages, layout.size, layout.parameters
        self._factor, self._begin = factor, begin
        self._n, self._p = n, p
        self._stage = _blank(begin, s, n, n)
        self._cross = _blank(begin, s, n, p)
        self._neighbour = _blank(begin, s - 1, n, n)
        self._second = _blank(begin if factor.equations.windows.width > 2 else s, max(s - 2, 0), n, n)
        self._local = np.full((s, layout.local, layout.local), np.nan)

    def run(self) -> Posterior:
        factor, n, p = self._factor, self._n, self._p
        stages, width = self._stage.shape[0], factor.equations.windows.width
        columns = factor.band.columns
        border = factor.border.reshape(stages, n, p)
        root, _ = lapack.dtrtri(factor.corner, lower=1) if p else (np.zeros((0, 0)), 0)
        parameter = root.T @ root
        owners = self._owners()
        # Joint covariance of the known stages of a window and of the parameters, parameters last.
        joint = parameter
        known = 0
        for k in range(stages - 1, self._begin - 1, -1):
            below = np.concatenate([columns[k, :, n : (1 + known) * n], border[k]], axis=1)
            diagonal = columns[k, :, :n].T
            inverse, _ = lapack.dtrtri(diagonal, lower=1)
            gain = -inverse.T @ below
            cross = gain @ joint
            stage = inverse.T @ inverse + cross @ gain.T
            self._stage[k] = stage = 0.5 * (stage + stage.T)
            self._cross[k] = cross[:, known * n :]
            if known:
                self._neighbour[k] = cross[:, :n]
            if known > 1:
                self._second[k] = cross[:, n : 2 * n]
            window = np.block([[stage, cross], [cross.T, joint]])
            for owner in owners.get(k, ()):
                self._add_local(owner, window)
            known = min(known + 1, width - 1)
            keep = np.r_[0 : known * n, window.shape[0] - p : window.shape[0]]
            joint = window[np.ix_(keep, keep)]
        return Posterior(parameter, self._stage, self._cross, self._neighbour, self._second, self._local, self._begin)

    def run_compiled(self, kernel: Any) -> Posterior:
        """The same by the kernel."""
        factor, structure = self._factor, self._factor.equations.windows
        root = lapack.dtrtri(factor.corner, lower=1)[0] if self._p else np.zeros((0, 0))
        parameter = np.asarray(root.T @ root)
        kernel.invert(
            self._begin,
            structure.width,
            structure.local_first,
            self._used,
            factor.band.storage,
            factor.border.reshape(len(self._stage), self._n, self._p),
            parameter,
            factor.local_root,
            factor.local_rows,
            self._stage,
            self._cross,
            self._neighbour,
            self._second,
            self._local,
        )
        return Posterior(parameter, self._stage, self._cross, self._neighbour, self._second, self._local, self._begin)

    def _owners(self) -> dict[int, IntArray]:
        """Owners of local variables by the first stage of their window."""
        structure = self._factor.equations.windows
        used = np.flatnonzero(self._used)
        return {int(k): used[structure.local_first[used] == k] for k in np.unique(structure.local_first[used])}

    def _add_local(self, owner: int, window: Array) -> None:
        """Covariance of local variables from that of their W stages and the parameters."""
        root, rows = self._factor.local_root[owner], self._factor.local_rows[owner]
        gain = root.T @ rows[:, :-1]
        self._local[owner] = root.T @ root + gain @ window @ gain.T
