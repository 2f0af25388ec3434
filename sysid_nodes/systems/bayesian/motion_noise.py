# SPDX-License-Identifier: Apache-2.0
"""Information of a log whose motion is hardly larger than the noise of its positions.

The estimate of a motion has the readings' noise in it, and the linear model takes that for motion: an acceleration of
2 rad/s2 that only noise of 0.1 mrad shows would tell a rotor. With J the torques' derivative by the constants and M
what the unknown motion leaves of them, the information J'MJ at the estimate is too large by

    C = E[dJ' M dJ],    dJ of motions drawn from the estimate's own uncertainty, the constants given,

as for regressors that are measured with errors (Fuller, Measurement error models, 1987, section 1.2). The cost's
gradient then has covariance H = J'MJ but changes with the constants by H - C only, and is worth

    (H - C) H^-1 (H - C)

to the constants (the best weighting of an estimating equation, as in correlated_errors.py); nothing where C is as
large as H.

How noise weighs depends on the constants as well: the torques of what shakes are a rotor's, and where the minimum has
none, they weigh as if there were none. So where noise matters, a log is linearised at the posterior's mean and not at
its mode, which is at a bound at worst. The search for that mean begins with what the mode tells without noise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.trajectory_least_squares import LevenbergMarquardtConfig
from sysid_nodes.solvers.trajectory_least_squares.factor import factorise
from sysid_nodes.solvers.trajectory_least_squares.feasible_descent import (
    FeasiblePoint,
    LinearModel,
    linear_model,
    restore,
    solve_feasible,
)
from sysid_nodes.solvers.trajectory_least_squares.normal_equations import assemble
from sysid_nodes.solvers.trajectory_least_squares.robust import reweight
from sysid_nodes.systems.bayesian.correlated_errors import estimate_with_correlated_errors
from sysid_nodes.systems.bayesian.estimate import Estimate, LogInformation
from sysid_nodes.systems.bayesian.knowledge import TOLD, log_information
from sysid_nodes.systems.bayesian.problem import GROUPS, MechanismProblem

Array = npt.NDArray[np.float64]

_DRAWS = 4  # of motions: what is summed over all stages is hardly chance's
_MATTERS = 0.05  # share of noise in what a direction tells, from which on the mode is no place to linearise
_ROUNDS = 12
_THERE = 0.3  # posterior sigmas by which the mean may still move
_MEAN_OF = 200  # draws
_TINY = 1e-5  # of the prior's information: only so that there is a factor
_ITERATIONS = 30


class Told(NamedTuple):
    """Attributes: information of a log, and G, the covariance of its gradient beyond that of white noise; x (P,) the
    estimate as if errors were white; found, whether the place to linearise at was."""

    told: LogInformation
    lasting: Array
    x: Array
    found: bool


def information_without_noise(
    problem: MechanismProblem, at: FeasiblePoint[Estimate], model: LinearModel, extra: Array
) -> Told:
    """Information of a log and all parts before it, without what noise seems to tell.

    Args:
        problem: of the log.
        at: its minimum.
        model: the linear model there, with a factor.
        extra: (p, p) covariance of theta that lasting errors add.
    """
    own = problem.mechanism.parameters
    assert model.factor is not None
    told, lasting = log_information(own, model.factor, at.point.x, extra)
    # Impacts are constants that tell the motion; torques tell it in a long log, but where feet press on each other.
    weak = problem.log.is_short or problem.torque_doubt is not None
    if not weak or problem.mechanism.contacts.touching:
        return Told(told, lasting, at.point.x, True)
    share, size, parts = _noise_shares(problem, at, model, told)
    here, x = _weigh(parts, np.where(share <= _MATTERS, 1.0 - share, 0.0)), at.point.x
    if not np.any((share > _MATTERS) & (size > TOLD)):
        return Told(here, lasting, x, True)
    for _ in range(_ROUNDS):
        belief = estimate_with_correlated_errors(own, here, lasting, x)
        if belief is None:
            break
        sigma = np.sqrt(np.diag(belief[1].covariance))
        mean = belief[0].copy()
        mean[own.free] += belief[1].expectation(_MEAN_OF, np.random.default_rng(0))
        if np.all(np.abs(mean - x)[own.free] <= _THERE * sigma) and x is not at.point.x:
            white = estimate_with_correlated_errors(own, here, np.zeros_like(lasting), x)
            if white is None:
                break
            return Told(here, lasting, white[0], True)
        moved = _motion_given(problem, replace(at.point, x=mean))
        model = linear_model(problem, moved)
        if model.factor is None or not moved.feasible:
            break
        x = moved.point.x
        told, _ = log_information(own, model.factor, x, extra)
        share, _, parts = _noise_shares(problem, moved, model, told)
        here = _weigh(parts, np.maximum(1.0 - share, 0.0))
    return Told(here, lasting, at.point.x, False)


def _motion_given(problem: MechanismProblem, start: Estimate) -> FeasiblePoint[Estimate]:
    """The most probable motion, the constants given."""
    point, own = restore(problem, start).point, problem.mechanism.parameters
    known = replace(own, mean=point.x, sigma=np.zeros_like(own.sigma))
    alone = replace(problem, mechanism=replace(problem.mechanism, parameters=known), told=None)
    return solve_feasible(alone, point, LevenbergMarquardtConfig(_ITERATIONS)).point


def _noise_shares(
    problem: MechanismProblem, at: FeasiblePoint[Estimate], model: LinearModel, told: LogInformation
) -> tuple[Array, Array, LogInformation]:
    """(r,) shares of noise in what is told, its sizes in units of the prior's; the (r, p) rows that these are of."""
    _, slope = problem.mechanism.parameters.linear(at.point.x)
    sigma = problem.mechanism.parameters.sigma[problem.mechanism.parameters.free]
    unit = told.root @ slope * sigma
    back = sigma[:, None] * np.linalg.pinv(unit)
    share, turned = np.linalg.eigh(back.T @ counted_noise(problem, at, model) @ back)
    size = np.sum((turned.T @ unit) ** 2, axis=1)
    return share, size, LogInformation(turned.T @ told.root, turned.T @ told.target)


