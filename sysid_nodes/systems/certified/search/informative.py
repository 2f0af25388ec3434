# SPDX-License-Identifier: Apache-2.0
"""Widths of worst-case bounds after a motion, errors being what they are in it.

Torque errors that grow with the torque make a fast joint a poor witness: its friction alone is several N m. A joint
that hardly moves while others do is a good one, and little friction or armature of its own enters its balance. A cost
that weighs every row by the error it will have finds such motions; least squares with equal weights (excitation.py)
does not.

With w the row of joint j at time t, in units of what the bounds allow, and rho_j = sqrt((a tau_j)^2 + b^2) the error of
its torque, the information of a motion is F = int w' w / rho^2 dt / step over the columns

    ten parameters of the body | sign(qd), qd, qdd by the motors' radii | W_i radius_i of every other link,

on top of the unit matrix for what is known beforehand. What is minimised is taken from the body's block of the inverse:

    widths    1/2 sum of the logarithms of the diagonal: the product of the ten widths
    log_det   1/2 log det: the volume left to the ten parameters
    trace     5 log(trace / 10): their root mean square width, ten times its logarithm

Where the drives are the subject, the block is that of the 3 n motors' columns, and the same is said of them.

The next plan takes over before a plan has ended, so that its later part counts less.

Bounds are not covariances: this ranks motions, and the identifier decides what is proven. Over 33 motions of a Gen3 it
ranked what the identifier was left with better (correlation 0.8 to 0.9) than the half-widths that linear programmes
over the rows' largest errors predict (at most 0.8): where errors average out, more readings do tell more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import lapack

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.bezier import Bezier, State
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.friction import direction, friction_torque
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.robots.robot import Array

Objective = Literal["widths", "log_det", "trace"]
OBJECTIVES: tuple[Objective, ...] = ("widths", "log_det", "trace")
Subject = Literal["body", "drives"]

_BODY = slice(0, 10)

_STEP = 1e-4
_SIGN = 0.02
"""Velocity [rad/s] from which friction's sign is taken for certain; smooth, for the optimiser's sake."""


@dataclass(frozen=True)
class RowModel:
    """Shape of the rows of one body's identification.

    Attributes:
        body: index of the body.
        box: models; its middle gives the torques.
        scales: (10,) half-widths of the parameters known beforehand.
        relative, floor: torque error a [1] and b [N m].
        step: time between independent readings [s].
    """

    chain: Chain
    body: int
    box: ModelBox
    scales: Array
    relative: float
    floor: float
    step: float = 0.1

    @property
    def size(self) -> int:
        """Number of columns."""
        return 10 + 3 * self.chain.n + self.chain.n - 1

    def columns(self, subject: Subject) -> slice:
        """Those of the body's parameters, or of friction and armature of all joints."""
        return _BODY if subject == "body" else slice(_BODY.stop, _BODY.stop + 3 * self.chain.n)

    def rows(self, state: State, dt: float) -> Array:
        """(N, n, size) rows at states (N, n), weighted for readings `dt` [s] apart."""
        n, box, (q, qd, qdd) = self.chain.n, self.box, state
        joints = np.arange(n)
        others = np.delete(joints, self.body)
        # Torque, columns of the body and of the other links are all sums over the regressor's columns.
        sums = np.zeros((n, 10, n + 10))
        sums[:, :, 0] = box.theta
        sums[self.body, :, 1:11] = np.diag(self.scales)
        sums[others, :, 11 + np.arange(n - 1)] = (np.sign(box.theta) * box.theta_radius)[others]
        found = standard_regressor(self.chain, q, qd, qdd) @ sums.reshape(10 * n, -1)
        sign, radius = direction(qd, _SIGN), box.motor_radius
        torque = found[..., 0] + friction_torque(box.motor, qd, qdd, smoothing=_SIGN)
        out = np.zeros((len(q), n, self.size))
        out[:, :, :10] = found[..., 1:11]
        for term, column in enumerate((sign * radius.coulomb, qd * radius.viscous, qdd * radius.armature)):
            out[:, joints, 10 + term * n + joints] = column
        out[:, :, 10 + 3 * n :] = found[..., 11:]
        weight = np.sqrt(dt / self.step / ((self.relative * torque) ** 2 + self.floor**2))
        return np.asarray(out * weight[..., None])

    def information(self, plan: Bezier, until: float, samples: int = 60) -> Array:
        """(size, size) what executing a plan up to a time [s] tells."""
        dt = until / samples
        rows = self.rows(plan(dt * (np.arange(samples) + 0.5)), dt).reshape(-1, self.size)
        return np.asarray(rows.T @ rows)


