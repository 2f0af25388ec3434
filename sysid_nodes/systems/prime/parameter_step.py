# SPDX-License-Identifier: Apache-2.0
"""The step of the constants with the curvature that is known of them.

Given all else, residuals of the readings are linear in a body's inertial parameters and the armature, and the prior is
in their logarithms. A linear model of both in logarithms is worth little where a moment of inertia hardly is observed:
its steps leave a torso a fifth or ten times its moment, and the iteration needs ten more of them. Here readings and
prior are kept as they are,

    min over theta'   g_d's + s'S_d s / 2 + |prior(theta')|^2 / 2,   s = d phi(theta)^-1 (phi(theta') - phi(theta)),

phi the inertial parameters, S_d and g_d the readings' part of the Hessian and the gradient with all else eliminated.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from sysid_nodes.solvers.trajectory_least_squares.problem import ParameterStep
from sysid_nodes.systems.prime.config import InertiaConfig
from sysid_nodes.systems.prime.parameters import Parameters
from sysid_nodes.systems.prime.prior import prior_jacobian, prior_residual

Array = npt.NDArray[np.float64]

_MOST = 50
_ENOUGH = 1e-4
"""Steps at most, and the decrease of the cost below which they end."""


def curved_step(
    parameters: Parameters, config: InertiaConfig, theta: Array, corner: Array, gradient: Array
) -> ParameterStep | None:
    """The step s (p,) from theta that `Parameters.move` takes; None where there is none that lowers the cost.

    Args:
        parameters: layout of theta.
        config: of the prior.
        theta: (p,) where the model is linear.
        corner: (p, p) lower Cholesky factor of the Hessian once all else is eliminated.
        gradient: (p,) likewise.
    """
    prior, slope = prior_residual(parameters, config, theta), prior_jacobian(parameters, config, theta)
    hessian, pull = corner @ corner.T - slope.T @ slope, gradient - slope.T @ prior

    def evaluate(at: Array) -> tuple[float, Array, Array, Array]:
        step, residual = parameters.step_to(theta, at), prior_residual(parameters, config, at)
        slanted = hessian @ step
        value = float(pull @ step + 0.5 * step @ slanted + 0.5 * residual @ residual)
        return value, step, pull + slanted, residual

    start = 0.5 * float(prior @ prior)
    at, (value, step, along, residual), damping = theta, evaluate(theta), 1e-6
    with np.errstate(over="ignore", invalid="ignore"):
        straight = parameters.move(theta, cho_solve((corner, True), -gradient))
        if np.isfinite(straight).all() and (there := evaluate(straight))[0] < value:  # else: a long curved way to it
            at, (value, step, along, residual) = straight, there
    for _ in range(_MOST):
        by, own = parameters.step_slope(theta, at), prior_jacobian(parameters, config, at)
        local = by.T @ hessian @ by + own.T @ own
        local[np.diag_indices(len(theta))] *= 1.0 + damping
        try:
            trial = at - cho_solve(cho_factor(local), by.T @ along + own.T @ residual)
            with np.errstate(over="ignore", invalid="ignore"):
                there = evaluate(trial)
        except (LinAlgError, ValueError):  # not positive definite, or far beyond what an exponential holds
            damping *= 10.0
            continue
        gain = value - there[0]
        if gain > 0.0:
            at, (value, step, along, residual), damping = trial, there, 0.1 * damping
        else:
            damping = max(10.0 * damping, 1e-6)
        if abs(gain) <= _ENOUGH:
            break
    decrease = start - value
    return ParameterStep(step, -2.0 * decrease - float(gradient @ step)) if decrease > 0.0 else None
