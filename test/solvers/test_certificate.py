# SPDX-License-Identifier: Apache-2.0
"""Bounds are compared with the dual objective in rational arithmetic, where nothing rounds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_nodes.solvers import certificate
from sysid_nodes.solvers.certificate import _gamma, proves_empty, upper_bound, width_costs
from sysid_nodes.solvers.linear_program import LinearProgram

Array = npt.NDArray[np.float64]
Problem = tuple[Array, Array, Array, Array, Array, Array, Array]

WILD = (0.0, 1.0, -1.0, 1e-300, -1e300, 5e-324, 1e150, np.nan, np.inf, -np.inf)


@st.composite
def problems(draw: st.DrawFn, *, spread: float = 12.0, holds: bool = True) -> tuple[Problem, Array]:
    """(c, rows, row_lower, row_upper, lower, upper, multipliers) of wild scale and a point x that is feasible."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, d = draw(st.integers(0, 6)), draw(st.integers(1, 5))

    def wild(*shape: int) -> Array:
        return rng.normal(size=shape) * 10.0 ** rng.uniform(-spread, spread, shape)

    lower, upper = np.sort(np.stack([wild(d), wild(d)]), axis=0)
    x = np.clip(lower + rng.choice([0.0, 1.0, rng.random()], d) * (upper - lower), lower, upper)
    rows = wild(m, d) * rng.choice([0.0, 1.0], (m, d), p=[0.2, 0.8])
    sides = []
    for row in rows:
        exact = sum((Fraction(a) * Fraction(b) for a, b in zip(row, x, strict=True)), Fraction(0))
        gap = [0.0, 0.0] if holds and rng.random() < 0.5 else list(np.abs(wild(2)))
        low, high = float(exact) - gap[0], float(exact) + gap[1]
        # a float of the exact value may lie on the wrong side of it
        low = low if Fraction(low) <= exact else float(np.nextafter(low, -np.inf))
        high = high if Fraction(high) >= exact else float(np.nextafter(high, np.inf))
        sides.append((low if rng.random() < 0.8 else -np.inf, high if rng.random() < 0.8 else np.inf))
    row_lower, row_upper = np.array(sides).reshape(-1, 2).T
    y = wild(m)
    for k in range(m):
        if draw(st.booleans()) and draw(st.booleans()):
            y[k] = draw(st.sampled_from(WILD))
    c = wild(d)
    if rng.random() < 0.5 and np.isfinite(y).all():
        with np.errstate(over="ignore", invalid="ignore"):
            matched = y @ rows  # c - rows' y is then nothing but rounding, as at an optimum
        c = matched if np.isfinite(matched).all() else c
    return (c, rows, row_lower, row_upper, lower, upper, y), x


def exact_dual(problem: Problem) -> Fraction:
    """The weak-duality bound with the multipliers that a bound may use, without rounding."""
    c, rows, row_lower, row_upper, lower, upper, y = problem
    total = Fraction(0)
    d = [Fraction(v) for v in c]
    for k, multiplier in enumerate(y):
        side = row_upper[k] if multiplier > 0.0 else row_lower[k]
        if multiplier == 0.0 or not np.isfinite(multiplier) or not np.isfinite(side):
            continue
        total += Fraction(multiplier) * Fraction(side)
        d = [v - Fraction(multiplier) * Fraction(a) for v, a in zip(d, rows[k], strict=True)]
    for v, low, high in zip(d, lower, upper, strict=True):
        total += max(v * Fraction(low), v * Fraction(high))
    return total


@settings(max_examples=100)
@given(problems())
def test_bound_is_not_below_the_exact_dual_objective(case: tuple[Problem, Array]) -> None:
    problem, _ = case
    bound = upper_bound(*problem)
    assert bound > -np.inf
    assert bound == np.inf or Fraction(bound) >= exact_dual(problem)


@settings(max_examples=100)
@given(problems())
def test_no_feasible_point_exceeds_the_bound(case: tuple[Problem, Array]) -> None:
    problem, x = case
    value = sum((Fraction(a) * Fraction(b) for a, b in zip(problem[0], x, strict=True)), Fraction(0))
    bound = upper_bound(*problem)
    assert bound == np.inf or Fraction(bound) >= value


