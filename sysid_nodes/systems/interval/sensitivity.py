# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 of the paper: log-Cholesky least squares with a first-order interval from Theorem 13.

As faithful as the paper is, and no more: the derivative (42)-(45) is evaluated at the nominal measurement, exact
Hessian (43) included. It ignores encoder, velocity and quadrature errors (Assumption 12 and Theorem 11 take them as
exact), and where noise drives the optimum to the edge of the physically consistent set the derivative collapses and
the interval can miss the truth. Its status is therefore ESTIMATED, never PROVEN.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from scipy import optimize

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.inertia import (
    log_cholesky_hessian,
    log_cholesky_jacobian,
    log_cholesky_to_parameters,
    parameters_to_log_cholesky,
)
from sysid_nodes.results.identification import Contradiction
from sysid_nodes.systems.interval.config import SensitivityConfig
from sysid_nodes.systems.interval.momentum_rows import CAUSES, TORQUE_ABSOLUTE, TORQUE_RELATIVE, MomentumRows
from sysid_nodes.systems.interval.unknowns import Unknowns

Array = npt.NDArray[np.float64]


class Sensitivity:
    """Estimate and first-order interval from the rows of the last windows.

    Args:
        unknowns: nominal parameters and their box, the paper's theta_r,0 and [theta_r].
        config: number of rows kept; older ones are dropped, so that memory and time stay bounded.

    Attributes:
        estimate: (10,) theta_e*(m) of the paper.
    """

    certified = False
    assumptions = ("Method sensitivity: first order in all errors, so these bounds are an estimate and not proven.",)
    contradiction: Contradiction | None = None

    def __init__(self, unknowns: Unknowns, config: SensitivityConfig) -> None:
        self._unknowns, self._max_rows = unknowns, config.max_rows
        self._common = unknowns.prior if config.nested_after > 0.0 else None
        self._nested_after, self._begun = config.nested_after, np.inf
        d = unknowns.size
        self._y, self._u, self._noise = np.zeros((0, 10)), np.zeros(0), np.zeros(0)
        self._rest = np.zeros((0, d - 10))
        self._eta = parameters_to_log_cholesky(_plausible_body(unknowns))
        self.estimate = log_cholesky_to_parameters(self._eta)
        self._width = np.full(10, np.inf)
        self._costs: dict[str, Array] = {}

    @property
    def bounds(self) -> Bounds:
        """(27) of the paper, infinite before the motion excites everything; nested, what all of them have in common."""
        return self._common or Bounds(self.estimate - self._width, self.estimate + self._width)

    def step(self, rows: MomentumRows, *_: object) -> bool:
        """Estimates anew with the rows of new windows; returns whether the interval changed."""
        windows, n, size = rows.coefficients.shape
        flat = rows.coefficients.reshape(windows * n, size)
        known = self._unknowns.known_centre
        radius = rows.radius.reshape(windows * n, -1)
        torque = radius[:, [CAUSES.index(TORQUE_RELATIVE), CAUSES.index(TORQUE_ABSOLUTE)]].sum(axis=1)
        keep = slice(-self._max_rows, None)
        self._y = np.vstack([self._y, flat[:, self._unknowns.body_slice]])[keep]
        self._u = np.concatenate([self._u, -flat @ known])[keep]
        self._noise = np.concatenate([self._noise, torque])[keep]
        self._rest = np.vstack([self._rest, flat @ self._unknowns.basis[:, 10:]])[keep]
        before = self.bounds.half_width
        self._estimate()
        self._begun = min(self._begun, float(rows.t.min()))
        old = float(rows.t.max()) - self._begun >= self._nested_after
        if self._common is not None and self.contradiction is None and old:
            self._common = self._intersect(self._common)
        return not np.allclose(self.bounds.half_width, before, rtol=1e-3, atol=0.0)

    def costs(self) -> Mapping[str, Array]:
        """(10,) of each interval's width that each assumption costs [parameter's unit]."""
        return dict(self._costs)

    def nominal(self, *_: object) -> Array:
        """(10,) the estimate itself."""
        return self.estimate

    def error_needed(self, *_: object) -> float:
        """See `Method`."""
        return float("nan")

    def reconfigure(self, *_: object) -> None:
        """Has no live options."""

    def _intersect(self, common: Bounds) -> Bounds:
        """With the present interval; where nothing is left, the contradiction is kept and the bounds stay."""
        lower = np.maximum(common.lower, self.estimate - self._width)
        upper = np.minimum(common.upper, self.estimate + self._width)
        if (lower <= upper).all():
            return Bounds(lower, upper)
        self.contradiction = Contradiction((), np.zeros((0, 2)), "first order of the sensitivity analysis", {})
        return common

    def _estimate(self) -> None:
        gram, moment = self._y.T @ self._y, self._y.T @ self._u
        size = float(np.trace(gram)) or 1.0

        def value(eta: Array) -> tuple[float, Array]:
            theta = log_cholesky_to_parameters(eta)
            slope = gram @ theta - moment
            return float(theta @ (0.5 * gram @ theta - moment)) / size, log_cholesky_jacobian(eta).T @ slope / size

        def hessian(eta: Array) -> Array:
            theta, jacobian = log_cholesky_to_parameters(eta), log_cholesky_jacobian(eta)
            slope = gram @ theta - moment
            second = np.tensordot(slope, log_cholesky_hessian(eta), axes=1)  # eq. (43), second term
            return np.asarray((jacobian.T @ gram @ jacobian + second) / size)

        with np.errstate(over="ignore", invalid="ignore"):
            found = optimize.minimize(
                value, self._eta, jac=True, hess=hessian, method="trust-exact", options={"gtol": 1e-12, "maxiter": 300}
            )
        if not np.isfinite(found.x).all():
            return
        self._eta = found.x
        self.estimate = log_cholesky_to_parameters(self._eta)
        jacobian, curvature = log_cholesky_jacobian(self._eta), hessian(self._eta) * size
        try:
            slope = jacobian @ np.linalg.solve(curvature, jacobian.T @ self._y.T)  # d theta / d U, eqs. (42)-(45)
        except np.linalg.LinAlgError:
            self._width = np.full(10, np.inf)
            return
        unknowns = np.abs(slope @ self._rest)
        noise = np.abs(slope) @ self._noise
        self._width = noise + unknowns.sum(axis=1)
        groups = self._unknowns.groups[10:]
        self._costs = {"torque noise": 2.0 * noise}
        for name in sorted(set(groups)):
            self._costs[name] = 2.0 * unknowns[:, [group == name for group in groups]].sum(axis=1)


def _plausible_body(unknowns: Unknowns) -> Array:
    """(10,) a physical body to start from: the prior's mass and centre of mass with a ball's inertia of 0.1 m."""
    theta = unknowns.prior.centre.copy()
    mass = max(float(theta[0]), 1e-3)
    com = theta[1:4] / mass
    inertia = mass * (0.01 * np.eye(3) + (com @ com) * np.eye(3) - np.outer(com, com))
    return np.concatenate([[mass], theta[1:4], inertia[np.tril_indices(3)]])
