# SPDX-License-Identifier: Apache-2.0
"""Constants when errors last: the log weighed against the prior by how much it really tells.

Errors that last for some stages are one error, not many. A fit that takes them for white follows them as if that many
readings had agreed, beyond what any honest prior allows, wherever the log tells little. With the log's information H on
phi (knowledge.py) as if errors were white, the gradient s(phi) = H (phi - its own estimate) of its cost has covariance
H + G, hence

    min over theta of   s' (H + G)^+ s / 2 + prior,   bounds and equalities met,

the best combination of the two that is linear in the log's gradient (optimal weighting of estimating equations, Hansen,
Econometrica 50 (1982) 4). With H = R'R, s = R'(R phi - t), that is the log's |R phi - t|^2 with errors of covariance
I + A instead of I, A = (R^+)' G R^+. The posterior is never wider than the prior, and the same as without G where
errors are white.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular

from sysid_nodes.solvers.trajectory_least_squares import Blocks, Layout, LevenbergMarquardtConfig
from sysid_nodes.solvers.trajectory_least_squares.feasible_descent import linear_model, solve_feasible
from sysid_nodes.solvers.trajectory_least_squares.parameter_posterior import ParameterPosterior, parameter_posterior
from sysid_nodes.solvers.trajectory_least_squares.parameter_program import ParameterRows
from sysid_nodes.solvers.trajectory_least_squares.stage_equalities import StageEqualities
from sysid_nodes.systems.bayesian.estimate import LogInformation
from sysid_nodes.systems.bayesian.parameters import Parameters

Array = npt.NDArray[np.float64]

_ITERATIONS = 1000  # of a few hundred unknowns: along what a log hardly tells, valleys are long and bent


class _Point(NamedTuple):
    """Attributes: stage (1, 1), which has nothing to say and stays at zero; x (P,) all constants."""

    stage: Array
    x: Array


@dataclass(frozen=True)
class _Constants:
    """The constants' problem without a motion: the solver wants a stage and gets an empty one."""

    own: Parameters
    told: LogInformation

    @property
    def layout(self) -> Layout:
        return Layout(1, 1, len(self.own.free))

    def retract(self, point: _Point, stage_step: Array, parameter_step: Array, local_step: Array) -> _Point:
        x = point.x.copy()
        x[self.own.free] += parameter_step
        return _Point(point.stage + stage_step + local_step.sum(), x)

    def residuals(self, point: _Point) -> list[Array]:
        return self._values(point, self.own.of_torques(point.x))

    def _values(self, point: _Point, phi: Array) -> list[Array]:
        """(1, 1 + p) of the stage and the prior, (1, r) of the log."""
        own = self.own
        prior = np.concatenate([point.stage[0], (point.x - own.mean)[own.free] / own.sigma[own.free]])
        return [prior[None], (self.told.root @ phi - self.told.target)[None]]

    def linearise(self, point: _Point) -> list[Blocks]:
        sigma = self.own.sigma[self.own.free]
        phi, slope = self.own.linear(point.x)
        first, by_stage, root = np.array([0]), np.zeros((1, 1 + len(sigma), 1)), self.told.root
        by_stage[0, 0] = 1.0
        by_theta = np.concatenate([np.zeros((1, len(sigma))), np.diag(1.0 / sigma)])
        prior, told = self._values(point, phi)
        return [
            Blocks(first, prior, by_stage, by_theta[None], measures=True),
            Blocks(first, told, np.zeros((1, len(root), 1)), (root @ slope)[None]),
        ]

    def stage_equalities(self, point: _Point) -> StageEqualities:
        return StageEqualities(np.zeros((len(point.stage), 0)), np.zeros((len(point.stage), 0, 1)))

    def parameter_rows(self, point: _Point) -> ParameterRows:
        return self.own.rows(point.x)


def discount_information(told: LogInformation, lasting: Array, slope: Array, sigma: Array) -> LogInformation:
    """The same information with errors of covariance I + A.

    Args:
        told: as if errors were white.
        lasting: (p, p) covariance G of the gradient by phi, beyond what white noise gives.
        slope: (p, p) of phi by theta.
        sigma: (p,) of the prior in theta: numbers of one size.
    """
    unit = slope * sigma
    back = np.linalg.pinv(told.root @ unit)
    added = back.T @ (unit.T @ lasting @ unit) @ back
    half = np.linalg.cholesky(np.eye(len(added)) + 0.5 * (added + added.T))
    both = solve_triangular(half, np.column_stack([told.root, told.target]), lower=True)
    return LogInformation(both[:, :-1], both[:, -1])


def estimate_with_correlated_errors(
    own: Parameters, told: LogInformation, lasting: Array, x: Array
) -> tuple[Array, ParameterPosterior, LogInformation] | None:
    """The constants (P,), their posterior and what the log tells when errors last; None where no minimum is found.

    Args:
        own: the constants and their prior.
        told: information of the log.
        lasting: (p, p) G.
        x: (P,) the estimate as if errors were white.
    """
    _, slope = own.linear(x)
    if not (np.isfinite(told.root).all() and np.isfinite(lasting).all()):
        return None
    discounted = discount_information(told, lasting, slope, own.sigma[own.free])
    found = most_probable_constants(own, discounted, x)
    return None if found is None else (found[0], found[1], discounted)


def most_probable_constants(
    own: Parameters, told: LogInformation, x: Array, tolerance: float = LevenbergMarquardtConfig.cost_tolerance
) -> tuple[Array, ParameterPosterior, float] | None:
    """The constants (P,), their posterior and the cost, from information and prior; None where no minimum is found.

    Args:
        own: the constants and their prior.
        told: information.
        x: (P,) where to begin.
        tolerance: relative decrease of the cost at which the search ends.
    """
    problem = _Constants(own, told)
    rules = LevenbergMarquardtConfig(max_iterations=_ITERATIONS, cost_tolerance=tolerance)
    found = solve_feasible(problem, _Point(np.zeros((1, 1)), x), rules)
    if not found.status.converged:
        return None
    model = linear_model(problem, found.point)
    if model.factor is None:
        return None
    return found.point.point.x, parameter_posterior(model.factor, model.rows), found.cost
