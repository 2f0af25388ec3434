# SPDX-License-Identifier: Apache-2.0
"""Covariance of what the law and the robot's description may have wrong: linearised, one column each.

Friction at rest. Were the law to have it, its least-squares value s would move the parameters by -H^-1 J'x s, x the
sensitivity of the residuals to it and s = -x'r / x'x once the parameters have followed. A law that lacks it is wrong
by about that, whatever the residuals' correlation says.

Bodies. Inertias of a relative standard deviation e move the parameters by -H^-1 J'x e, x the sensitivity to a factor of
the rigid body's inertia and load. No motion of this robot alone tells it from armature and bias.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.shooting import Rollout, ShootingResult
from sysid_nodes.solvers.shooting.normal_equations import assemble
from sysid_nodes.solvers.shooting.problem import Gaussian
from sysid_nodes.systems.actuators.joint_problem import JointProblem

Array = npt.NDArray[np.float64]

_FACTOR = 1e-3  # by which the bodies are scaled for a difference quotient


def doubt_covariance(problem: JointProblem, solution: ShootingResult) -> Array:
    """(K, K) of the fitted parameters; rows and columns of those that a bound holds are zero."""
    config, count, free = problem.config.doubt, len(problem.names), solution.free
    found = np.zeros((count, count))
    if not free.any():
        return found
    columns = [_body_column(problem, solution)]
    known = "stribeck" in problem.names or not config.friction_at_rest
    if not known:
        columns.append(_rest_column(problem, solution))
    hessian, gradient = _extended(problem, solution, columns)
    inner = np.flatnonzero(free)
    inverse = np.linalg.pinv(hessian[np.ix_(inner, inner)], rcond=1e-12, hermitian=True)
    sizes = [config.body_error]
    if not known:
        cross = hessian[inner, count + 1]
        left = hessian[count + 1, count + 1] - cross @ inverse @ cross
        pull = gradient[count + 1] - cross @ inverse @ gradient[inner]
        sizes.append(max(-pull / left, 0.0) if left > 0.0 else 0.0)  # friction at rest is not negative
    for k, size in enumerate(sizes):
        shift = np.zeros(count)
        shift[inner] = -size * inverse @ hessian[inner, count + k]
        found += np.outer(shift, shift)
    return found


def _extended(problem: JointProblem, solution: ShootingResult, columns: list[Array]) -> tuple[Array, Array]:
    """Reduced Hessian and gradient with columns (S,) added to the parameters'."""
    first, start = solution.first, solution.start
    guess, information = problem.start(first)
    rollout = problem.rollout(solution.parameters, first, start)
    slopes = np.concatenate([rollout.by_parameters, np.stack(columns, axis=1)[:, None]], axis=2)
    every = slopes.shape[2]
    equations = assemble(
        Rollout(rollout.residual, slopes, rollout.by_start),
        first,
        np.zeros(every),
        Gaussian.nothing(every),
        start - guess,
        information,
        solution.loss,
    )
    return equations.reduced_hessian, equations.reduced_gradient


def _rest_column(problem: JointProblem, solution: ShootingResult) -> Array:
    more = problem.fixed(problem.with_parameters(solution.parameters), "stribeck")
    return more.rollout(np.zeros(1), solution.first, solution.start).by_parameters[:, 0, 0]


def _body_column(problem: JointProblem, solution: ShootingResult) -> Array:
    motion, factor = problem.motion, 1.0 + _FACTOR
    heavier = replace(problem, motion=replace(motion, inertia=factor * motion.inertia, load=factor * motion.load))
    one, other = (
        own.rollout(solution.parameters, solution.first, solution.start).residual[:, 0] for own in (heavier, problem)
    )
    return np.asarray((one - other) / _FACTOR)
