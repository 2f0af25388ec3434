# SPDX-License-Identifier: Apache-2.0
"""Sines and cosines of affine forms, alone and in the kinematics of an arm, hold what 60 digits say."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from intervals.exact import SAMPLES, SYMBOLS, Draw, assert_holds, cosine, exact, linear_part, seeds, sine

from sysid_nodes.intervals import Affine, Interval, cross, matvec, stack
from sysid_nodes.intervals.trigonometry import WIDEST_RATIO

FUNCTIONS = [pytest.param(lambda x: x.sin(), sine, id="sin"), pytest.param(lambda x: x.cos(), cosine, id="cos")]

# From no error over linear approximations, good and bad, to more than a turn.
RADII = [0.0, 1e-300, 1e-9, 1e-3, 0.1, 0.49, 0.51, 1.0, 1.9, 2.1, 4.0, 10.0]

# Where sine or cosine vanish or turn, to the nearest number and beside it.
CENTRES = [0.0, 1e-300, 0.5 * np.pi, np.pi, -np.pi, 1.5 * np.pi, 7.0, 0.25 * np.pi, np.nextafter(0.5 * np.pi, 2.0)]


def angles(draw, shape, radius):
    """Forms of angles of about the given radius, the remainder's share random."""
    rng = draw.rng
    centre = np.where(rng.uniform(size=shape) < 0.5, rng.choice(CENTRES, shape), rng.uniform(-10.0, 10.0, shape))
    terms = draw.unit((SYMBOLS, *shape)) / SYMBOLS
    share = rng.choice([0.0, 0.1, 1.0], shape)
    return Affine(centre, radius * (1.0 - share) * terms, radius * share)


@pytest.mark.parametrize(("function", "reference"), FUNCTIONS)
@given(seed=seeds, radius=st.sampled_from(RADII))
def test_holds_the_exact_value(function, reference, seed, radius):
    draw = Draw(seed)
    x = angles(draw, (4,), radius)
    assert_holds(function(x), reference(draw.value(x)), draw.eps)


@pytest.mark.parametrize(("function", "reference"), FUNCTIONS)
@given(seed=seeds)
def test_radii_of_one_form_may_differ(function, reference, seed):
    draw = Draw(seed)
    x = angles(draw, (6,), np.array([0.0, 1e-3, 0.3, 1.0, 3.0, 8.0]))
    assert_holds(function(x), reference(draw.value(x)), draw.eps)


@given(seed=seeds, radius=st.sampled_from(RADII))
def test_both_at_once_are_the_same(seed, radius):
    x = angles(Draw(seed), (4,), radius)
    for one, alone in zip(x.sin_cos(), (x.sin(), x.cos()), strict=True):
        for part in ("centre", "terms", "remainder"):
            np.testing.assert_array_equal(getattr(one, part), getattr(alone, part))


@given(centre=st.floats(-10.0, 10.0), radius=st.floats(0.0, 8.0))
def test_never_much_wider_than_the_range(centre, radius):
    x = Affine.symbol(centre, radius, 0, symbols=1)
    for one, ends in ((x.sin(), x.interval().sin()), (x.cos(), x.interval().cos())):
        # 1e-13 for the rounding of both, which at radius 0 is all there is.
        assert one.interval().width <= WIDEST_RATIO * ends.width + 1e-13


@given(centre=st.floats(-10.0, 10.0), radius=st.floats(1e-6, 0.5))
def test_small_errors_stay_linear(centre, radius):
    x = Affine.symbol(centre, radius, 0, symbols=1)
    # The best linear approximation errs by about radius^2 / 4 |sin| + radius^3 / 24 |cos|.
    allowed = 0.25 * radius**2 * abs(np.sin(centre)) + radius**3 / 20.0 * abs(np.cos(centre)) + 1e-14
    assert x.sin().remainder <= allowed
    assert abs(x.sin().terms[0] - radius * np.cos(centre)) <= radius**3 / 8.0 + 1e-14


def rotation(c, s, axis):
    """Rotation matrices about a coordinate axis from forms, numbers or fractions, shape (..., 3, 3)."""
    join = stack if isinstance(c, Affine) else np.stack
    one, zero = 1.0 + 0.0 * c, 0.0 * c
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    rows = [[zero] * 3 for _ in range(3)]
    rows[axis][axis], rows[i][i], rows[j][j], rows[i][j], rows[j][i] = one, c, c, -s, s
    return join([join(row, axis=-1) for row in rows], axis=-2)


@given(seed=seeds, radius=st.sampled_from([1e-6, 1e-2, 0.1, 0.4]))
@SAMPLES
def test_kinematics_of_three_joints(seed, radius):
    draw = Draw(seed)
    rng = draw.rng
    q, dq = angles(draw, (3,), radius), Affine(rng.normal(size=3), rng.normal(size=(SYMBOLS, 3)) * radius)
    links = rng.normal(size=(3, 3))
    angle, rate = draw.value(q), draw.value(dq)

    def hand(sin, cos, rates, links, product, times):
        """Position and velocity of the hand of three revolute joints about z, y and x."""
        R, p, v, w = None, 0.0, 0.0, 0.0
        for k, axis in enumerate((2, 1, 0)):
            turn = rotation(cos[k], sin[k], axis)
            R = turn if R is None else R @ turn
            w = w + R[..., :, axis] * rates[k]
            arm = times(R, links[k])
            p, v = p + arm, v + product(w, arm)
        return p, v

    def exact_cross(a, b):
        i, j = [1, 2, 0], [2, 0, 1]
        return a[i] * b[j] - a[j] * b[i]

    p, v = hand(q.sin(), q.cos(), dq, links, cross, matvec)
    expected = hand(sine(angle), cosine(angle), rate, exact(links), exact_cross, np.matmul)
    assert_holds(p, expected[0], draw.eps)
    assert_holds(v, expected[1], draw.eps)
    # Three joints, links of a few metres: the remainders are of second order, times a few tens.
    assert (p.remainder <= 100.0 * (radius**2 + q.remainder.max()) + 1e-12).all()


@pytest.mark.parametrize("centre", [1e5, 1e10, 1e15, -1e22, 1.7e308])
def test_large_angles(centre):
    pi = Decimal(
        "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798"
    )
    for radius in (0.0, 0.1):
        x = Affine.symbol(centre, radius, 0, symbols=1)
        assert x.sin().interval().contains(np.sin(centre)) and x.cos().interval().contains(np.cos(centre))
        if centre < 1e16 and radius:
            turns = Decimal(centre) / (2 * pi)
            reduced = float((turns - turns.to_integral_value()) * 2 * pi)
            for e in (-1.0, 0.5, 1.0):
                assert x.sin().interval().contains(np.sin(reduced + e * radius))
    assert Interval(centre, centre + abs(centre)).sin().contains(Interval(-1.0, 1.0)) or centre > 1e308


def test_terms_follow_the_slope():
    x = Affine([0.3], [[1e-3], [2e-3], [0.0]])
    np.testing.assert_allclose(x.sin().terms[:, 0], np.cos(0.3) * np.array([1e-3, 2e-3, 0.0]), rtol=2e-6)
    np.testing.assert_allclose(linear_part(x.cos(), np.zeros(3)).astype(float), np.cos(0.3), rtol=1e-5)
