# SPDX-License-Identifier: Apache-2.0
"""Damped steps: what damping is relative to, and steps whose model holds for a part of them only."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from shared.linear_trajectory import LinearPoint, LinearProblem, dense, random_groups

from sysid_nodes.results.least_squares import Iteration
from sysid_nodes.solvers.trajectory_least_squares import LevenbergMarquardtConfig, solve
from sysid_nodes.solvers.trajectory_least_squares.damped_step import damped_step
from sysid_nodes.solvers.trajectory_least_squares.normal_equations import assemble, assemble_pieces
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, Layout
from sysid_nodes.solvers.trajectory_least_squares.robust import cost
from sysid_nodes.solvers.trajectory_least_squares.windows import windows


@pytest.mark.parametrize("share", [1.0, 0.5, 0.25])
def test_a_linear_problem_falls_as_predicted(share: float) -> None:
    layout = Layout(6, 2, 2, 1)
    groups = random_groups(np.random.default_rng(0), layout, 3)
    problem, start = LinearProblem(layout, groups), LinearPoint.zero(layout)
    value = cost([blocks.residual for blocks in groups], [None] * len(groups))
    step = damped_step(problem, start, assemble(groups, layout), [None] * len(groups), groups, value, 0.3, None)
    assert step is not None
    found = step.take(share)
    assert found.predicted == pytest.approx(found.decrease, rel=1e-9)
    assert found.length == pytest.approx(share * step.length)


@pytest.mark.parametrize("cut", [0, 1, 3])
@pytest.mark.parametrize("measured", [(), (1,), (0, 6)])
def test_damping_is_relative_to_the_groups_that_measure_steps(measured: tuple[int, ...], cut: int) -> None:
    """Against the dense equations; coordinates of which those groups tell nothing have the whole Hessian's diagonal.

    Also where groups come in two pieces."""
    layout = Layout(6, 2, 2, 1)
    groups = [
        replace(blocks, measures=k in measured)
        for k, blocks in enumerate(random_groups(np.random.default_rng(0), layout, 3))
    ]
    problem, start = LinearProblem(layout, groups), LinearPoint.zero(layout)
    value, damping = cost([blocks.residual for blocks in groups], [None] * len(groups)), 0.3
    equations = assemble_pieces([groups[:cut], groups[cut:]], windows(groups, layout), layout)
    step = damped_step(problem, start, equations, [None] * len(groups), groups, value, damping, None)
    assert step is not None
    rows, residual = dense(groups, layout)
    scale, whole = (np.sum(dense(chosen, layout)[0] ** 2, axis=0) for chosen in ([groups[k] for k in measured], groups))
    scale = np.where(scale > 0.0, scale, np.where(whole > 0.0, whole, 1.0))
    assert (not measured) == bool(np.allclose(scale, np.where(whole > 0.0, whole, 1.0)))
    expected = -np.linalg.solve(rows.T @ rows + damping * np.diag(scale), rows.T @ residual)
    reached = step.take()
    assert reached.point.flat() == pytest.approx(expected, abs=1e-9)
    assert reached.predicted == pytest.approx(reached.decrease, rel=1e-9)


def test_a_prior_measures_steps_along_a_valley() -> None:
    """Two constants' sum is told ten thousand times better than their difference, on which a damping of 1 % weighs 1 %
    if the prior measures steps, and a million times the prior's information if the whole Hessian does."""
    layout, first, prior = Layout(1, 1, 2), np.zeros(1, dtype=np.intp), np.eye(3)[None]
    own = Blocks(first, np.array([[0.0, 1.0, -3.0]]), prior[:, :, :1], prior[:, :, 1:])
    both = Blocks(first, np.array([[1e4]]), np.zeros((1, 1, 1)), np.full((1, 1, 2), 1e4))
    config, tried = LevenbergMarquardtConfig(initial_damping=0.01), []
    for measures in (True, False):
        problem, seen = LinearProblem(layout, [replace(own, measures=measures), both]), list[Iteration]()
        found = solve(problem, LinearPoint.zero(layout), config, progress=seen.append)
        assert found.point.parameter == pytest.approx([-2.5, 1.5], abs=1e-3)
        tried.append([entry.cost / found.cost - 1.0 for entry in seen])
    assert tried[0][0] < 1e-3 < 0.1 < tried[1][0]
    assert len(tried[0]) < len(tried[1])


@dataclass(frozen=True)
class Root:
    """log x = -2, undefined for negative x, and a residual that nothing changes."""

    constant: float
    layout = Layout(1, 1)

    def linearise(self, point: Array) -> list[Blocks]:
        slope = np.array([[[1.0 / point[0, 0]], [0.0]]])
        return [Blocks(np.zeros(1, dtype=np.intp), self.residuals(point)[0], slope)]

    def residuals(self, point: Array) -> list[Array]:
        with np.errstate(invalid="ignore", divide="ignore"):
            return [np.array([[np.log(point[0, 0]) + 2.0, self.constant]])]

    def retract(self, point: Array, stage_step: Array, parameter_step: Array, local_step: Array) -> Array:
        assert parameter_step.size == local_step.size == 0
        return point + stage_step


def test_a_part_of_a_step_is_taken_before_more_damping() -> None:
    """From x = 3 the step leads to -6.3, half of it to -1.7, a quarter to .7."""
    seen: list[Iteration] = []
    found = solve(Root(0.0), np.array([[3.0]]), progress=seen.append)
    assert found.status.converged
    assert found.point[0, 0] == pytest.approx(np.exp(-2.0), rel=1e-6)
    assert all(entry.accepted for entry in seen)
    assert seen[1].damping == pytest.approx(2.0 * seen[0].damping)


def test_a_part_of_a_step_that_gains_little_is_not_the_last() -> None:
    """All gains are below the tolerance, 50; only that of a whole step says that there is no more to gain."""
    config = LevenbergMarquardtConfig(cost_tolerance=1e-8)
    found = solve(Root(1e5), np.array([[3.0]]), config)
    assert found.status.converged
    # Newton's error of 4 % before the last step is squared by it.
    assert found.point[0, 0] == pytest.approx(np.exp(-2.0), rel=2e-3)