@settings(max_examples=100)
@given(problems())
def test_a_set_with_a_point_is_never_proven_empty(case: tuple[Problem, Array]) -> None:
    _, *sides, y = case[0]
    # of all directions the ones that come nearest to a proof: towards the exact point, and its opposite
    sign = np.sign(np.nan_to_num(y))
    for multipliers in (y, -y, sign, 1e300 * sign):
        assert not proves_empty(*sides, multipliers)


@settings(max_examples=60)
@given(problems(spread=1.0))
def test_bound_from_a_solver_is_tight(case: tuple[Problem, Array]) -> None:
    """With multipliers of an optimum the bound lies within rounding of the primal value."""
    (c, rows, row_lower, row_upper, lower, upper, _), _ = case
    program = LinearProgram(lower, upper)
    if len(rows):
        program.add_rows(rows, row_lower, row_upper)
    solution = program.maximise(c)
    if solution.status.value != "optimal":
        return  # HiGHS scales are not ours to judge here
    bound = upper_bound(c, rows, row_lower, row_upper, lower, upper, solution.multipliers)
    size = np.abs(c) @ np.maximum(np.abs(lower), np.abs(upper)) + np.abs(solution.multipliers) @ (
        np.abs(rows) @ np.maximum(np.abs(lower), np.abs(upper))
    )
    # 1e-6: HiGHS stops at dual infeasibilities of 1e-7
    assert c @ solution.x - 1e-6 * (size + 1.0) <= bound <= c @ solution.x + 1e-6 * (size + 1.0)


def test_farkas_ray_proves_two_clashing_rows_empty() -> None:
    rows = np.array([[1.0, 1.0], [1.0, 1.0]])
    low, high = np.array([-np.inf, 0.5 + 1e-9]), np.array([0.5, np.inf])
    box = np.array([-1.0, -1.0]), np.array([1.0, 1.0])
    assert proves_empty(rows, low, high, *box, np.array([1.0, -1.0]))
    assert not proves_empty(rows, low, high - 0.0 + 2e-9, *box, np.array([1.0, -1.0]))
    assert not proves_empty(rows, low, high, *box, np.array([-1.0, 1.0]))  # the wrong sign uses no side at all


@pytest.mark.parametrize(("bound", "empty"), [(-1e-300, True), (0.0, False)])
def test_a_bound_of_zero_proves_nothing(bound: float, empty: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """0'x is 0 for every x: it would have to be less."""
    monkeypatch.setattr(certificate, "upper_bound", lambda *_: bound)
    one = np.ones(1)
    assert certificate.proves_empty(np.ones((1, 1)), -one, one, -one, one, one) is empty


@pytest.mark.parametrize("multiplier", [np.nan, np.inf, -np.inf, 1e308, -1e308])
def test_garbage_multipliers_give_a_weak_bound_or_none(multiplier: float) -> None:
    rows = np.full((1, 2), 1e200)
    box = -np.ones(2), np.ones(2)
    bound = upper_bound(np.array([1.0, 2.0]), rows, np.array([-1.0]), np.array([1.0]), *box, np.array([multiplier]))
    assert bound >= 1e-200


def test_costs_add_up_to_the_bound_of_a_symmetric_set() -> None:
    """A symmetric set's bound is the sum of what its rows and its box allow."""
    rng = np.random.default_rng(0)
    rows, radius, c = rng.normal(size=(3, 4)), rng.random((3, 2)), rng.normal(size=4)
    y, box = rng.normal(size=3), rng.random(4)
    total = radius.sum(axis=1)
    of_rows, of_box = width_costs(radius, box, c, rows, y)
    assert of_rows.sum() + of_box.sum() == pytest.approx(upper_bound(c, rows, -total, total, -box, box, y))


@pytest.mark.parametrize("terms", [1, 1000, 2**50])
def test_the_rounding_of_a_sum_is_counted_twice(terms: int) -> None:
    twice = Fraction(2 * terms, 2**53)  # Higham, *Accuracy and Stability of Numerical Algorithms*, 2002, section 3.1
    assert _gamma(terms) == pytest.approx(float(twice / (1 - twice)), rel=1e-14)
