# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.solvers.linear_program import LinearProgram, LpStatus, basis_without_rows


def triangle() -> LinearProgram:
    """x + y <= 1 in the square [0, 1]^2."""
    program = LinearProgram(np.zeros(2), np.ones(2))
    program.add_rows(np.array([[1.0, 1.0]]), np.array([-np.inf]), np.array([1.0]))
    return program


def test_optimum_and_multipliers_have_our_signs() -> None:
    solution = triangle().maximise(np.array([2.0, 1.0]))
    assert solution.status is LpStatus.OPTIMAL
    np.testing.assert_allclose(solution.x, [1.0, 0.0])
    assert solution.multipliers[0] >= 0.0  # an upper side


def test_rows_and_box_can_move() -> None:
    program = triangle()
    program.set_box(np.zeros(2), np.array([0.25, 1.0]))
    program.set_row_sides(np.array([-np.inf]), np.array([0.75]))
    np.testing.assert_allclose(program.maximise(np.array([2.0, 1.0])).x, [0.25, 0.5])
    program.delete_rows(np.array([0], dtype=np.int32))
    assert program.row_count == 0
    np.testing.assert_allclose(program.maximise(np.array([2.0, 1.0])).x, [0.25, 1.0])


def test_warm_start_survives_new_rows() -> None:
    program = triangle()
    first = program.maximise(np.array([2.0, 1.0]))
    program.add_rows(np.array([[1.0, 0.0]]), np.array([-np.inf]), np.array([0.5]))
    assert program.maximise(np.array([2.0, 1.0]), first.basis).x == pytest.approx([0.5, 0.5])


def test_infeasible_comes_with_a_ray() -> None:
    program = triangle()
    program.add_rows(np.array([[1.0, 1.0]]), np.array([1.5]), np.array([np.inf]))
    solution = program.maximise(np.array([1.0, 0.0]))
    assert solution.status is LpStatus.INFEASIBLE
    assert solution.multipliers[0] > 0.0 > solution.multipliers[1]


def test_a_solve_cut_short_is_a_status() -> None:
    rng = np.random.default_rng(0)
    program = LinearProgram(-np.ones(20), np.ones(20), iteration_limit=1)
    program.add_rows(rng.normal(size=(40, 20)), -np.ones(40), np.ones(40))
    assert program.maximise(rng.normal(size=20)).status is LpStatus.FAILED


def test_a_basis_without_its_binding_row_is_no_basis() -> None:
    program = triangle()
    program.add_rows(np.array([[1.0, -1.0]]), np.array([-5.0]), np.array([5.0]))  # never binds
    basis = program.maximise(np.array([2.0, 1.0])).basis
    assert basis_without_rows(basis, np.array([0])) is None
    assert len(basis_without_rows(basis, np.array([1])).row_status) == 1
