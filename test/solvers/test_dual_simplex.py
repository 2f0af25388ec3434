# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sysid_nodes.kernel import IMPLEMENTATIONS
from sysid_nodes.kernel import dual_simplex as kernel
from sysid_nodes.solvers.certificate import proves_empty
from sysid_nodes.solvers.dual_simplex import DualSimplex
from sysid_nodes.solvers.lazy_program import Constraints, LazyProgram
from sysid_nodes.solvers.linear_program import LpStatus

Array = npt.NDArray[np.float64]


@pytest.fixture(params=IMPLEMENTATIONS)
def implementation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    name = str(request.param)
    if name == "compiled" and kernel._dual_simplex is None:
        pytest.skip("the compiled kernel is not built")
    monkeypatch.setenv("SYSID_KERNEL", name)
    return name


def random_ends(rng: np.random.Generator, rows: Array) -> tuple[Array, Array]:
    """Ends of unknowns and rows around a point, some of them tight."""
    x = rng.uniform(-0.5, 0.5, rows.shape[1])
    reach = np.concatenate([np.ones(rows.shape[1]), np.abs(rows).sum(axis=1)])
    slack = rng.choice([0.0, 0.05, 1.0], (2, reach.size)) * reach
    middle = np.concatenate([x, rows @ x])
    return middle - slack[0], middle + slack[1]


def optimum(c: Array, rows: Array, lower: Array, upper: Array) -> float:
    """By HiGHS."""
    d = c.size
    sides = np.vstack([rows, -rows]), np.concatenate([upper[d:], -lower[d:]])
    return -float(linprog(-c, *sides, bounds=np.column_stack([lower[:d], upper[:d]])).fun)


@pytest.mark.usefixtures("implementation")
@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_optima_are_those_of_another_solver_whatever_changed_since_the_last(seed: int) -> None:
    """Rows come and go, ends move, objectives change, equal rows and coordinates as objectives make ties."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 15))
    rows = np.zeros((0, d))
    program = DualSimplex(d)
    for _ in range(6):
        new = np.round(rng.normal(size=(int(rng.integers(0, 12)), d)), int(rng.integers(0, 3)))
        new = new[np.abs(new).any(axis=1)]
        rows = np.vstack([rows, new])
        program.enter(new)
        if rng.random() < 0.4:
            drop = np.flatnonzero(rng.random(len(rows)) < 0.3)
            rows = np.delete(rows, drop, axis=0)
            program.remove(drop)
        lower, upper = random_ends(rng, rows)
        c = np.eye(d)[int(rng.integers(d))] if rng.random() < 0.5 else rng.normal(size=d)
        found = program.copy().maximise(c, lower, upper) if rng.random() < 0.3 else program.maximise(c, lower, upper)
        assert found.status is LpStatus.OPTIMAL
        # Ends that touch leave a point: HiGHS is within 1e-7 of every side, here it is 1e-9.
        assert c @ found.x == pytest.approx(optimum(c, rows, lower, upper), abs=1e-5)


@pytest.mark.usefixtures("implementation")
def test_no_solution_comes_with_a_proof() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(30, 8))
    lower, upper = random_ends(rng, rows)
    rows, lower, upper = (
        np.vstack([rows, rows[:3].sum(axis=0)]),
        np.append(lower, upper[8:11].sum()),
        np.append(upper, 1e3),
    )
    lower[-1] += 0.01
    program = DualSimplex(8)
    program.enter(rows)
    found = program.maximise(np.eye(8)[0], lower, upper)
    assert found.status is LpStatus.INFEASIBLE
    assert proves_empty(rows, lower[8:], upper[8:], lower[:8], upper[:8], found.multipliers)


def test_both_kernels_take_the_same_pivots() -> None:
    if kernel._dual_simplex is None:
        pytest.skip("the compiled kernel is not built")
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(40, 12))
    lower, upper = random_ends(rng, rows)
    cost = rng.normal(size=12)
    ends = []
    for name in IMPLEMENTATIONS:
        place = np.where(cost > 0.0, upper[:12], lower[:12])
        state = [rows.copy(), 12 + np.arange(40), np.arange(12), cost > 0.0, cost.copy(), rows @ place, place]
        ends.append((kernel.pivots(*state, lower, upper, 500, kernel=name), *state))
    assert ends[0][0] == ends[1][0] == kernel.OPTIMAL
    for compiled, reference in zip(*ends, strict=True):
        np.testing.assert_allclose(compiled, reference, atol=1e-9)


@pytest.mark.usefixtures("implementation")
def test_a_solve_cut_short_says_so() -> None:
    rows = np.random.default_rng(3).normal(size=(20, 6))
    value = rows @ np.ones(6)
    end = kernel.pivots(
        rows, 6 + np.arange(20), np.arange(6), np.ones(6, dtype=bool), np.ones(6), value, np.ones(6),
        -np.ones(26), np.append(np.ones(6), np.full(20, 1.5)), 1,
    )  # fmt: skip
    assert end == kernel.ENDLESS


def test_a_worn_tableau_is_made_anew() -> None:
    """An optimum that breaks a row although it has entered is rounding's; 1e-3 stands in for ten thousand pivots."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(30, 6))
    lower, upper = random_ends(rng, rows)
    within = Constraints.of(rows, lower[6:], upper[6:], lower[:6], upper[:6])
    program = LazyProgram(6)
    program.maximise(np.ones(6), within, 1e-6)
    for wear in (1e-3, np.nan):
        program._simplex._table += wear * rng.normal(size=program._simplex._table.shape)
        found = program.maximise(np.ones(6), within, 1e-6)
        assert np.ones(6) @ found.x == pytest.approx(optimum(np.ones(6), rows, lower, upper), abs=1e-6)
