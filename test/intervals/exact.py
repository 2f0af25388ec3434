# SPDX-License-Identifier: Apache-2.0
"""Exact reference arithmetic: rational numbers for sums and products, 60 digits for sines and cosines."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from sysid_nodes.intervals import Affine

SYMBOLS = 3

_to_fraction = np.vectorize(lambda x: Fraction(float(x)), otypes=[object])

# Each is either a trap of its own or has no short binary expansion: subnormals, underflow and overflow in products,
# and sums that cancel or absorb.
TRAPS = [0.0, 5e-324, 1e-308, 1e-300, 1e-160, 0.1, 1.0 / 3.0, 1.0, 1.0 + 2.0**-52, 1e16, 1e155, 1e300, 1.7e308]

seeds = st.integers(0, 2**32 - 1)
"""Numbers are drawn by NumPy from a seed of Hypothesis: many small arrays of its own are slow to draw."""

SAMPLES = settings(max_examples=30)


def exact(x):
    """Array of Fractions."""
    return _to_fraction(np.asarray(x, np.float64))


class Draw:
    """Random numbers and forms."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.traps = self.rng.uniform() < 0.5
        self.eps = self.unit((SYMBOLS,))

    def numbers(self, shape):
        """Numbers of size 1 to 10, or half of them traps."""
        x = self.rng.uniform(-10.0, 10.0, shape)
        if self.traps:
            traps = self.rng.choice(TRAPS, shape) * self.rng.choice([-1.0, 1.0], shape)
            x = np.where(self.rng.uniform(size=shape) < 0.5, x, traps)
        return x

    def unit(self, shape):
        """Numbers in [-1, 1], half of them corners."""
        x, corner = self.rng.uniform(-1.0, 1.0, shape), self.rng.choice([-1.0, 1.0], shape)
        return np.where(self.rng.uniform(size=shape) < 0.5, x, corner)

    def form(self, shape):
        return Affine(self.numbers(shape), self.numbers((SYMBOLS, *shape)), np.abs(self.numbers(shape)))

    def value(self, form):
        """One value of the set the form stands for, at the draw's symbols."""
        return linear_part(form, self.eps) + exact(form.remainder) * exact(self.unit(form.shape))


def symbol(centre, radius, index=0, *, symbols=1):
    """Forms `centre + radius eps_index`."""
    c, r = np.broadcast_arrays(np.asarray(centre, np.float64), np.asarray(radius, np.float64))
    terms = np.zeros((symbols, *c.shape))
    terms[index] = r
    return Affine(c, terms)


def ends(form):
    """Least and largest values that forms stand for, rounded outward."""
    radius = form.radius()
    known = np.isfinite(radius)
    centre = np.where(known, form.centre, 0.0)
    with np.errstate(over="ignore"):
        return np.nextafter(centre - radius, -np.inf), np.nextafter(centre + radius, np.inf)


def linear_part(form, eps):
    e = exact(eps).reshape(-1, *(1,) * form.ndim)
    return exact(form.centre) + (exact(form.terms) * e).sum(axis=0)


def assert_holds(form, value, eps):
    """The value lies within the remainder of the form at these symbols, and in its range; overflow gives the line."""
    assert form.shape == np.shape(value)
    assert form.terms.shape[1:] == form.remainder.shape == form.shape
    low, high = ends(form)
    finite = np.isfinite(form.remainder)
    linear = np.asarray(linear_part(form if finite.all() else form[finite], eps), object)
    lines = iter(linear.ravel())
    for k in np.ndindex(form.shape):
        if finite[k]:
            off = abs(np.asarray(value)[k] - next(lines))
            allowed = float(form.remainder[k])
            assert off <= allowed, f"entry {k} off by {float(off):g}, allowed {allowed:g}"
            assert low[k] <= np.asarray(value)[k] <= high[k]
        else:
            assert low[k] == -np.inf and high[k] == np.inf


def _wave(x: Fraction, first: int) -> Fraction:
    """Taylor series of the sine (first = 1) or cosine (first = 0) in 100 digits: 60 are right for |x| < 50."""
    with localcontext() as context:
        context.prec = 100
        y = Decimal(x.numerator) / Decimal(x.denominator)
        term, total, n = (y if first else Decimal(1)), Decimal(0), first
        while abs(term) > Decimal(10) ** -70:
            total += term
            term *= -y * y / ((n + 1) * (n + 2))
            n += 2
        return Fraction(total)


sine = np.vectorize(lambda x: _wave(x, 1), otypes=[object])
cosine = np.vectorize(lambda x: _wave(x, 0), otypes=[object])
