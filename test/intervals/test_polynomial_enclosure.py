# SPDX-License-Identifier: Apache-2.0
"""Polynomials over time intervals hold the exact value, velocity and acceleration at any time."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from intervals.exact import Draw, exact, seeds

from sysid_nodes.exceptions import InputError
from sysid_nodes.intervals import polynomial_enclosure, time_intervals


def derivative(c):
    """Exact coefficients of the derivative; of a constant, those of 0."""
    return [k * a for k, a in enumerate(c)][1:] or [c[0] * 0]


def value(c, t):
    return sum(a * t**k for k, a in enumerate(c))


@given(seed=seeds, degree=st.integers(0, 6), start=st.sampled_from([0.0, -3.0, 1e9]))
def test_holds_the_exact_value(seed, degree, start):
    draw = Draw(seed)
    c = draw.numbers((degree + 1, 2))
    edges = start + np.cumsum(draw.rng.uniform(0.001, 1.0, 4))
    enclosures = polynomial_enclosure(c, edges)
    mid, half = time_intervals(edges)
    exact_c = list(exact(c))
    for i in range(3):
        for t in (edges[i], edges[i + 1], draw.rng.uniform(edges[i], edges[i + 1])):
            e = (Fraction(float(t)) - Fraction(float(mid[i]))) / Fraction(float(half[i]))
            assert abs(e) <= 1
            p = exact_c
            for enclosure in enclosures:
                for k in range(2):
                    if np.isfinite(enclosure.remainder[i, k]):
                        line = Fraction(float(enclosure.centre[i, k])) + Fraction(float(enclosure.slope_term[i, k])) * e
                        assert abs(value(p, Fraction(float(t)))[k] - line) <= enclosure.remainder[i, k]
                p = derivative(p)


def test_powers_that_underflow_are_held():
    # The square of such a time is no number of the machine, times 1e300 it is.
    position, velocity, _ = polynomial_enclosure([0.0, 0.0, 1e300], [1e-200, 2e-200])
    assert abs(4e-100 - position.centre) <= position.slope_term + position.remainder
    np.testing.assert_allclose(velocity.centre, 3e100)


def test_remainder_is_of_second_order():
    # Of a cubic on [0, 1] in 100 pieces: half of |p''| h^2 / 2, and |p'''| h^3 / 6.
    c = np.array([0.3, -1.0, 2.0, 1.5])
    edges = np.linspace(0.0, 1.0, 101)
    mid, half = time_intervals(edges)
    position, velocity, acceleration = polynomial_enclosure(c, edges)
    second, third = np.abs(4.0 + 9.0 * mid), 9.0
    np.testing.assert_allclose(position.remainder, 0.25 * second * half**2 + third / 6.0 * half**3, rtol=1e-8)
    np.testing.assert_allclose(velocity.remainder, 0.25 * third * half**2, rtol=1e-7)
    assert (acceleration.remainder <= 1e-13).all()
    np.testing.assert_allclose(velocity.slope_term, (4.0 + 9.0 * mid) * half)


@pytest.mark.parametrize("shape", [(), (7,), (2, 3)])
def test_shapes(shape):
    for enclosure in polynomial_enclosure(np.ones((6, *shape)), np.linspace(0.0, 3.0, 9)):
        for part in (enclosure.centre, enclosure.slope_term, enclosure.remainder):
            assert part.shape == (8, *shape)


def test_overflow_is_an_infinite_remainder():
    position, velocity, _ = polynomial_enclosure([0.0, 1e200, 1e200], [1e200, 2e200])
    assert position.remainder == np.inf and position.centre == 0.0
    assert velocity.remainder == np.inf


@pytest.mark.parametrize(
    ("coefficients", "edges", "message"),
    [
        (1.0, [0.0, 1.0], "a polynomial needs at least one coefficient"),
        (np.zeros((0, 7)), [0.0, 1.0], "a polynomial needs at least one coefficient"),
        ([np.nan], [0.0, 1.0], "polynomial coefficients must be finite"),
        ([1.0], [0.0, 0.0], "time edges must be a vector of at least two finite, increasing times"),
        ([1.0], [0.0, 2.0, 1.0], "time edges must be a vector of at least two finite, increasing times"),
        ([1.0], [0.0, np.inf], "time edges must be a vector of at least two finite, increasing times"),
        ([1.0], [0.0], "time edges must be a vector of at least two finite, increasing times"),
        ([1.0], [[0.0, 1.0]], "time edges must be a vector of at least two finite, increasing times"),
    ],
)
def test_bad_input_is_refused(coefficients, edges, message):
    with pytest.raises(InputError, match=message):
        polynomial_enclosure(coefficients, edges)
