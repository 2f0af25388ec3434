# SPDX-License-Identifier: Apache-2.0
"""Contact cones: membership, the smoothed relation, derivatives, and the paper's log-barrier form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared.log_barrier import barrier_impulse

from sysid_nodes.exceptions import InputError
from sysid_nodes.models import contact

# Beyond a millionth of its scale a component no longer changes the others' sums; the relation is then exact elsewhere.
_COMPONENT = st.floats(-30.0, 30.0).map(lambda x: x if abs(x) > 1e-6 else 0.0)
VECTORS = st.tuples(_COMPONENT, _COMPONENT, _COMPONENT).map(np.array)
SMOOTHING = st.floats(1e-6, 1.0)
UNIT = np.array([1.0, 0.0, 0.0])


def in_cone(vector: np.ndarray, slack: float = 0.0) -> bool:
    return bool(np.linalg.norm(vector[1:]) <= vector[0] + slack)


def jordan_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a o b in the algebra of the second-order cone."""
    return np.concatenate([[a @ b], a[0] * b[1:] + b[0] * a[1:]])


@given(VECTORS, SMOOTHING)
def test_both_sides_lie_in_their_cones_and_their_product_is_the_smoothing(w: np.ndarray, eps: float) -> None:
    z, cone = contact.smooth_projection(w, eps), contact.smooth_projection(-w, eps)
    rounding = 1e-14 * (1.0 + np.abs(w).max())
    assert in_cone(z, rounding) and in_cone(cone, rounding)
    np.testing.assert_allclose(z - cone, w, atol=1e-13 * (1.0 + np.abs(w).max()))
    # Rounding of each factor times the size of the other.
    np.testing.assert_allclose(jordan_product(z, cone), eps * UNIT, atol=4e-15 * (1.0 + np.abs(w).max()) ** 2)


@given(VECTORS, SMOOTHING)
def test_projection_solves_its_quadratic(w: np.ndarray, eps: float) -> None:
    z = contact.smooth_projection(w, eps)
    left = jordan_product(z, z) - jordan_product(w, z)
    np.testing.assert_allclose(left, eps * UNIT, atol=1e-14 * (1.0 + np.abs(w).max()) ** 2)


@given(VECTORS, st.floats(1e-3, 1.0))
def test_jacobian_against_finite_differences(w: np.ndarray, eps: float) -> None:
    jacobian = contact.smooth_projection_jacobian(w, eps)
    step = 1e-6
    numeric = np.array(
        [
            (contact.smooth_projection(w + step * axis, eps) - contact.smooth_projection(w - step * axis, eps))
            / (2.0 * step)
            for axis in np.eye(3)
        ]
    ).T
    # Curvature is at most 1 / sqrt(eps), its change 1 / eps: step^2 / eps, plus rounding 1e-16 * 30 / step.
    np.testing.assert_allclose(jacobian, numeric, atol=2e-8)
    np.testing.assert_allclose(jacobian + contact.smooth_projection_jacobian(-w, eps), np.eye(3), atol=1e-12)
    assert np.all(np.linalg.eigvalsh(jacobian) > -1e-12)


def test_jacobian_where_the_eigenvalues_meet() -> None:
    for head in (-2.0, 0.0, 3.0):
        jacobian = contact.smooth_projection_jacobian(np.array([head, 0.0, 0.0]), 0.01)
        slope = 0.5 * (1.0 + head / np.sqrt(head**2 + 0.04))
        np.testing.assert_allclose(jacobian, slope * np.eye(3), atol=1e-15)


@given(VECTORS, st.floats(0.1, 2.0), st.floats(10.0, 1e5), st.floats(0.1, 10.0))
def test_log_barrier_is_the_same_relation(w: np.ndarray, friction: float, stiffness: float, scale: float) -> None:
    eps = 2.0 * scale / stiffness
    z = contact.smooth_projection(w, eps)
    velocity = z * np.array([friction, 1.0, 1.0])
    slack = z[0] ** 2 - z[1:] @ z[1:]
    expected = barrier_impulse(velocity, friction, stiffness)
    impulse = contact.cone_to_impulse(contact.smooth_projection(-w, eps), friction, scale)
    # The barrier divides by the cone's slack, a difference of squares: its rounding is what limits the agreement.
    relative = 1e-12 + 1e-15 * z[0] ** 2 / slack if slack > 0.0 else np.inf
    if relative < 1e-4:
        np.testing.assert_allclose(impulse, expected, atol=4.0 * relative * np.abs(expected).max())


def test_log_barrier_in_numbers() -> None:
    # gap 1 mm at dt 10 ms, at rest, mu 0.5, kappa 500: lambda_n = 2 V / (mu^2 kappa V^2 / mu^2) = 2 / (kappa V).
    velocity = np.array([0.1, 0.0, 0.0])
    np.testing.assert_allclose(barrier_impulse(velocity, 0.5, 500.0), [0.04, 0.0, 0.0], atol=1e-16)
    w = np.array([0.2 - 0.02, 0.0, 0.0])  # z = (V / mu, 0, 0), l = eps / z with eps = 2 / kappa
    np.testing.assert_allclose(contact.smooth_projection(w, 0.004), [0.2, 0.0, 0.0], atol=1e-15)
    cone = contact.smooth_projection(-w, 0.004)
    np.testing.assert_allclose(contact.cone_to_impulse(cone, 0.5), [0.04, 0.0, 0.0], atol=1e-15)


