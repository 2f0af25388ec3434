# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pinocchio
import pytest

from sysid_nodes.rollouts import rotations

RNG = np.random.default_rng(1)
VECTORS = np.concatenate([RNG.standard_normal((20, 3)), [[0.0, 0.0, 0.0], [3.14, 0.0, 0.0], [0.0, 0.0, 3.14]]])
MATRICES = np.array([pinocchio.exp3(v) for v in VECTORS])


def to_matrix(q):
    return pinocchio.Quaternion(q[0], q[1], q[2], q[3]).matrix()


def test_exponential_and_logarithm_are_pinocchios_and_inverse_to_one_another():
    q = rotations.exponential(VECTORS)
    np.testing.assert_allclose([to_matrix(x) for x in q], MATRICES, atol=1e-12)
    small = np.linalg.norm(VECTORS, axis=1) < np.pi
    np.testing.assert_allclose(rotations.logarithm(-q)[small], VECTORS[small], atol=1e-9)


def test_products_are_those_of_matrices():
    q = rotations.exponential(VECTORS)
    found = rotations.product(q, rotations.inverse(q[::-1]))
    expected = MATRICES @ MATRICES[::-1].transpose(0, 2, 1)
    np.testing.assert_allclose([to_matrix(x) for x in found], expected, atol=1e-12)


def test_the_vertical_is_the_third_row_of_the_matrix():
    np.testing.assert_allclose(rotations.vertical(rotations.exponential(VECTORS)), MATRICES[:, 2], atol=1e-12)


@pytest.mark.parametrize("turn", np.vstack([np.eye(3), -np.eye(3)]) * np.pi)
def test_a_half_turn_has_a_quaternion_too(turn):
    matrix = pinocchio.exp3(turn)
    np.testing.assert_allclose(to_matrix(rotations.from_matrix(matrix)), matrix, atol=1e-12)


def test_quaternions_of_matrices():
    np.testing.assert_allclose([to_matrix(q) for q in rotations.from_matrix(MATRICES)], MATRICES, atol=1e-12)
