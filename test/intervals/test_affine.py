# SPDX-License-Identifier: Apache-2.0
"""Every operation on affine forms holds the exact result at any values of the symbols and remainders."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from intervals.exact import SAMPLES, SYMBOLS, Draw, assert_holds, ends, exact, linear_part, seeds, symbol

from sysid_nodes.exceptions import InputError
from sysid_nodes.intervals import Affine, cross, matvec

SHAPES = [((2,), (2,)), ((2, 1), (3,)), ((), (2,)), ((1, 2), ())]


def crossed(x, y):
    i, j = [1, 2, 0], [2, 0, 1]
    return x[..., i] * y[..., j] - x[..., j] * y[..., i]


BINARY = {
    "+": (lambda x, y: x + y, lambda x, y: x + y, SHAPES),
    "-": (lambda x, y: x - y, lambda x, y: x - y, SHAPES),
    "*": (lambda x, y: x * y, lambda x, y: x * y, SHAPES),
    "@": (lambda x, y: x @ y, lambda x, y: x @ y, [((2, 2), (2, 1)), ((2, 1, 2), (2, 1)), ((1, 2), (2, 2, 1))]),
    "cross": (cross, crossed, [((3,), (3,)), ((2, 3), (3,)), ((3,), (2, 3))]),
    "matvec": (matvec, lambda x, y: (x @ y[..., None])[..., 0], [((2, 2), (2,)), ((2, 1, 2), (2,))]),
}
CASES = [pytest.param(f, g, a, b, id=f"{name}{a}{b}") for name, (f, g, s) in BINARY.items() for a, b in s]


PARAMETERS = pytest.mark.parametrize(("operation", "reference", "left", "right"), CASES)


@PARAMETERS
@given(seed=seeds)
@SAMPLES
def test_binary_operations_hold_the_exact_result(operation, reference, left, right, seed):
    draw = Draw(seed)
    x, y = draw.form(left), draw.form(right)
    assert_holds(operation(x, y), reference(draw.value(x), draw.value(y)), draw.eps)


@PARAMETERS
@given(seed=seeds)
@SAMPLES
def test_operations_with_numbers_hold_the_exact_result(operation, reference, left, right, seed):
    draw = Draw(seed)
    x, y = draw.form(left), draw.form(right)
    a, b = draw.numbers(left), draw.numbers(right)
    assert_holds(operation(x, b), reference(draw.value(x), exact(b)), draw.eps)
    assert_holds(operation(a, y), reference(exact(a), draw.value(y)), draw.eps)


UNARY = {
    "neg": (lambda x: -x, lambda a: -a),
    "sqr": (lambda x: x.sqr(), lambda a: a * a),
    "product with itself": (lambda x: x * x, lambda a: a * a),
    "sum": (lambda x: x.sum(), lambda a: np.asarray(a.sum(), object)),
    "sum over an axis": (lambda x: x.sum(axis=-1), lambda a: a.sum(axis=-1)),
    "sum over the first axis": (lambda x: x.sum(axis=-2), lambda a: a.sum(axis=-2)),
    "sum over two axes": (lambda x: x.sum(axis=(0, -1)), lambda a: np.asarray(a.sum(axis=(0, 1)), object)),
    "cancelled": (lambda x: (x + 1e16) - 1e16, lambda a: a),
    "difference with itself": (lambda x: x - x, lambda a: a - a),
}


@pytest.mark.parametrize(("operation", "reference"), UNARY.values(), ids=UNARY)
@given(seed=seeds)
@SAMPLES
def test_unary_operations_hold_the_exact_result(operation, reference, seed):
    draw = Draw(seed)
    x = draw.form((2, 2))
    assert_holds(operation(x), reference(draw.value(x)), draw.eps)


@given(seed=seeds)
def test_quotients_hold_the_exact_result(seed):
    draw = Draw(seed)
    x, divisor = draw.form((2, 2)), draw.numbers((2,))
    divisor[divisor == 0.0] = 3.0
    assert_holds(x / divisor, draw.value(x) / exact(divisor), draw.eps)


def test_long_sums_of_products_hold_the_exact_result():
    # 300 products of mixed sign, in whatever order BLAS sums them: the error is far above one rounding.
    rng = np.random.default_rng(1)
    x = Affine(rng.normal(size=(2, 300)), rng.normal(size=(SYMBOLS, 2, 300)))
    y = Affine(rng.normal(size=(300, 2)), rng.normal(size=(SYMBOLS, 300, 2)))
    eps = rng.choice([-1.0, 1.0], SYMBOLS)
    a, b = linear_part(x, eps), linear_part(y, eps)
    assert_holds(x @ y, a @ b, eps)
    assert_holds(x.centre @ y, exact(x.centre) @ b, eps)
    assert_holds((x * y.transpose()).sum(axis=-1), (a * b.T).sum(axis=-1), eps)


def test_roundings_that_add_up_are_held():
    # A sum of 20000 equal numbers rounds the same way again and again.
    n, x = 20000, Affine.constant(np.full((1, 20000), 0.1), symbols=1)
    total = np.full((1, 1), n * Fraction(0.1) ** 2)
    assert_holds(x @ x.transpose(), total, np.ones(1))
    assert_holds(np.full((1, n), 0.1) @ x.transpose(), total, np.ones(1))
    assert_holds((0.1 * x).sum(axis=-1), total[0], np.ones(1))


@given(seed=seeds)
@SAMPLES
def test_linear_operations_lose_nothing_but_rounding(seed):
    rng, shape = np.random.default_rng(seed), (2, 2)
    x, y = (Affine(rng.uniform(-10, 10, shape), rng.uniform(-10, 10, (SYMBOLS, *shape))) for _ in range(2))
    matrix = rng.uniform(-10, 10, shape)
    # Numbers to 10, at most four of them and five products a sum: 1e-11 is hundreds of times the roundings.
    for z in (x + y, x - y, matrix @ x, x @ matrix, matrix * x, x.sum(axis=0)):
        assert (z.remainder <= 1e-11).all()
    np.testing.assert_array_equal((x + y).terms, x.terms + y.terms)
    np.testing.assert_array_equal((x - x).terms, 0.0)


def test_product_has_the_quadratic_remainder_and_no_more():
    x = symbol(2.0, 0.1, 0, symbols=2)
    y = symbol(3.0, 0.2, 1, symbols=2)
    z = x * y
    np.testing.assert_allclose(z.centre, 6.0)
    np.testing.assert_allclose(z.terms, [0.3, 0.4])
    np.testing.assert_allclose(z.remainder, 0.02, rtol=1e-12)


def test_square_knows_that_both_factors_are_one():
    x = symbol(0.0, 2.0, 0, symbols=1)
    for square in (x.sqr(), x * x):
        np.testing.assert_allclose(ends(square), [0.0, 4.0], atol=1e-13)


def test_overflow_gives_the_whole_line_and_stays():
    huge = symbol(1e300, 1e299, 0, symbols=1)
    for z in (
        huge * huge,
        huge.sqr(),
        huge / 1e-300,
        (huge * 1e8) + (huge * 1e8),
        huge.reshape(1, 1) @ huge.reshape(1, 1),
    ):
        for w in (z, z - z, z * 0.0, z + 1.0, z.sum(), z.reshape(1)[0]):
            low, high = ends(w)
            assert (low == -np.inf).all() and (high == np.inf).all()
        for wave in z.sin_cos():
            low, high = ends(wave)
            assert (low <= 0.5).all() and (high >= 0.5).all()


def test_infinite_remainder_is_the_whole_line_and_its_sine_is_bounded():
    x = Affine(1.0, [0.5], np.inf)
    assert ends(x) == (-np.inf, np.inf)
    low, high = ends(x.sin_cos()[0])
    assert low <= -1.0 and high >= 1.0 and high - low < 2.0 + 1e-12


def test_scalars_and_numpy_scalars_work_from_both_sides():
    x = symbol([1.0, 2.0], 0.5, 0, symbols=1)
    for z in (2.0 * x, x * 2, np.float64(2.0) * x, x + x, np.array([2.0, 2.0]) * x):
        np.testing.assert_allclose(z.centre, [2.0, 4.0])
        np.testing.assert_allclose(z.terms, [[1.0, 1.0]])
    for z in (1.0 - x, np.float64(1.0) - x):
        np.testing.assert_allclose(z.centre, [0.0, -1.0])
        np.testing.assert_allclose(z.terms, [[-0.5, -0.5]])


X = symbol(np.ones((2, 3)), 0.1, 0, symbols=2)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: Affine([1.0, 2.0], [[1.0]]), r"terms of shape \(1, 1\) need a centre of shape \(1,\), got \(2,\)"),
        (lambda: Affine(1.0, 1.0), r"terms of shape \(\) need a centre"),
        (lambda: Affine([np.nan], [[1.0]]), "centre and terms of an affine form must be finite"),
        (lambda: Affine([1.0], [[np.inf]]), "centre and terms of an affine form must be finite"),
        (lambda: Affine([1.0], [[1.0]], [-1.0]), "remainder of an affine form must not be negative or NaN"),
        (lambda: Affine([1.0], [[1.0]], [np.nan]), "remainder of an affine form must not be negative or NaN"),
        (
            lambda: Affine([1.0], [[1.0]], [1.0, 2.0]),
            r"a remainder of shape \(2,\) does not fit a centre of shape \(1,\)",
        ),
        (lambda: X + Affine.constant(1.0, symbols=3), "over 2 and 3 symbols cannot be combined"),
        (lambda: X - Affine.constant(1.0, symbols=3), "over 2 and 3 symbols cannot be combined"),
        (lambda: X * Affine.constant(1.0, symbols=3), "over 2 and 3 symbols cannot be combined"),
        (lambda: X + np.ones(2), r"shapes \(2, 3\) and \(2,\) do not fit '\+'"),
        (lambda: X - X.transpose(), r"shapes \(2, 3\) and \(3, 2\) do not fit '\+'"),
        (lambda: X * np.ones(2), r"shapes \(2, 3\) and \(2,\) do not fit '\*'"),
        (lambda: X / np.ones(2), r"shapes \(2, 3\) and \(2,\) do not fit '/'"),
        (lambda: X @ X, r"shapes \(2, 3\) and \(2, 3\) do not fit '@'"),
        (lambda: X @ np.ones(3), r"shapes \(2, 3\) and \(3,\) do not fit '@'"),
        (lambda: np.ones((1, 3)) @ X, r"shapes \(1, 3\) and \(2, 3\) do not fit '@'"),
        (lambda: cross(X, np.ones(2)), r"shapes \(2, 3\) and \(2,\) do not fit 'cross'"),
        (lambda: cross(np.ones(3), np.ones(3)), "'cross' needs an affine form"),
        (lambda: X * np.nan, "an affine form combines with finite numbers only"),
        (lambda: X * "two", "an affine form does not combine with str"),
        (lambda: X / 0.0, "division of an affine form by 0"),
        (lambda: matvec(np.eye(2), np.ones(2)), "'@' needs an affine form"),
        (lambda: X.sum(axis=2), "axis 2 is not among the 2 axes"),
        (lambda: X[0].transpose(), r"forms of shape \(3,\) have no two axes to swap"),
    ],
)
def test_bad_input_is_refused(act, message):
    with pytest.raises(InputError, match=message):
        act()