@given(VECTORS, st.floats(0.1, 2.0), st.floats(0.1, 10.0))
def test_scaled_impulses_keep_friction_and_work(w: np.ndarray, friction: float, scale: float) -> None:
    z, cone = contact.smooth_projection(w, 0.1), contact.smooth_projection(-w, 0.1)
    impulse = contact.cone_to_impulse(cone, friction, scale)
    assert np.linalg.norm(impulse[1:]) <= friction * impulse[0] * (1.0 + 1e-12) + 1e-14
    velocity = z * np.array([friction, 1.0, 1.0])
    np.testing.assert_allclose(scale * velocity @ impulse, 0.1, atol=1e-12)


def test_hard_limit_is_the_cone_projection() -> None:
    generator = np.random.default_rng(1)
    w = generator.normal(size=(200, 3))
    z = contact.smooth_projection(w, 1e-14)
    head, length = w[:, 0], np.linalg.norm(w[:, 1:], axis=1)
    inside, polar = length <= head, length <= -head
    np.testing.assert_allclose(z[inside], w[inside], atol=1e-6)
    np.testing.assert_allclose(z[polar], 0.0, atol=1e-6)
    edge = ~inside & ~polar
    np.testing.assert_allclose(z[edge, 0], 0.5 * (head + length)[edge], atol=1e-6)


def test_stacks_equal_one_by_one() -> None:
    w = np.random.default_rng(2).normal(size=(4, 5, 3))
    stacked = contact.smooth_projection_jacobian(w, 0.01)
    np.testing.assert_array_equal(stacked[2, 3], contact.smooth_projection_jacobian(w[2, 3], 0.01))
    np.testing.assert_array_equal(contact.smooth_projection(w, 0.01)[1, 4], contact.smooth_projection(w[1, 4], 0.01))


@given(st.floats(-3.0, 3.0), st.floats(-3.0, 3.0))
def test_sliding_lift(first: float, second: float) -> None:
    tangent = np.array([first, second])
    value, gradient = contact.sliding_lift(tangent, 0.01)
    assert np.linalg.norm(tangent) - 0.01 - 1e-12 <= value <= np.linalg.norm(tangent) + 1e-12
    step = 1e-6
    numeric = [
        (contact.sliding_lift(tangent + step * axis, 0.01)[0] - contact.sliding_lift(tangent - step * axis, 0.01)[0])
        / (2.0 * step)
        for axis in np.eye(2)
    ]
    np.testing.assert_allclose(gradient, numeric, atol=1e-7)  # curvature changes by 1 / r^2 = 1e4 at most


@pytest.mark.parametrize("normal", [(0.0, 0.0, 1.0), (0.6, 0.0, 0.8), (-1.0, 0.0, 0.0), (0.48, 0.64, 0.6)])
def test_plane_axes_are_a_frame(normal: tuple[float, float, float]) -> None:
    axes = contact.ContactPlane(normal, 0.2).axes
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(np.linalg.det(axes), 1.0)
    np.testing.assert_array_equal(axes[0], normal)


def test_level_floor_has_the_worlds_axes() -> None:
    np.testing.assert_array_equal(contact.ContactPlane().axes, [[0, 0, 1], [1, 0, 0], [0, 1, 0]])


def test_schedule_goes_down_geometrically() -> None:
    values = contact.smoothing_schedule(1e-2, 1e-4, 3)
    np.testing.assert_allclose(values, [1e-2, 1e-3, 1e-4])
    assert contact.smoothing_schedule(1e-2, 1e-4, 1) == (1e-4,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: contact.ContactPlane((0.0, 0.0, 2.0)), "unit vector"),
        (lambda: contact.ContactPlane((0.0, 0.0, 1.0), float("nan")), "height must be finite"),
        (lambda: contact.smoothing_schedule(1e-4, 1e-2, 3), "first >= last"),
        (lambda: contact.smoothing_schedule(1e-2, 1e-4, 0), "at least one step"),
    ],
)
def test_bad_input(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=message):
        call()


@given(VECTORS, st.floats(1e-4, 1e-1))
def test_change_of_smoothing_keeps_the_larger_side(w: np.ndarray, old: float) -> None:
    new = 0.1 * old
    moved = contact.change_smoothing(w, old, new)
    before = (contact.smooth_projection(w, old), contact.smooth_projection(-w, old))
    after = (contact.smooth_projection(moved, new), contact.smooth_projection(-moved, new))
    # An eigenvalue's smaller side is at most sqrt(eps); nothing else changes.
    for old_side, new_side in zip(before, after, strict=True):
        assert np.linalg.norm(new_side - old_side) <= 2.0 * np.sqrt(old)
    if abs(w[0]) - np.hypot(w[1], w[2]) > 2.0 * np.sqrt(old):  # both eigenvalues on one side
        kept = 0 if w[0] > 0.0 else 1
        np.testing.assert_allclose(after[kept], before[kept], rtol=1e-9, atol=1e-12)


def test_unchanged_smoothing_changes_nothing() -> None:
    w = np.random.default_rng(3).normal(size=(50, 3))
    np.testing.assert_allclose(contact.change_smoothing(w, 0.01, 0.01), w, atol=1e-13)
