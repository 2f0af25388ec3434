# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.solvers.semidefinite import constrained_quadratic

FREE = np.full(3, -10.0), np.full(3, 10.0)
MATRICES = np.array([[[1.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]])
"""x -> [[x0, x1], [x1, x2]]"""


def test_without_active_constraint_it_is_least_squares() -> None:
    target = np.array([2.0, 0.5, 1.0])
    found = constrained_quadratic(np.eye(3), -target, *FREE, [(MATRICES, 0.0)])
    assert found == pytest.approx(target, abs=1e-6)


def test_the_nearest_positive_semidefinite_matrix() -> None:
    """In the Frobenius norm that is the matrix with its negative eigenvalue set to zero."""
    weight = np.diag([1.0, 2.0, 1.0])  # an off-diagonal entry counts twice
    target = np.array([1.0, 2.0, 1.0])
    found = constrained_quadratic(weight, -weight @ target, *FREE, [(MATRICES, 0.0)])
    assert found == pytest.approx([1.5, 1.5, 1.5], abs=1e-5)


def test_margin_and_box() -> None:
    upper = np.array([10.0, 10.0, 0.5])
    found = constrained_quadratic(np.eye(3), np.array([1.0, 0.0, -1.0]), FREE[0], upper, [(MATRICES, 0.1)])
    assert found == pytest.approx([0.1, 0.0, 0.5], abs=1e-5)


def test_an_impossible_problem_has_no_solution() -> None:
    upper = np.array([-1.0, 10.0, 10.0])
    assert constrained_quadratic(np.eye(3), np.zeros(3), FREE[0], upper, [(MATRICES, 0.0)]) is None