def _weigh(parts: LogInformation, weight: Array) -> LogInformation:
    left = weight > 0.0
    return LogInformation(weight[left, None] * parts.root[left], (weight * parts.target)[left])


def counted_noise(problem: MechanismProblem, at: FeasiblePoint[Estimate], model: LinearModel) -> Array:
    """(p, p) information C about theta that is there for the noise of the motion alone."""
    rng, own = np.random.default_rng(0), problem.mechanism.parameters
    here, p = [reweight(blocks) for blocks in model.blocks], model.layout.parameters
    tiny = np.diag(_TINY / own.sigma[own.free])
    found = -tiny @ tiny
    for _ in range(_DRAWS):
        drawn = [replace(blocks, residual=rng.standard_normal(blocks.residual.shape)) for blocks in here]
        factor = factorise(assemble(drawn, model.layout), 0.0)
        if factor is None:
            continue
        step = factor.step(np.zeros(p))
        moved = problem.retract(at.point, at.space.expand(step.stage), np.zeros(p), step.local)
        change = []
        for name, blocks, other in zip(GROUPS, here, problem.linearise(moved), strict=False):
            still = replace(blocks, residual=np.zeros_like(blocks.residual))
            by = reweight(other).parameter_jacobian
            if name == "prior":
                still = replace(still, parameter_jacobian=tiny[None])
            elif by is not None and blocks.parameter_jacobian is not None:
                still = replace(still, parameter_jacobian=by - blocks.parameter_jacobian)
            change.append(still)
        factor = factorise(assemble([*change, *here[len(change) :]], model.layout), 0.0)
        if factor is not None:
            found = found + factor.corner @ factor.corner.T / _DRAWS
    return np.asarray(found)
