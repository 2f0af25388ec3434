# SPDX-License-Identifier: Apache-2.0
"""A damped step, whole or in part, and what it does to the cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic

import numpy as np

from sysid_nodes.solvers.trajectory_least_squares.factor import Factor, Step, factorise
from sysid_nodes.solvers.trajectory_least_squares.normal_equations import NormalEquations
from sysid_nodes.solvers.trajectory_least_squares.parameter_program import ParameterRows, constrained_step
from sysid_nodes.solvers.trajectory_least_squares.problem import (
    Array,
    Blocks,
    Curved,
    Loss,
    ParameterStep,
    Point,
    Problem,
)
from sysid_nodes.solvers.trajectory_least_squares.robust import cost


@dataclass(frozen=True)
class Trial(Generic[Point]):
    """A step tried.

    Attributes:
        point: where it leads.
        cost: there.
        decrease, predicted: actual and predicted decrease of the cost.
        length: largest move of a coordinate, in conditional sigmas.
        share: part of the damped step that was taken.
        residuals: (B, m) of each group there.
    """

    point: Point
    cost: float
    decrease: float
    predicted: float
    length: float
    share: float = 1.0
    residuals: Sequence[Array] = ()

    @property
    def ratio(self) -> float:
        """Actual over predicted decrease."""
        return self.decrease / self.predicted if self.predicted > 0.0 else -1.0


@dataclass(frozen=True)
class DampedStep(Generic[Point]):
    """(H + damping D) delta = -g at a point, D the damping's scale; constraints on the parameters are met.

    Attributes:
        problem: that is minimised.
        losses: of its groups.
        point, cost: where the step begins.
        step: delta.
        slope: -g' delta.
        damped: damping delta' D delta.
        bent: by how much less the model falls, times two, for constraints and what is known of its curvature.
        length: largest |delta_i| sqrt(H_ii).
        factor: of the damped Hessian.
        groups: the linear model, for corrections; None where it was not kept.
        constraints: on the parameters.
    """

    problem: Problem[Point]
    losses: list[Loss | None]
    point: Point
    cost: float
    step: Step
    slope: float
    damped: float
    bent: float
    length: float
    factor: Factor
    groups: Sequence[Blocks] | None = None
    constraints: ParameterRows | None = None

    @property
    def promise(self) -> float:
        """By how much the model falls if the whole step is taken."""
        return self.predicted(1.0)

    def predicted(self, share: float) -> float:
        """By how much the model falls if a part of the step is taken.

        It falls by share slope - share^2 delta'H delta / 2, with delta'H delta = slope - damped.
        """
        return share * self.slope - 0.5 * share**2 * (self.slope - self.damped + self.bent)

    def take(self, share: float = 1.0) -> Trial[Point]:
        """The step or a part of it."""
        step = self.step
        with np.errstate(over="ignore", invalid="ignore"):  # far beyond the model anything may overflow: no cost then
            moved = self.problem.retract(self.point, share * step.stage, share * step.parameter, share * step.local)
            residuals = self.problem.residuals(moved)
        reached = cost(residuals, self.losses)
        return Trial(moved, reached, self.cost - reached, self.predicted(share), share * self.length, share, residuals)


def gradients(equations: NormalEquations) -> tuple[Array, Array, Array]:
    """Of stages, parameters and local variables."""
    local = equations.local
    own = np.zeros((equations.layout.stages, 0)) if local is None else local.gradient
    return equations.gradient, equations.parameter_gradient, own


def damped_step(
    problem: Problem[Point],
    point: Point,
    equations: NormalEquations,
    losses: list[Loss | None],
    groups: Sequence[Blocks] | None,
    value: float,
    damping: float,
    constraints: Callable[[Point], ParameterRows] | None,
    room: Factor | None = None,
) -> DampedStep[Point] | None:
    """The step; None where the damped Hessian is not positive definite or constraints clash.

    `room` as in `factorise`; `groups` as in `DampedStep`.
    """
    factor = factorise(equations, damping, room=room)
    held: ParameterStep | None = None
    rows = None if constraints is None else constraints(point)
    if factor is not None and rows is not None:
        held = constrained_step(factor.corner, factor.parameter_gradient, rows)
    elif factor is not None and isinstance(problem, Curved):
        held = problem.parameter_step(point, factor.corner, factor.parameter_gradient)
    if factor is None or (rows is not None and held is None):
        return None
    step = factor.step(None if held is None else held.step)
    slope = damped = length = 0.0
    steps = (step.stage, step.parameter, step.local)
    scales = zip(equations.diagonals(), equations.damping_scale(), strict=True)
    for gradient, delta, (diagonal, scale) in zip(gradients(equations), steps, scales, strict=True):
        if gradient.size:
            slope -= float(np.sum(gradient * delta))
            damped += damping * float(np.sum(scale * delta**2))
            length = max(length, float(np.abs(np.sqrt(diagonal) * delta).max()))
    bent = 0.0 if held is None else held.bent
    return DampedStep(problem, losses, point, value, step, slope, damped, bent, length, factor, groups, rows)
