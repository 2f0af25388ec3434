# SPDX-License-Identifier: Apache-2.0
"""Inertial parameters against pinocchio, point masses and finite differences."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sysid_nodes.data import inertia
from sysid_nodes.exceptions import InputError

# Two units of log scale are a factor 7: from a 0.02 kg to a 50 kg body, and far from rounding trouble.
ETA = hnp.arrays(np.float64, 10, elements=st.floats(-2.0, 2.0))


def point_masses(points, masses):
    """Ten-vector of a cloud of point masses, from the definition of each moment."""
    second = np.einsum("p,pi,pj->ij", masses, points, points)
    moment = np.trace(second) * np.eye(3) - second
    return np.array([masses.sum(), *(masses @ points), *moment[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]])


@given(ETA)
def test_log_cholesky_equals_pinocchio(eta):
    reference = pin.LogCholeskyParameters(eta)
    theta = inertia.log_cholesky_to_parameters(eta)
    # Both sum a few products of size up to e^8; 1e-12 of the largest is a thousand roundings.
    np.testing.assert_allclose(theta, reference.toDynamicParameters(), rtol=0, atol=1e-12 * np.abs(theta).max())
    pseudo = inertia.parameters_to_pseudo_inertia(theta)
    np.testing.assert_allclose(
        pseudo, reference.toPseudoInertia().toMatrix(), rtol=0, atol=1e-12 * np.abs(pseudo).max()
    )
    jacobian = inertia.log_cholesky_jacobian(eta)
    np.testing.assert_allclose(jacobian, reference.calculateJacobian(), rtol=0, atol=1e-12 * np.abs(jacobian).max())


def test_printed_equation_16_is_another_product():
    # M' M carries the translation terms in its corner, so the mass would be e^(2 alpha) (1 + |t|^2).
    eta = np.array([0.1, 0, 0, 0, 0, 0, 0, 0.3, -0.2, 0.5])
    mass = inertia.log_cholesky_to_parameters(eta)[0]
    assert mass == pytest.approx(np.exp(0.2), rel=1e-14)
    assert mass != pytest.approx(np.exp(0.2) * (1 + 0.09 + 0.04 + 0.25), rel=1e-3)


@given(ETA)
def test_log_cholesky_round_trip_and_always_consistent(eta):
    theta = inertia.log_cholesky_to_parameters(eta)
    assert inertia.is_consistent(theta)
    # Cholesky loses as many digits as the pseudo-inertia's condition number has: up to 1e8 in this box.
    np.testing.assert_allclose(inertia.parameters_to_log_cholesky(theta), eta, atol=1e-6)


@given(ETA)
def test_log_cholesky_derivatives_by_finite_differences(eta):
    step = 1e-5
    jacobian, hessian = inertia.log_cholesky_jacobian(eta), inertia.log_cholesky_hessian(eta)
    for a in range(10):
        move = step * np.eye(10)[a]
        slope = inertia.log_cholesky_to_parameters(eta + move) - inertia.log_cholesky_to_parameters(eta - move)
        bend = inertia.log_cholesky_jacobian(eta + move) - inertia.log_cholesky_jacobian(eta - move)
        # Central differences: step^2 truncation 1e-10 and rounding 1e-11, both relative to the largest entry.
        np.testing.assert_allclose(slope / (2 * step), jacobian[:, a], rtol=0, atol=1e-8 * np.abs(jacobian).max())
        np.testing.assert_allclose(bend / (2 * step), hessian[:, :, a], rtol=0, atol=1e-8 * np.abs(hessian).max())
    np.testing.assert_array_equal(hessian, hessian.swapaxes(1, 2))
    assert np.linalg.matrix_rank(jacobian / np.abs(jacobian).max(axis=0), tol=1e-14) == 10


@given(hnp.arrays(np.float64, (3, 10), elements=st.floats(-10, 10)))
def test_pseudo_inertia_round_trip_and_basis(theta):
    pseudo = inertia.parameters_to_pseudo_inertia(theta)
    np.testing.assert_allclose(inertia.pseudo_inertia_to_parameters(pseudo), theta, atol=1e-13)
    np.testing.assert_allclose(np.einsum("bj,jrc->brc", theta, inertia.PSEUDO_INERTIA_BASIS), pseudo, atol=1e-13)


@given(hnp.arrays(np.float64, (6, 3), elements=st.floats(-1, 1)), st.integers(0, 10_000))
def test_point_masses_are_consistent_and_their_second_moments_the_pseudo_inertia(points, seed):
    masses = np.random.default_rng(seed).uniform(0.1, 2.0, 6)
    theta = point_masses(points, masses)
    homogeneous = np.column_stack([points, np.ones(6)])
    expected = np.einsum("p,pi,pj->ij", masses, homogeneous, homogeneous)
    np.testing.assert_allclose(inertia.parameters_to_pseudo_inertia(theta), expected, atol=1e-13)
    assert inertia.is_consistent(theta, tolerance=1e-12)  # flat clouds are singular up to rounding


@pytest.mark.parametrize(
    "change",
    [(0, -1.0), (4, -0.1), (9, 1.0), (5, 5.0), (1, 3.0), (0, np.nan)],
    ids=["negative mass", "negative moment", "triangle inequality", "product too large", "com outside", "nan"],
)
def test_inconsistent_parameters_are_found_and_have_no_log_cholesky(change):
    theta = np.array([2.0, 0.1, 0.0, 0.1, 0.1, 0.0, 0.1, 0.0, 0.0, 0.1])
    assert inertia.is_consistent(theta)
    theta[change[0]] = change[1]
    assert not inertia.is_consistent(theta)
    with pytest.raises(InputError, match="not physically consistent"):
        inertia.parameters_to_log_cholesky(theta)


def test_a_point_mass_is_the_edge_of_consistency():
    theta = point_masses(np.array([[0.0, 0.0, 0.0]]), np.array([1.0]))
    assert not inertia.is_consistent(theta)
    assert inertia.is_consistent(theta, tolerance=1e-12)


@pytest.mark.parametrize(
    ("points", "thin"),
    [
        ([[0.3, 0.1, -0.2]], 3),  # a point
        ([[0.3, 0.1, -0.2], [0.5, 0.2, -0.1]], 2),  # a rod
        ([[0.3, 0.1, -0.2], [0.5, 0.2, -0.1], [0.1, 0.2, 0.3]], 1),  # a disc
    ],
)
def test_a_body_without_extent_gets_that_of_a_ball_of_aluminium(points, thin):
    points = np.array(points)
    theta = point_masses(points, np.full(len(points), 0.6 / len(points)))
    found, given_one = inertia.give_extent(theta)
    assert given_one and inertia.is_consistent(found)
    np.testing.assert_allclose(found[:4], theta[:4], rtol=1e-12)  # mass and centre stay
    radius = (0.6 / 2700.0 * 3.0 / (4.0 * np.pi)) ** (1.0 / 3.0)

    def moments(each):
        mass, _, about = inertia.parameters_to_com(each)
        return np.linalg.eigvalsh(0.5 * np.trace(about) * np.eye(3) - about) / mass

    described, extended = moments(theta), moments(found)
    np.testing.assert_allclose(np.sort(extended), np.sort([*np.full(thin, 0.2 * radius**2), *described[thin:]]))
    np.testing.assert_allclose(inertia.give_extent(found)[0], found, rtol=1e-12)


@given(ETA)
def test_a_body_with_an_extent_stays_as_it_is(eta):
    theta = inertia.log_cholesky_to_parameters(eta)
    found, given_one = inertia.give_extent(theta)
    assert given_one or np.array_equal(found, theta)
    assert inertia.is_consistent(found)


@pytest.mark.parametrize("eta", [np.zeros(9), np.full(10, np.inf)])
def test_bad_log_cholesky_vectors_are_refused(eta):
    with pytest.raises(InputError, match="ten finite numbers"):
        inertia.log_cholesky_to_parameters(eta)


@given(st.integers(0, 10_000))
def test_mass_centre_and_inertia_equal_pinocchio(seed):
    pin.seed(seed)
    second = pin.Inertia.Random()
    theta = second.toDynamicParameters()
    mass, com, about = inertia.parameters_to_com(theta)
    assert mass == pytest.approx(second.mass)
    np.testing.assert_allclose(com, second.lever, atol=1e-12)
    np.testing.assert_allclose(about, second.inertia, atol=1e-12)
    np.testing.assert_allclose(inertia.com_to_parameters(mass, com, about), theta, atol=1e-12)


def test_no_mass_no_centre():
    with pytest.raises(InputError, match="mass 0 kg"):
        inertia.parameters_to_com(np.zeros(10))
