# SPDX-License-Identifier: Apache-2.0
"""Steps of linear models that were made for something else: for the readings' noise, for covariances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sysid_nodes.results.least_squares import SolveResult
from sysid_nodes.solvers.trajectory_least_squares import Blocks, LevenbergMarquardtConfig, assemble, solve
from sysid_nodes.solvers.trajectory_least_squares.factor import Factor, Step, factorise
from sysid_nodes.solvers.trajectory_least_squares.robust import cost
from sysid_nodes.systems.prime.problem import PrimeProblem
from sysid_nodes.systems.prime.trajectory import Trajectory


class Taken(NamedTuple):
    """A step of a linear model, taken if that lowers the cost.

    Attributes:
        point, cost: after it, or before.
        gain: decrease of the cost, negative where the step was not taken.
    """

    point: Trajectory
    cost: float
    gain: float


_SHARES = (1.0, 0.5, 0.25)
"""Of the last step, until one gains: at a contact that opens or closes the linear model goes too far."""


class Best(NamedTuple):
    """The step of a linear model, with the curvature that is known of the constants.

    Attributes:
        step: it.
        promise: decrease of the cost.
    """

    step: Step
    promise: float


def best_step(problem: PrimeProblem, point: Trajectory, factor: Factor) -> Best:
    """The step from a point by the factor of the equations there."""
    curved = problem.parameter_step(point, factor.corner, factor.parameter_gradient)
    step = factor.step(None if curved is None else curved.step)
    return Best(step, step.promise(factor.equations) - (0.0 if curved is None else 0.5 * curved.bent))


def take_step(problem: PrimeProblem, point: Trajectory, step: Step, here: float | None = None) -> Taken:
    """The better of a point, of a cost that may be known, and the one after a step."""
    losses = [group.loss for group in problem.shapes()]
    if here is None:
        here = cost(problem.residuals(point), losses)
    with np.errstate(over="ignore", invalid="ignore"):
        moved = problem.retract(point, step.stage, step.parameter, step.local)
        there = cost(problem.residuals(moved), losses)
    return Taken(moved, there, here - there) if there < here else Taken(point, here, here - there)


class End(NamedTuple):
    """A solution and the linear model for its covariances.

    Attributes:
        solved: the solution.
        linearised: point of the linear model, the last step's beginning.
        blocks: its residuals with derivatives.
        factor: undamped, None where the data leave a coordinate undetermined.
        rest: by which the solution is off its minimum, about; None likewise.
    """

    solved: SolveResult[Trajectory]
    linearised: Trajectory
    blocks: Sequence[Blocks]
    factor: Factor | None
    rest: Step | None


def finish(
    problem: PrimeProblem, solved: SolveResult[Trajectory], settings: LevenbergMarquardtConfig, *, more: bool = True
) -> End:
    """The last step, of the linear model that the covariances need anyway.

    What is left is to the step as what it gained less, or more, than promised is to the promise. Where it promises more
    than a solve's last step may leave, the solve goes on, once, with these settings: a walk's ground lag was 8 of its
    standard deviations off, though the step had kept its promise.
    """
    blocks = problem.linearise(solved.point)
    equations = assemble(blocks, problem.layout)
    factor = factorise(equations, 0.0)
    if factor is None:
        return End(solved, solved.point, blocks, None, None)
    step, promise = best_step(problem, solved.point, factor)
    if problem.limits is not None:
        return End(solved, solved.point, blocks, factor, step)
    here = cost([group.residual for group in blocks], [group.loss for group in blocks])
    for part in _SHARES:
        share = Step(part * step.stage, part * step.parameter, part * step.local)
        taken = take_step(problem, solved.point, share, here)
        if taken.gain > 0.0:
            break
    after = replace(solved, point=taken.point, cost=taken.cost, iterations=solved.iterations + (taken.gain > 0.0))
    if more and promise > settings.taken_tolerance:
        again = solve(problem, after.point, settings)
        return finish(problem, replace(again, iterations=after.iterations + again.iterations), settings, more=False)
    if taken.gain <= 0.0:
        return End(solved, solved.point, blocks, factor, step)
    share = np.sqrt(min(abs(1.0 - taken.gain / promise), 1.0))
    rest = Step(share * step.stage, share * step.parameter, share * step.local)
    return End(after, solved.point, blocks, factor, rest)
