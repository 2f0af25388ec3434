# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np

from sysid_nodes.solvers.linear_program import LinearProgram, LpStatus


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
