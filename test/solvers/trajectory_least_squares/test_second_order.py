# SPDX-License-Identifier: Apache-2.0
"""Steps corrected for curvature and for their length."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared.linear_trajectory import LinearPoint, random_groups

from sysid_nodes.results.least_squares import Iteration
from sysid_nodes.solvers.trajectory_least_squares import LevenbergMarquardtConfig, solve
from sysid_nodes.solvers.trajectory_least_squares.factor import factorise
from sysid_nodes.solvers.trajectory_least_squares.feasible_descent import solve_feasible
from sysid_nodes.solvers.trajectory_least_squares.normal_equations import assemble
from sysid_nodes.solvers.trajectory_least_squares.parameter_program import ParameterRows
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, Layout
from sysid_nodes.solvers.trajectory_least_squares.second_order import gradient_of
from sysid_nodes.solvers.trajectory_least_squares.stage_equalities import StageEqualities


@settings(max_examples=40, deadline=None)
@given(
    layout=st.builds(
        Layout, st.integers(1, 9), st.integers(1, 4), parameters=st.integers(0, 3), local=st.integers(0, 3)
    ),
    width=st.integers(1, 4),
    seed=st.integers(0, 2**31),
)
def test_a_factor_takes_another_gradient(layout: Layout, width: int, seed: int) -> None:
    """The step is that of the equations assembled with residuals that are off by as much."""
    rng = np.random.default_rng(seed)
    groups = random_groups(rng, layout, width)
    errors = [rng.standard_normal(blocks.residual.shape) for blocks in groups]
    both = [replace(blocks, residual=blocks.residual + error) for blocks, error in zip(groups, errors, strict=True)]
    one, other = (factorise(assemble(each, layout), 0.1) for each in (groups, both))
    assert one is not None
    assert other is not None
    found, wanted = one.pulled(gradient_of(groups, errors, layout)).step(), other.step()
    flat, expected = (LinearPoint(step.stage, step.parameter, step.local).flat() for step in (found, wanted))
    # Both square the condition number; random matrices of this size reach 1e4.
    assert flat == pytest.approx(expected, rel=1e-6, abs=1e-6 * (1.0 + np.abs(expected).max()))


class StageAndConstant:
    """Points (x, y) of a stage x and a constant y, without equalities."""

    layout = Layout(1, 1, 1)

    def retract(self, point: Array, stage_step: Array, parameter_step: Array, local_step: Array) -> Array:
        assert local_step.size == 0
        return point + np.array([stage_step[0, 0], parameter_step[0]])

    def stage_equalities(self, point: Array) -> StageEqualities:
        return StageEqualities(np.zeros((1, 0)), np.zeros((1, 0, point.size - 1)))


class Valley(StageAndConstant):
    """y = x^2 told a thousand times better than that x is 2, with y >= 0 a bound, and no equality of its only stage."""

    def linearise(self, point: Array) -> list[Blocks]:
        by_x, by_y = np.array([[[-2e3 * point[0]], [1.0]]]), np.array([[[1e3], [0.0]]])
        return [Blocks(np.zeros(1, dtype=np.intp), self.residuals(point)[0], by_x, by_y)]

    def residuals(self, point: Array) -> list[Array]:
        return [np.array([[1e3 * (point[1] - point[0] ** 2), point[0] - 2.0]])]

    def parameter_rows(self, point: Array) -> ParameterRows:
        return ParameterRows(np.zeros((0, 2)), np.array([-point[1]]), np.array([np.inf]))


def test_a_bent_step_follows_a_curved_valley() -> None:
    """To second order its floor is a parabola, which this is: one correction and no second iteration, but to see so."""
    tried = []
    for most in (0, 1):
        seen: list[Iteration] = []
        config = LevenbergMarquardtConfig(initial_damping=1e-8, corrections=most)
        found = solve_feasible(Valley(), np.zeros(2), config, progress=seen.append)
        tried.append(len(seen))
    assert found.point.point == pytest.approx([2.0, 4.0], abs=1e-5)
    assert tried[1] <= 3 < 20 < tried[0]


class Bent:
    """(x, (1 + c x^2 / 2) / w): at x = 0 the curvature is 1 + c / w^2 where Gauss and Newton have 1."""

    layout = Layout(1, 1)

    def __init__(self, curvature: float) -> None:
        self._curvature = curvature

    def linearise(self, point: Array) -> list[Blocks]:
        slope = np.array([[[1.0], [self._curvature * point[0, 0]]]])
        return [Blocks(np.zeros(1, dtype=np.intp), self.residuals(point)[0], slope)]

    def residuals(self, point: Array) -> list[Array]:
        return [np.array([[point[0, 0], 1.0 + 0.5 * self._curvature * point[0, 0] ** 2]])]

    def retract(self, point: Array, stage_step: Array, parameter_step: Array, local_step: Array) -> Array:
        assert parameter_step.size == local_step.size == 0
        return point + stage_step


@pytest.mark.parametrize("curvature", [0.9, -0.6])
def test_a_parabola_tells_how_long_a_step_should_be(curvature: float) -> None:
    """Where residuals at the minimum are large, Gauss-Newton steps are too long again and again, or too short.

    Their error falls to 0.9, or to 0.6, a step; of one that the parabola corrects only higher orders are left.
    """
    config, tried = LevenbergMarquardtConfig(cost_tolerance=1e-14, initial_damping=1e-10), []
    for most in (0, 1):
        seen: list[Iteration] = []
        found = solve(Bent(curvature), np.array([[0.1]]), replace(config, corrections=most), progress=seen.append)
        tried.append(len(seen))
    assert abs(found.point[0, 0]) < 1e-8
    assert tried[1] <= 3 < 10 < tried[0]


class Bounded(StageAndConstant):
    """The same with a constant in x's place, which is to be at least 0.03, and a stage that nothing moves."""

    def linearise(self, point: Array) -> list[Blocks]:
        by_parameter = np.array([[[0.0], [1.0], [-0.6 * point[1]]]])
        by_stage = np.array([[[1.0], [0.0], [0.0]]])
        return [Blocks(np.zeros(1, dtype=np.intp), self.residuals(point)[0], by_stage, by_parameter)]

    def residuals(self, point: Array) -> list[Array]:
        return [np.array([[point[0], point[1], 1.0 - 0.3 * point[1] ** 2]])]

    def parameter_rows(self, point: Array) -> ParameterRows:
        return ParameterRows(np.zeros((0, 2)), np.array([0.03 - point[1]]), np.array([np.inf]))


def test_a_longer_step_keeps_to_the_bounds() -> None:
    """The first step leads from 0.1 to 0.06; two and a half of it, which the parabola asks for, would lead to zero."""
    rules = LevenbergMarquardtConfig(max_iterations=1, initial_damping=1e-10, corrections=1)
    once = solve_feasible(Bounded(), np.array([0.0, 0.1]), rules)
    assert once.point.point[1] == pytest.approx(0.06, abs=1e-3)
    found = solve_feasible(Bounded(), np.array([0.0, 0.1]), replace(rules, max_iterations=20))
    assert found.point.point[1] == pytest.approx(0.03, abs=1e-12)
