# SPDX-License-Identifier: Apache-2.0
"""Roundings are allowed for in full: bounds are no less than exact sizes times as many roundings as there can be.

Random numbers hardly ever round the same way all along, so that an allowance that is short passes every test of
containment; here it is compared with the lemma in `rounding` itself, in rational numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from intervals.exact import exact

from sysid_nodes.intervals import Affine, cross, trigonometry
from sysid_nodes.intervals.products import MATMUL, bilinear
from sysid_nodes.intervals.taylor import _enclose, _taylor

U = Fraction(1, 2**53)
MOST = Fraction(1, 2**40)
"""An allowance beyond this share is none for rounding."""


class Sizes:
    """Exact |centre|, |terms| in all, remainder and both of the first of one entry."""

    def __init__(self, x: Affine) -> None:
        self.centre = abs(exact(x.centre))
        self.spread = abs(exact(x.terms)).sum(axis=0)
        self.rest = exact(x.remainder)
        self.scale = self.centre + self.spread


def times(x: Sizes, y: Sizes, symbols: int) -> tuple[Any, Any, int]:
    """What is left of a product, the sizes of what is rounded, and for how many roundings bounds have to make up."""
    left = (x.scale + x.rest) * y.rest + x.rest * y.scale + x.spread * y.spread
    return left, x.centre * y.centre + x.spread * y.centre + x.centre * y.spread, 2 * symbols + 4


def square(x: Sizes, symbols: int) -> tuple[Any, Any, int]:
    half = (x.spread + x.rest) ** 2 / 2
    return 2 * x.centre * x.rest + half, x.scale**2 + half, 2 * symbols + 3


OPERATIONS: dict[
    str, tuple[Callable[[Affine, Affine], Affine], Callable[[Sizes, Sizes, int], tuple[Any, Any, int]]]
] = {
    "sum": (lambda x, y: x + y, lambda x, y, _: (x.rest + y.rest, (x.scale + y.scale) / 2, 3)),
    "difference": (lambda x, y: x - y, lambda x, y, _: (x.rest + y.rest, (x.scale + y.scale) / 2, 3)),
    "product": (lambda x, y: x * y, times),
    "square": (lambda x, _: x.sqr(), lambda x, _, symbols: square(x, symbols)),
    "multiple": (lambda x, _: x * 0.3, lambda x, *_: (x.rest * exact(0.3), x.scale * exact(0.3) / 2, 3)),
    "quotient": (lambda x, _: x / 0.3, lambda x, *_: (x.rest / exact(0.3), x.scale / exact(0.3) / 2, 3)),
    "shift": (lambda x, _: x + 0.3, lambda x, *_: (x.rest, abs(exact(x.moved)) / 2, 3)),
    "total": (lambda x, _: x.sum(axis=0), lambda x, *_: (x.rest.sum(axis=0), 2 * x.scale.sum(axis=0), len(x.rest))),
}
"""Operation; exact sizes of what is left over and of what is rounded by 2 U, and the roundings of the bound itself."""


@pytest.mark.parametrize("kind", ["all", "no remainder", "numbers"])
@pytest.mark.parametrize("symbols", [1, 30])
@pytest.mark.parametrize("name", OPERATIONS)
def test_what_is_left_over_holds_all_roundings(name: str, symbols: int, kind: str) -> None:
    rng, shape = np.random.default_rng(symbols), (5,)
    parts = [
        Affine(
            rng.uniform(1.0, 2.0, shape),
            rng.uniform(0.1, 1.0, (symbols, *shape)) * (kind != "numbers"),
            rng.uniform(0.5, 1.0, shape) * (kind == "all"),
        )
        for _ in range(2)
    ]
    operation, reference = OPERATIONS[name]
    sizes = [Sizes(x) for x in parts]
    sizes[0].moved = parts[0].centre + 0.3  # type: ignore[attr-defined]
    found = operation(*parts)
    left, rounded, count = reference(sizes[0], sizes[1], symbols)
    least = (left + 2 * U * rounded) * (1 + count * U)
    assert (exact(found.remainder) >= least).all()
    assert (exact(found.remainder) <= (left + 40 * U * rounded) * (1 + MOST)).all()
    assert (exact(found.scale) >= Sizes(found).scale).all()
    own = Sizes(found)
    assert (exact(found.radius()) >= (own.spread + own.rest) * (1 + symbols * U)).all()
    assert (exact(found.radius()) <= (own.spread + own.rest) * (1 + MOST) + MOST).all()
    fresh = Affine(found.centre, found.terms)
    assert (exact(fresh.scale) >= own.scale * (1 + symbols * U)).all()
    assert (exact(fresh.scale) <= own.scale * (1 + MOST)).all()


def test_what_is_left_over_of_vectors_and_matrices() -> None:
    """A cross product has two products an entry, a matrix as many as it is wide."""
    rng, wide = np.random.default_rng(1), 6
    x, y = (Affine.constant(rng.uniform(1.0, 2.0, 3), symbols=1) for _ in range(2))
    a, b = exact(x.centre), exact(y.centre)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        assert exact(cross(x, y).remainder)[i] >= 3 * U * (a[j] * b[k] + a[k] * b[j])
    one, two = (Affine.constant(rng.uniform(1.0, 2.0, (wide, wide)), symbols=1) for _ in range(2))
    assert (
        exact(bilinear(MATMUL, one, two).remainder) >= (wide + 1) * U * (exact(one.centre) @ exact(two.centre))
    ).all()


def test_waves_carry_the_error_of_their_line() -> None:
    x = Affine(np.array([0.3, 1.2]), np.array([[0.2, 0.1]]), np.array([0.5, 0.0]))
    line = trigonometry.linear_waves(x.centre, x.radius())[0]
    found, own = x.sin_cos()[0], abs(exact(line.slope)) * exact(x.remainder)
    assert (exact(found.remainder) >= (own + exact(line.error)) * (1 + 2 * U)).all()
    assert (exact(found.remainder) <= (own + exact(line.error)) * (1 + MOST)).all()
    assert (exact(found.scale) >= abs(exact(line.value)) + abs(exact(line.slope)) * abs(exact(x.terms))[0]).all()


@pytest.mark.parametrize("count", [1, 2, 5, 40])
def test_the_size_of_a_sum_is_no_less_than_the_sum_of_sizes(count: int) -> None:
    x = Affine.constant(np.random.default_rng(count).uniform(1.0, 2.0, (count, 50)), symbols=1)
    found, sizes = x.sum(axis=0), exact(x.scale).sum(axis=0)
    assert (exact(found.scale) >= sizes * (1 + (count - 1) * U)).all()
    assert (exact(found.scale) <= sizes * (1 + MOST)).all()


def test_a_level_line_holds_both_ends_of_its_range() -> None:
    """Middle and half width are rounded, and both ends stay within."""
    rng = np.random.default_rng(4)
    ends = np.sort(rng.uniform(-1.0, 1.0, (2, 2000)), axis=0)
    steep = trigonometry.Line(np.zeros(2000), np.ones(2000), np.full(2000, 100.0))
    found = trigonometry._pick_narrower(steep, (ends[0], ends[1]), np.ones(2000))
    middle, half = exact(found.value), exact(found.error)
    assert (middle - half <= exact(ends[0])).all() and (middle + half >= exact(ends[1])).all()
    assert (half <= (exact(ends[1]) - exact(ends[0])) / 2 + MOST).all()


@pytest.mark.parametrize("count", [1, 2, 3, 41])
def test_polynomials_make_up_for_the_roundings_of_all_their_powers(count: int) -> None:
    """Of `count` coefficients, all above 0, about the middle of an interval; each bound makes up for its own, too."""
    c, mid, half = np.random.default_rng(count).uniform(1.0, 2.0, (count, 1)), np.array([1.25]), np.array([0.3])
    found, errors = _taylor(c, mid)
    powers = [Fraction(1)]
    for _ in range(count):
        powers.append(powers[-1] * exact(mid)[0])
    for j in range(count):
        size = sum(comb(k, j) * powers[k - j] * exact(c)[k, 0] for k in range(j, count))
        least = (2 * count + 4) * 2 * U * size
        assert least * (1 + count * U) <= exact(errors)[j, 0, 0] <= least * (1 + MOST)
    part = _enclose(found, errors, half, 0)
    h, t, e = exact(half)[0], abs(exact(found[:, 0, 0])), exact(errors[:, 0, 0])
    sizes = [t[j] * h**j for j in range(count)]
    rest = sum(sizes[2::2], Fraction(0)) / 2 + sum(sizes[3::2], Fraction(0))
    rest += (2 * count + 6) * 2 * U * sum(sizes, Fraction(0)) + sum(e[j] * h**j for j in range(count))
    assert rest * (1 + 4 * count * U) <= exact(part.remainder)[0, 0] <= rest * (1 + MOST)
