# SPDX-License-Identifier: Apache-2.0
"""Sines and cosines of affine forms, alone and in the kinematics of an arm, hold what 60 digits say."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from intervals.exact import SAMPLES, SYMBOLS, Draw, assert_holds, cosine, ends, exact, linear_part, seeds, sine, symbol

from sysid_nodes.intervals import Affine, cross, matvec, stack
from sysid_nodes.intervals.trigonometry import WIDEST_RATIO, cosine_range, linear_waves, sine_range

FUNCTIONS = [
    pytest.param(lambda x: x.sin_cos()[0], sine, id="sin"),
    pytest.param(lambda x: x.sin_cos()[1], cosine, id="cos"),
]

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


@given(centre=st.floats(-10.0, 10.0), radius=st.floats(0.0, 8.0))
def test_never_much_wider_than_the_range(centre, radius):
    x = symbol(centre, radius)
    for wave, of_range in zip(x.sin_cos(), (sine_range, cosine_range), strict=True):
        low, high = of_range(*ends(x))
        # 1e-13 for the rounding of both, which at radius 0 is all there is.
        assert 2.0 * wave.radius() <= WIDEST_RATIO * (high - low) + 1e-13


@given(centre=st.floats(-10.0, 10.0), radius=st.floats(1e-6, 0.5))
def test_small_errors_stay_linear(centre, radius):
    wave = symbol(centre, radius).sin_cos()[0]
    # The best linear approximation errs by about radius^2 / 4 |sin| + radius^3 / 24 |cos|.
    allowed = 0.25 * radius**2 * abs(np.sin(centre)) + radius**3 / 20.0 * abs(np.cos(centre)) + 1e-14
    assert wave.remainder <= allowed
    assert abs(wave.terms[0] - radius * np.cos(centre)) <= radius**3 / 8.0 + 1e-14


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

    p, v = hand(*q.sin_cos(), dq, links, cross, matvec)
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
        sines, cosines = (ends(wave) for wave in symbol(centre, radius).sin_cos())
        assert sines[0] <= np.sin(centre) <= sines[1] and cosines[0] <= np.cos(centre) <= cosines[1]
        if centre < 1e16 and radius:
            turns = Decimal(centre) / (2 * pi)
            reduced = float((turns - turns.to_integral_value()) * 2 * pi)
            for e in (-1.0, 0.5, 1.0):
                assert sines[0] <= np.sin(reduced + e * radius) <= sines[1]
    if centre < 1e308:
        assert sine_range(*np.array([centre, centre + abs(centre)])) == (-1.0, 1.0)


def test_terms_follow_the_slope():
    x = Affine([0.3], [[1e-3], [2e-3], [0.0]])
    sines, cosines = x.sin_cos()
    np.testing.assert_allclose(sines.terms[:, 0], np.cos(0.3) * np.array([1e-3, 2e-3, 0.0]), rtol=2e-6)
    np.testing.assert_allclose(linear_part(cosines, np.zeros(3)).astype(float), np.cos(0.3), rtol=1e-5)


RANGES = pytest.mark.parametrize(("of_range", "reference"), [(sine_range, sine), (cosine_range, cosine)])


@RANGES
@given(seed=seeds)
def test_ranges_hold_the_exact_value(of_range, reference, seed):
    draw = Draw(seed)
    rng = draw.rng
    quarter = 0.5 * np.pi * rng.integers(-8, 9, 4)
    centre = np.where(rng.uniform(size=4) < 0.5, quarter, rng.uniform(-12.0, 12.0, 4))
    low = centre - rng.choice([0.0, 1e-16, 1e-8, 0.1, 1.0, 3.0], 4)
    high = centre + rng.choice([0.0, 1e-16, 1e-8, 0.1, 1.0, 3.0], 4)
    least, most = of_range(low, high)
    between = exact(low) + exact(np.abs(draw.unit(4))) * (exact(high) - exact(low))
    # The middle is an extreme where a quarter turn lies inside.
    for value in (reference(between), reference(exact(np.clip(centre, low, high)))):
        assert (exact(least) <= value).all() and (value <= exact(most)).all()
    assert (least >= -1.0).all() and (most <= 1.0).all()


@given(turns=st.integers(-100, 100) | st.integers(-(10**14), -(10**9)) | st.integers(10**9, 10**14))
def test_extremes_after_many_turns_are_not_missed(turns):
    # An extreme lies between neighbours of the machine; a range begins at the lower, another ends at the upper.
    pi = Fraction(
        "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798"
    )
    for quarters, of_range in enumerate((cosine_range, sine_range, cosine_range, sine_range)):
        extreme = int(quarters < 2)
        place = pi * (2 * turns + Fraction(quarters, 2))
        nearest = float(place)
        below = nearest if nearest <= place else float(np.nextafter(nearest, -np.inf))
        above = nearest if nearest >= place else float(np.nextafter(nearest, np.inf))
        for low, high in ((below, below + 1.0), (above - 1.0, above)):
            assert of_range(np.array(low), np.array(high))[extreme] == (1.0 if extreme else -1.0)


def test_ranges_are_narrow_away_from_the_extremes():
    low, high = np.array([0.1, 2.0, -1.0]), np.array([0.2, 2.5, 1.0])
    np.testing.assert_allclose(sine_range(low, high)[0], np.sin([0.1, 2.5, -1.0]), rtol=1e-14)
    np.testing.assert_allclose(sine_range(low, high)[1], np.sin([0.2, 2.0, 1.0]), rtol=1e-14)
    np.testing.assert_allclose(cosine_range(low, high)[0], np.cos([0.2, 2.5, 1.0]), rtol=1e-14)
    np.testing.assert_allclose(cosine_range(low, high)[1], [np.cos(0.1), np.cos(2.0), 1.0], rtol=1e-14)


@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), (3.0, np.inf), (1e300, 1.1e300)])
def test_ranges_of_what_is_hardly_known_are_between_one_and_minus_one(bounds):
    for of_range in (sine_range, cosine_range):
        assert of_range(*np.array(bounds)) == (-1.0, 1.0)


def test_a_linear_cosine_errs_by_little_more_than_it_has_to():
    """At a crest no slope helps, and half of 1 - cos r is the least; the series of h leaves r^8 / 40320 of it."""
    for radius in (0.3, 1.0):
        cosine = linear_waves(np.zeros(1), np.array([radius]))[1]
        least = 0.5 * (1.0 - np.cos(radius))
        assert least <= cosine.error[0] <= least + 0.5 * radius**8 / 40320.0 + 1e-13


@pytest.mark.parametrize(("wave", "function", "trough"), [(0, np.sin, -0.5 * np.pi), (1, np.cos, np.pi)])
@pytest.mark.parametrize("end", [-1.0, 1.0])
def test_ranges_of_large_angles_begin_and_end_outside(wave, function, trough, end):
    """Far from 0 one angle and the next are 1e-10 apart, and functions differ more than their own roundings."""
    turn = trough + 2.0 * np.pi * 2.0**18
    # An exact end just beyond a trough, which is the least of the range; the other end is nowhere near one.
    last = np.round((turn - 0.5 * end) * 2.0**20) / 2.0**20
    centre, radius = last - 2.25 * end, 2.25
    line = linear_waves(np.array([centre]), np.array([radius]))[wave]
    assert line.slope[0] == 0.0
    least = line.value[0] - line.error[0]
    # 1e-15: of the function's own value.
    assert function(last) - 1e-9 < least <= function(last) - 1e-11
