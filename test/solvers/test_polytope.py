# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sysid_nodes.solvers.polytope import Polytope

Array = npt.NDArray[np.float64]


def rows_around(rng: np.random.Generator, x: Array, m: int) -> tuple[Array, Array, Array]:
    """Rows of mixed scale that x satisfies, some of them with equality."""
    rows = rng.normal(size=(m, x.size)) * 10.0 ** rng.uniform(-2, 2, (m, 1))
    slack = np.abs(rng.normal(size=(2, m))) * np.abs(rows).sum(axis=1) * rng.choice([0.0, 0.05, 1.0], (2, m))
    value, rounding = rows @ x, 1e-13 * np.abs(rows).sum(axis=1)
    return rows, value - slack[0] - rounding, value + slack[1] + rounding


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_a_point_that_satisfies_every_row_stays_inside(seed: int) -> None:
    """Rows come, go and tighten in any order, solves are cut short; the point stays and the bounds never widen."""
    rng = np.random.default_rng(seed)
    d, k = int(rng.integers(2, 9)), 2
    x = rng.uniform(-1.0, 1.0, d) * rng.choice([1.0, 0.999999], d)
    poly = Polytope(-np.ones(d), np.ones(d), k)
    for _ in range(8):
        before = poly.lower.copy(), poly.upper.copy()
        kept = poly.add(*rows_around(rng, x, int(rng.integers(0, 12))))
        assert poly.rows.shape[0] >= kept.sum()
        found = poly.tighten(None if rng.random() < 0.5 else int(rng.integers(1, 5)))
        assert found.empty is None
        assert (poly.lower <= x).all() and (x <= poly.upper).all()
        assert (poly.lower >= before[0]).all() and (poly.upper <= before[1]).all()
        if poly.rows.shape[0] and rng.random() < 0.5:
            drop = np.flatnonzero(rng.random(poly.rows.shape[0]) < 0.4)
            poly.remove(drop)
            assert poly.usefulness().shape == poly.row_lower.shape == poly.multipliers[0].shape


def test_bounds_are_those_of_another_solver() -> None:
    rng = np.random.default_rng(3)
    d = 12
    x = rng.uniform(-0.5, 0.5, d)
    rows, low, high = rows_around(rng, x, 60)
    poly = Polytope(-np.ones(d), np.ones(d), 4)
    poly.add(rows, low, high)
    poly.tighten()
    a, b = np.vstack([rows, -rows]), np.concatenate([high, -low])
    scale = np.abs(a).max(axis=1)
    for k in range(4):
        for sign, end in ((1.0, poly.lower[k]), (-1.0, -poly.upper[k])):
            c = np.zeros(d)
            c[k] = sign
            # Both solvers stop within 1e-7 of feasibility; a vertex moves by more where rows are nearly parallel.
            assert end == pytest.approx(linprog(c, a / scale[:, None], b / scale, bounds=(-1.0, 1.0)).fun, abs=1e-5)


def test_a_second_round_solves_nothing_where_the_optima_still_hold() -> None:
    rng = np.random.default_rng(4)
    poly = Polytope(-np.ones(5), np.ones(5), 5)
    poly.add(*rows_around(rng, np.zeros(5), 20))
    poly.tighten()
    poly.tighten()
    assert poly.tighten().solved == ()


def test_rows_that_hold_everywhere_are_left_out() -> None:
    poly = Polytope(-np.ones(2), np.ones(2), 1)
    kept = poly.add(np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([-2.0, -2.0]), np.array([2.0, 0.5]))
    assert kept.tolist() == [False, True]


def test_emptiness_comes_with_a_proof() -> None:
    poly = Polytope(-np.ones(3), np.ones(3), 3)
    poly.add(np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]), np.array([-np.inf, 0.2]), np.array([0.1, np.inf]))
    found = poly.tighten()
    assert found.empty is not None
    assert found.empty.shape == (2,) and np.abs(found.empty).min() > 0.0


def test_a_set_thinner_than_the_solvers_tolerance_is_not_called_empty() -> None:
    poly = Polytope(-np.ones(2), np.ones(2), 2)
    row = np.array([[0.3, 0.7], [0.3, 0.7]])
    poly.add(row, np.array([-np.inf, 0.1]), np.array([0.1, np.inf]))
    poly.tighten()
    found = poly.tighten()
    assert found.empty is None
