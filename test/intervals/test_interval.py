# SPDX-License-Identifier: Apache-2.0
"""Every operation on intervals holds the exact result at any of their points."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from intervals.exact import Draw, assert_within, cosine, exact, seeds, sine

from sysid_nodes.exceptions import InputError, SysidError
from sysid_nodes.intervals import Interval, hull

SHAPES = st.sampled_from([((3,), (3,)), ((2, 1), (3,)), ((), (2,)), ((1, 2), ())])

BINARY = {
    "+": (lambda x, y: x + y, lambda x, y: x + y),
    "-": (lambda x, y: x - y, lambda x, y: x - y),
    "*": (lambda x, y: x * y, lambda x, y: x * y),
    "minimum": (lambda x, y: x.minimum(y), np.minimum),
    "maximum": (lambda x, y: x.maximum(y), np.maximum),
}


@pytest.mark.parametrize(("operation", "reference"), BINARY.values(), ids=BINARY)
@given(seed=seeds, shapes=SHAPES)
def test_binary_operations_hold_the_exact_result(operation, reference, seed, shapes):
    draw = Draw(seed)
    x, y = draw.interval(shapes[0]), draw.interval(shapes[1])
    number = draw.numbers(shapes[1])
    a, b = draw.point(x), draw.point(y)
    assert_within(operation(x, y), reference(a, b))
    assert_within(operation(x, number), reference(a, exact(number)))


@pytest.mark.parametrize("operation", ["+", "-", "*"])
@given(seed=seeds, shapes=SHAPES)
def test_numbers_may_come_first(operation, seed, shapes):
    draw = Draw(seed)
    x, number = draw.interval(shapes[0]), draw.numbers(shapes[1])
    compute, reference = BINARY[operation]
    assert_within(compute(number, x), reference(exact(number), draw.point(x)))


@given(seed=seeds, shapes=SHAPES)
def test_quotients_hold_the_exact_result(seed, shapes):
    draw = Draw(seed)
    x, y = draw.interval(shapes[0]), draw.interval(shapes[1])
    size = abs(y)
    high = np.where(size.upper == 0.0, 1.0, size.upper)
    low = np.where(size.lower == 0.0, np.maximum(0.5 * high, 5e-324), size.lower)
    for divisor in (Interval(low, high), Interval(-high, -low)):
        assert_within(x / divisor, draw.point(x) / draw.point(divisor))
        number = draw.numbers(shapes[0])
        assert_within(number / divisor, exact(number) / draw.point(divisor))


UNARY = {
    "neg": (lambda x: -x, lambda a: -a),
    "abs": (abs, abs),
    "sqr": (lambda x: x.sqr(), lambda a: a * a),
    "sum": (lambda x: x.sum(), lambda a: np.asarray(a.sum(), object)),
    "sum over an axis": (lambda x: x.sum(axis=1), lambda a: a.sum(axis=1)),
    "sum over two axes": (lambda x: x.sum(axis=(0, 1)), lambda a: np.asarray(a.sum(), object)),
    "index": (lambda x: x[1:, ..., None], lambda a: a[1:, ..., None]),
}


@pytest.mark.parametrize(("operation", "reference"), UNARY.values(), ids=UNARY)
@given(seed=seeds)
def test_unary_operations_hold_the_exact_result(operation, reference, seed):
    draw = Draw(seed)
    x = draw.interval((2, 3))
    assert_within(operation(x), reference(draw.point(x)))


@given(seed=seeds)
def test_square_roots_hold_the_exact_result(seed):
    draw = Draw(seed)
    x = abs(draw.interval((3,)))
    root = x.sqrt()
    for k, a in enumerate(draw.point(x)):
        low, high = float(root.lower[k]), float(root.upper[k])
        assert low >= 0.0 and Fraction(low) ** 2 <= a <= Fraction(high) ** 2


@given(seed=seeds)
def test_products_with_a_matrix_hold_the_exact_result(seed):
    draw = Draw(seed)
    for left, right in (((2, 3), (3, 2)), ((2, 3), (3,)), ((3,), (3, 2)), ((3,), (3,)), ((2, 1, 3), (3, 2))):
        x, matrix = draw.interval(left), draw.numbers(right)
        product = np.asarray(draw.point(x) @ exact(matrix), object)
        assert_within(x @ matrix, product)
        assert_within(x.dot(matrix), product)
        matrix, x = draw.numbers(left), draw.interval(right)
        assert_within(matrix @ x, np.asarray(exact(matrix) @ draw.point(x), object))


def test_product_with_a_matrix_is_as_narrow_as_it_can_be():
    x, matrix = Interval([-1.0, 2.0], [3.0, 2.5]), np.array([[1.0, -2.0], [0.0, 4.0]])
    product = matrix @ x
    np.testing.assert_allclose(product.lower, [-6.0, 8.0], rtol=1e-14)
    np.testing.assert_allclose(product.upper, [-1.0, 10.0], rtol=1e-14)


@pytest.mark.parametrize(("function", "reference"), [(Interval.sin, sine), (Interval.cos, cosine)], ids=["sin", "cos"])
@given(seed=seeds)
def test_waves_hold_the_exact_value(function, reference, seed):
    draw = Draw(seed)
    rng = draw.rng
    quarter = 0.5 * np.pi * rng.integers(-8, 9, 4)
    centre = np.where(rng.uniform(size=4) < 0.5, quarter, rng.uniform(-12.0, 12.0, 4))
    low = centre - rng.choice([0.0, 1e-16, 1e-8, 0.1, 1.0, 3.0], 4)
    high = centre + rng.choice([0.0, 1e-16, 1e-8, 0.1, 1.0, 3.0], 4)
    x = Interval(low, high)
    wave = function(x)
    assert_within(wave, reference(draw.point(x)))
    assert (wave.lower >= -1.0).all() and (wave.upper <= 1.0).all()
    middle = exact(np.clip(centre, low, high))  # the extremes, where a quarter turn lies inside
    assert_within(wave, reference(middle))


@given(turns=st.integers(-100, 100) | st.integers(-(10**14), -(10**9)) | st.integers(10**9, 10**14))
def test_extremes_after_many_turns_are_not_missed(turns):
    # An extreme lies between neighbours of the machine; an interval begins at the lower, another ends at the upper.
    pi = Fraction(
        "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798"
    )
    for quarters, function, extreme in (
        (0, Interval.cos, 1.0),
        (1, Interval.sin, 1.0),
        (2, Interval.cos, -1.0),
        (3, Interval.sin, -1.0),
    ):
        place = pi * (2 * turns + Fraction(quarters, 2))
        nearest = float(place)
        below = nearest if nearest <= place else float(np.nextafter(nearest, -np.inf))
        above = nearest if nearest >= place else float(np.nextafter(nearest, np.inf))
        assert function(Interval(below, below + 1.0)).contains(extreme)
        assert function(Interval(above - 1.0, above)).contains(extreme)


def test_waves_are_narrow_away_from_the_extremes():
    x = Interval([0.1, 2.0, -1.0], [0.2, 2.5, 1.0])
    np.testing.assert_allclose(x.sin().lower, np.sin([0.1, 2.5, -1.0]), rtol=1e-14)
    np.testing.assert_allclose(x.sin().upper, np.sin([0.2, 2.0, 1.0]), rtol=1e-14)
    np.testing.assert_allclose(x.cos().lower, np.cos([0.2, 2.5, 1.0]), rtol=1e-14)
    np.testing.assert_allclose(x.cos().upper, [np.cos(0.1), np.cos(2.0), 1.0], rtol=1e-14)


@pytest.mark.parametrize("x", [Interval(-np.inf, np.inf), Interval(3.0, np.inf), Interval(1e300, 1.1e300)])
def test_waves_of_what_is_hardly_known_are_between_one_and_minus_one(x):
    for wave in (x.sin(), x.cos()):
        assert wave.lower == -1.0 and wave.upper == 1.0


@given(seed=seeds)
def test_size_and_parts(seed):
    draw = Draw(seed)
    x, y = draw.interval((3,)), draw.interval((3,))
    a = draw.point(x)
    both = hull(x, y)
    for k in range(3):
        low, high = Fraction(float(x.lower[k])), Fraction(float(x.upper[k]))
        assert high - low <= x.width[k]
        assert low <= Fraction(float(x.centre[k])) <= high
        assert max(high - Fraction(float(x.centre[k])), Fraction(float(x.centre[k])) - low) <= x.radius[k]
        assert x.mignitude()[k] <= abs(a[k]) <= x.magnitude()[k]
        assert both.lower[k] <= a[k] <= both.upper[k]
    np.testing.assert_array_equal(both.contains(x) & both.contains(y), True)
    np.testing.assert_array_equal(x.contains(x.lower) & x.contains(x.upper), True)


@given(seed=seeds)
def test_around_holds_its_ends(seed):
    draw = Draw(seed)
    centre, radius = draw.numbers((3,)), np.abs(draw.numbers((3,)))
    x = Interval.around(centre, radius)
    for side in (-1, 1):
        assert_within(x, exact(centre) + side * exact(radius))


def test_results_that_are_no_numbers_of_the_machine_are_held():
    # 0.1 + 0.2, 1 / 3 and 0.1 * 0.1 lie strictly between two neighbours.
    tenth, fifth, one, three = (Interval.point(x) for x in (0.1, 0.2, 1.0, 3.0))
    for result, value in (
        (tenth + fifth, Fraction(0.1) + Fraction(0.2)),
        (one / three, Fraction(1, 3)),
        (tenth * tenth, Fraction(0.1) ** 2),
        (Interval.point(1e-200) * Interval.point(1e-200), Fraction(1e-200) ** 2),
    ):
        assert result.lower < value < result.upper
        assert result.width <= 4.0 * np.spacing(np.abs(float(value)))


def test_overflow_and_infinite_ends():
    huge, line, half = Interval.point(1e300), Interval(-np.inf, np.inf), Interval(2.0, np.inf)
    assert (huge * huge).upper == np.inf and (huge * huge).lower == np.finfo(np.float64).max
    assert (line + line).width == np.inf and line.centre == 0.0 and line.radius == np.inf
    assert (half - half).lower == -np.inf and (half - half).upper == np.inf
    assert (half * 0.0).contains(0.0) and (half * 0.0).magnitude() <= 5e-324
    assert half.contains(half.centre) and np.isfinite(half.centre)
    quotient = half / half
    assert quotient.lower <= 0.0 and quotient.upper == np.inf
    assert (line.sum() + 1.0).lower == -np.inf
    assert (line[None] @ np.ones(1)).upper == np.inf


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: Interval([1.0, 3.0], [2.0, 2.0]), "interval lower 3 above upper 2 at entry 1"),
        (lambda: Interval(np.nan, 1.0), "interval ends must not be NaN"),
        (lambda: Interval(0.0, [1.0, np.nan]), "interval ends must not be NaN"),
        (lambda: Interval([1.0, 2.0], [1.0, 2.0, 3.0]), r"shapes \(2,\) and \(3,\) do not broadcast"),
        (lambda: Interval.point(np.inf), "an interval must hold a real number"),
        (lambda: Interval.around(0.0, -1.0), "an interval's radius must not be negative or NaN"),
        (lambda: Interval.around(0.0, np.nan), "an interval's radius must not be negative or NaN"),
        (lambda: Interval.point(1.0) / Interval(-1.0, 1.0), "division by an interval that holds 0"),
        (lambda: 1.0 / Interval.point([1.0, 0.0]), "division by an interval that holds 0"),
        (lambda: Interval(-1.0, 1.0).sqrt(), "square root of an interval that reaches below 0"),
        (lambda: Interval.point([1.0, 2.0]) + np.ones(3), r"intervals of shapes \(2,\) and \(3,\) do not broadcast"),
        (lambda: hull(), "the hull of no intervals is empty"),
        (lambda: Interval.point([1.0]) @ np.array([np.inf]), "a matrix must be finite"),
    ],
)
def test_bad_input_is_refused(act, message):
    with pytest.raises(InputError, match=message) as caught:
        act()
    assert isinstance(caught.value, SysidError)


X, Y = Interval([-1.0, 2.0, 0.0], [3.0, 5.0, 4.0]), Interval([2.0, -4.0, 1.0], [4.0, -2.0, 2.0])
AS_NARROW = {
    "+": (lambda: X + Y, [1, -2, 1], [7, 3, 6]),
    "-": (lambda: X - Y, [-5, 4, -2], [1, 9, 3]),
    "*": (lambda: X * Y, [-4, -20, 0], [12, -4, 8]),
    "/": (lambda: X / Y, [-0.5, -2.5, 0], [1.5, -0.5, 4]),
    "number -": (lambda: 2.0 - X, [-1, -3, -2], [3, 0, 2]),
    "number /": (lambda: 8.0 / Y, [2, -4, 4], [4, -2, 8]),
    "sqr": (lambda: X.sqr(), [0, 4, 0], [9, 25, 16]),
    "sqrt": (lambda: X[1:].sqr().sqrt(), [2, 0], [5, 4]),
    "abs": (lambda: abs(X), [0, 2, 0], [3, 5, 4]),
    "sum": (lambda: X.sum(), 1, 12),
    "sum over an axis": (lambda: X.sum(axis=-1), 1, 12),
    "hull": (lambda: hull(X, Y, Interval.point(1.0)), [-1, -4, 0], [4, 5, 4]),
    "matrix first": (lambda: np.array([[1.0, 0.0, -2.0]]) @ X, [-9], [3]),
    "matrix last": (lambda: X @ np.array([[1.0], [0.0], [-2.0]]), [-9], [3]),
    "an unbounded divisor": (lambda: Interval(-np.inf, -3.0) / Interval(2.0, np.inf), -np.inf, 0),
    "two unbounded": (lambda: Interval(1.0, np.inf) / Interval(2.0, np.inf), 0, np.inf),
    "width": (lambda: Interval.point(X.width), [4, 3, 4], [4, 3, 4]),
    "radius": (lambda: Interval.point(X.radius), [2, 1.5, 2], [2, 1.5, 2]),
    "centre": (lambda: Interval.point(X.centre), [1, 3.5, 2], [1, 3.5, 2]),
    "mignitude": (lambda: Interval.point(Y.mignitude()), [2, 2, 1], [2, 2, 1]),
}


@pytest.mark.parametrize("name", AS_NARROW)
def test_ranges_are_no_wider_than_roundings_make_them(name):
    """A few units in the last place of numbers up to 25, and of a sum of three."""
    operation, lower, upper = AS_NARROW[name]
    found = operation()
    np.testing.assert_allclose(found.lower, lower, rtol=0.0, atol=2e-14)
    np.testing.assert_allclose(found.upper, upper, rtol=0.0, atol=2e-14)


def test_what_is_never_negative_begins_at_zero_and_no_lower():
    assert (X.sqr().lower[[0, 2]] == 0.0).all() and X[2:].sqrt().lower[0] == 0.0
    assert (abs(X).lower[[0, 2]] == 0.0).all() and Interval.point(2.0).width == 0.0


def test_sums_of_nothing():
    nothing = Interval(np.zeros((0, 3)), np.zeros((0, 3)))
    assert nothing.sum(axis=1).shape == (0,) and nothing.sum().contains(0.0)
