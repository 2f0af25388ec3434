# SPDX-License-Identifier: Apache-2.0
"""Steps whose model holds for a part of them only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from shared.linear_trajectory import LinearPoint, LinearProblem, random_groups

from sysid_nodes.results.least_squares import Iteration
from sysid_nodes.solvers.trajectory_least_squares import LevenbergMarquardtConfig, solve
from sysid_nodes.solvers.trajectory_least_squares.damped_step import damped_step
from sysid_nodes.solvers.trajectory_least_squares.normal_equations import assemble
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, Layout
from sysid_nodes.solvers.trajectory_least_squares.robust import cost


@pytest.mark.parametrize("share", [1.0, 0.5, 0.25])
def test_a_linear_problem_falls_as_predicted(share: float) -> None:
    layout = Layout(6, 2, 2, 1)
    groups = random_groups(np.random.default_rng(0), layout, 3)
    problem, start = LinearProblem(layout, groups), LinearPoint.zero(layout)
    value = cost([blocks.residual for blocks in groups], [None] * len(groups))
    step = damped_step(problem, start, assemble(groups, layout), [None] * len(groups), value, 0.3, None)
    assert step is not None
    found = step.take(share)
    assert found.predicted == pytest.approx(found.decrease, rel=1e-9)
    assert found.length == pytest.approx(share * step.length)


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
