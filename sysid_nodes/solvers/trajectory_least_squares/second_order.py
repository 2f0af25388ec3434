# SPDX-License-Identifier: Apache-2.0
"""Second-order corrections: a step bent along what residuals at its end show of the model's curvature.

The damped step d minimises |r + J d|^2 + damping |d|_D^2. At its end the residuals are off the linear model's by
e = r(x + d) - r - J d; the corrected step d + c minimises |r + e + J (d + c)|^2 + damping |d + c|_D^2. It has the same
factor and costs one evaluation of residuals, and follows a curved valley to second order (geodesic acceleration:
Transtrum and Sethna, Improvements to the Levenberg-Marquardt algorithm, 2012), where damping alone would go along it in
short steps. What Gauss and Newton leave out of the Hessian makes the step too long or too short: the parabola through
the cost, its slope and the cost at the end tells by how much, along t d + t^2 c.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sysid_nodes.solvers.trajectory_least_squares.damped_step import DampedStep, Trial
from sysid_nodes.solvers.trajectory_least_squares.factor import Step
from sysid_nodes.solvers.trajectory_least_squares.parameter_program import constrained_step
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, IntArray, Layout, ParameterStep, Point
from sysid_nodes.solvers.trajectory_least_squares.windows import scatter_add

_GOOD, _BETTER = 0.75, 1.2
"""Ratios of actual to predicted decrease between which a step is as it should be."""
_SHORTEST, _LONGEST = 0.2, 2.5
"""Shares of a step that a parabola may ask for."""


def refine(step: DampedStep[Point], trial: Trial[Point], most: int) -> Trial[Point]:
    """A trial of a whole step, corrected up to so many times as long as that lowers the cost, then for its length."""
    first = step.step
    for _ in range(most):
        if trial.ratio > _GOOD or (bent := bend(step, trial)) is None:
            break
        corrected = bent.take()
        if not corrected.cost < trial.cost:
            break
        step, trial = bent, corrected
    if not most or _GOOD < trial.ratio < _BETTER or trial.decrease >= step.slope:
        return trial
    share = min(0.5 * step.slope / (step.slope - trial.decrease), _LONGEST)
    along = _along_curve(first, step.step, share)
    if share < _SHORTEST or not _within(step, along):
        return trial
    other = replace(step, step=along).take()
    # Nobody has promised what a longer step gains.
    return replace(other, predicted=step.predicted(min(share, 1.0))) if other.cost < trial.cost else trial


def bend(step: DampedStep[Point], trial: Trial[Point]) -> DampedStep[Point] | None:
    """The step corrected for curvature that a trial of the whole has shown; None where that cannot be told."""
    if step.groups is None or not np.isfinite(trial.cost):
        return None
    errors = [
        reached - blocks.residual - _moved(blocks, step.step)
        for blocks, reached in zip(step.groups, trial.residuals, strict=True)
    ]
    factor = step.factor.pulled(gradient_of(step.groups, errors, step.factor.equations.layout))
    held: ParameterStep | None = None
    if step.constraints is not None:
        held = constrained_step(factor.corner, factor.parameter_gradient, step.constraints)
        if held is None:
            return None
    return replace(step, step=factor.step(None if held is None else held.step))


def gradient_of(groups: Sequence[Blocks], errors: Sequence[Array], layout: Layout) -> Step:
    """J' e: of the stages, the parameters and the local variables."""
    sizes = (layout.stages, layout.size), layout.parameters, (layout.stages, layout.local)
    total = Step(*(np.zeros(size) for size in sizes))
    for blocks, error in zip(groups, errors, strict=True):
        if not error.size:
            continue
        pulls = (error[:, None] @ blocks.jacobian).reshape(len(error), -1, layout.size)
        for k in range(pulls.shape[1]):
            scatter_add(total.stage, blocks.first + k, pulls[:, k])
        if blocks.parameter_jacobian is not None:
            total.parameter[...] += np.tensordot(error, blocks.parameter_jacobian)
        if blocks.local_jacobian is not None and blocks.local is not None:
            scatter_add(total.local, blocks.local, (error[:, None] @ blocks.local_jacobian)[:, 0])
    return total


def _moved(blocks: Blocks, step: Step) -> Array:
    """(B, m) by how much the linear model's residuals move, J d."""
    reach, n = blocks.jacobian.shape[2], step.stage.shape[1]
    window: IntArray = blocks.first[:, None] + np.arange(reach // n)
    moved = blocks.jacobian @ step.stage[window].reshape(len(blocks.first), reach, 1)
    if blocks.parameter_jacobian is not None:
        moved = moved + (blocks.parameter_jacobian @ step.parameter)[:, :, None]
    if blocks.local_jacobian is not None and blocks.local is not None:
        moved = moved + blocks.local_jacobian @ step.local[blocks.local][:, :, None]
    return np.asarray(moved[:, :, 0])


def _along_curve(first: Step, whole: Step, share: float) -> Step:
    """The curve that begins along the first step and ends, at 1, at the whole one."""

    def at(straight: Array, end: Array) -> Array:
        return share * straight + share**2 * (end - straight)

    return Step(at(first.stage, whole.stage), at(first.parameter, whole.parameter), at(first.local, whole.local))


def _within(step: DampedStep[Point], along: Step) -> bool:
    """Whether a step of the parameters is within their bounds."""
    rows = step.constraints
    return rows is None or bool(np.all(along.parameter >= rows.lower) and np.all(along.parameter <= rows.upper))