@dataclass(frozen=True, eq=False)
class InformativeCost:
    """The cost of a plan with displacement k on top of what past motions told; see the module's text.

    Attributes:
        start: (n,) state the plan starts from.
        duration: t_f [s].
        past: (size, size) sum of RowModel.information of past motions.
        objective: see the module's text.
        samples: over the plan.
        sure: time that the plan is executed for [s]; 0 for all of it.
        late: what readings after that count.
        subject: whose parameters.

    Raises:
        ConfigError: the objective is unknown.
    """

    model: RowModel
    start: State
    duration: float
    past: Array
    objective: Objective = "widths"
    samples: int = 24
    sure: float = 0.0
    late: float = 1.0
    subject: Subject = "body"

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise ConfigError(f"unknown objective '{self.objective}'; known are {', '.join(OBJECTIVES)}")

    def __call__(self, k: Array) -> tuple[float, Array]:
        """Value and gradient (n,) [1/rad], by differences of the rows."""
        return self.around(k)(k)

    def values(self, draws: Array) -> Array:
        """(D,) values at displacements (D, n)."""
        t, n = self._times(), self.model.chain.n
        still = Bezier(*self.start, np.zeros(n), self.duration)
        shares = still.derivative_wrt_k(t)
        parts = [
            (part + share[:, None] * draws[:, None, :]).reshape(-1, n)
            for part, share in zip(still(t), shares, strict=True)
        ]
        rows = self._rows(State(*parts)).reshape(len(draws), -1, self.model.size)
        known, wanted = self.past + np.eye(self.model.size), self.model.columns(self.subject)
        return np.array([_value(self.objective, known + own.T @ own, wanted)[0] for own in rows])

    def around(self, k: Array) -> LinearRows:
        """The cost with its rows linearised at k: exact there, value and gradient, and cheap nearby."""
        n, t = self.model.chain.n, self._times()
        plan = Bezier(*self.start, k, self.duration)
        state, shares = plan(t), plan.derivative_wrt_k(t)
        moved = [np.broadcast_to(x, (n + 1, len(t), n)).copy() for x in state]
        for x, share in zip(moved, shares, strict=True):
            x[np.arange(1, n + 1), :, np.arange(n)] += _STEP * share
        rows = self._rows(State(*(x.reshape(-1, n) for x in moved))).reshape(n + 1, -1, self.model.size)
        known = self.past + np.eye(self.model.size)
        slope = (rows[1:] - rows[0]) / _STEP
        return LinearRows(self.objective, known, np.array(k), rows[0], slope, self.model.columns(self.subject))

    def _times(self) -> Array:
        return np.asarray(self.duration / self.samples * (np.arange(self.samples) + 0.5))

    def _rows(self, state: State) -> Array:
        """(runs samples n, size) rows of the states (runs samples, n) of several runs."""
        counts = np.where(self._times() <= (self.sure or self.duration), 1.0, self.late)
        rows = self.model.rows(state, self.duration / self.samples)
        shape = (-1, self.samples, *rows.shape[1:])
        return np.asarray(rows.reshape(shape) * np.sqrt(counts)[:, None, None]).reshape(-1, self.model.size)


@dataclass(frozen=True, eq=False)
class LinearRows:
    """A cost whose rows are affine in k.

    Attributes:
        objective: as of InformativeCost.
        known: (d, d) information without the plan.
        centre: (n,) the k at which the rows are exact.
        rows: (M, d) there.
        slope: (n, M, d) their derivatives.
        wanted: columns whose parameters are wanted.
    """

    objective: Objective
    known: Array
    centre: Array
    rows: Array
    slope: Array
    wanted: slice

    def __call__(self, k: Array) -> tuple[float, Array]:
        """Value and gradient (n,)."""
        slope = self.slope.reshape(len(self.slope), -1)
        rows = self.rows + ((k - self.centre) @ slope).reshape(self.rows.shape)
        value, pull = _value(self.objective, self.known + rows.T @ rows, self.wanted)
        return value, np.asarray(2.0 * (slope @ (rows @ pull).ravel()))


def _value(objective: Objective, information: Array, wanted: slice) -> tuple[float, Array]:
    """Value, and its derivative by the information (d, d)."""
    columns = _inverse_columns(information, wanted)
    block = columns[wanted]
    if objective == "trace":
        trace, half = float(np.trace(block)), 0.5 * len(block)
        return half * float(np.log(trace / len(block))), np.asarray(-half / trace * (columns @ columns.T))
    if objective == "widths":
        variance = np.diagonal(block)
        return 0.5 * float(np.log(variance).sum()), np.asarray(-0.5 * (columns / variance) @ columns.T)
    value = 0.5 * float(np.linalg.slogdet(block)[1])
    return value, np.asarray(-0.5 * (columns @ np.linalg.solve(block, columns.T)))


def _inverse_columns(information: Array, wanted: slice) -> Array:
    """(d, m) m columns of the inverse of an information matrix (d, d), none of whose eigenvalues is below 1.

    Its diagonal is positive however much a motion tells about some direction: what the unit matrix adds then drowns in
    the roundings, and a general inverse may end in a negative variance.
    """
    root, failed = lapack.dpotrf(information, lower=1)
    if not failed:
        inverse, _ = lapack.dtrtri(root, lower=1)
        return np.asarray(inverse.T @ inverse[:, wanted])
    eigenvalues, vectors = np.linalg.eigh(information)
    return np.asarray((vectors / np.maximum(eigenvalues, 1.0)) @ vectors[wanted].T)
