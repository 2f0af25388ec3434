# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sysid_nodes.kernel import IMPLEMENTATIONS
from sysid_nodes.kernel import dual_simplex as kernel
from sysid_nodes.kernel.dual_simplex import compiled_program
from sysid_nodes.solvers import dual_simplex as dual
from sysid_nodes.solvers import lazy_program as lazy
from sysid_nodes.solvers.certificate import proves_empty, upper_bound
from sysid_nodes.solvers.lazy_program import (
    CompiledProgram,
    Constraints,
    LazyProgram,
    ReferenceProgram,
    lazy_program,
)
from sysid_nodes.solvers.linear_program import LpSolution, LpStatus

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


def changing(
    rng: np.random.Generator, d: int, programs: list[LazyProgram]
) -> Iterator[tuple[Array, Array, Array, Array, list[LpSolution]]]:
    """Solves of each program while rows come and go, ends move and objectives change, each from its last vertex."""
    rows = np.zeros((0, d))
    for _ in range(6):
        new = np.round(rng.normal(size=(int(rng.integers(0, 30)), d)), int(rng.integers(0, 3)))
        rows = np.vstack([rows, new[np.abs(new).any(axis=1)]])
        if rng.random() < 0.4:
            keep = rng.random(len(rows)) < 0.7
            rows = rows[keep]
            for program in programs:
                program.remove(keep, rows)
        lower, upper = random_ends(rng, rows)
        within = Constraints.of(rows, lower[d:], upper[d:], lower[:d], upper[:d])
        c = np.eye(d)[int(rng.integers(d))] if rng.random() < 0.5 else rng.normal(size=d)
        aside = rng.random() < 0.3
        yield c, rows, lower, upper, [(x.copy() if aside else x).maximise(c, within, 1e-7) for x in programs]


@pytest.mark.usefixtures("implementation")
@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_optima_are_those_of_another_solver_whatever_changed_since_the_last(seed: int) -> None:
    """Rows come and go, ends move, objectives change, equal rows and coordinates as objectives make ties."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 15))
    for c, rows, lower, upper, (found,) in changing(rng, d, [lazy_program(d)]):
        assert found.status is LpStatus.OPTIMAL
        # Ends that touch leave a point: HiGHS is within 1e-7 of every side, here it is 1e-7 of a unit box.
        assert c @ found.x == pytest.approx(optimum(c, rows, lower, upper), abs=1e-5)
        bound = upper_bound(c, rows, lower[d:], upper[d:], lower[:d], upper[:d], found.multipliers)
        assert bound == pytest.approx(c @ found.x, abs=1e-5)


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
    within = Constraints.of(rows, lower[8:], upper[8:], lower[:8], upper[:8])
    found = lazy_program(8).maximise(np.eye(8)[0], within, 1e-7)
    assert found.status is LpStatus.INFEASIBLE
    assert proves_empty(rows, lower[8:], upper[8:], lower[:8], upper[:8], found.multipliers)


@pytest.mark.parametrize("make", [lazy_program, ReferenceProgram])
def test_rows_that_contradict_one_another_come_with_a_proof(make: Callable[[int], LazyProgram]) -> None:
    """Three rows together exceed what they may each; no row is refuted by the box alone."""
    rows = np.random.default_rng(1).normal(size=(30, 8))
    rows = np.vstack([rows, rows[:3].sum(axis=0)])
    lower, upper = np.full(31, -50.0), np.full(31, 50.0)
    upper[:3], lower[-1] = 1.0, 3.01
    box = np.full(8, 10.0)
    assert (lower < np.abs(rows) @ box).all()
    found = make(8).maximise(np.eye(8)[0], Constraints.of(rows, lower, upper, -box, box), 1e-7)
    assert found.status is LpStatus.INFEASIBLE
    assert np.count_nonzero(found.multipliers) > 1
    assert proves_empty(rows, lower, upper, -box, box, found.multipliers)


@pytest.mark.parametrize("make", [lazy_program, ReferenceProgram])
def test_dropping_rows_that_do_not_bind_keeps_the_maximum(make: Callable[[int], LazyProgram]) -> None:
    """And the program goes on from where it was: against one made anew, as the objective moves."""
    rng = np.random.default_rng(8)
    for _ in range(60):
        rows, lower, upper = rng.normal(size=(60, 8)), -rng.uniform(0.5, 2.0, 60), rng.uniform(0.5, 2.0, 60)
        objective, box, program = rng.normal(size=8), np.ones(8), make(8)
        for _ in range(4):
            within = Constraints.of(rows, lower, upper, -box, box)
            kept, anew = (one.maximise(objective, within, 1e-7) for one in (program, make(8)))
            bounds = [upper_bound(objective, rows, lower, upper, -box, box, one.multipliers) for one in (kept, anew)]
            assert bounds[0] == pytest.approx(bounds[1], abs=1e-6)
            keep = (kept.multipliers != 0.0) | (rng.random(len(rows)) < 0.7)
            rows, lower, upper = rows[keep], lower[keep], upper[keep]
            program.remove(keep, rows)
            objective = objective + 0.3 * rng.normal(size=8)


@pytest.mark.usefixtures("implementation")
def test_after_rows_are_dropped_those_that_entered_are_known_by_their_new_numbers() -> None:
    """The last vertex is the optimum without a pivot. By wrong numbers its rows would have the ends of others, and a
    program made anew would hide that: at the price of the time, or of a looser bound.
    """
    rng = np.random.default_rng(9)
    rows, lower, upper = rng.normal(size=(60, 8)), -rng.uniform(0.5, 2.0, 60), rng.uniform(0.5, 2.0, 60)
    objective, box, program = rng.normal(size=8), np.ones(8), lazy_program(8)
    first = program.maximise(objective, Constraints.of(rows, lower, upper, -box, box), 1e-7)
    binding = first.multipliers != 0.0
    keep = binding | (rng.random(60) < 0.6)
    numbers = np.flatnonzero(binding)
    assert len(numbers) > 3
    assert not keep[: numbers[0]].all()  # the first that binds has another number then
    program.remove(keep, rows[keep])
    before = tableau(program).copy()
    found = program.maximise(objective, Constraints.of(rows[keep], lower[keep], upper[keep], -box, box), 1e-7)
    np.testing.assert_array_equal(tableau(program), before)
    np.testing.assert_allclose(found.multipliers, first.multipliers[keep], atol=1e-9)


def tableau(program: LazyProgram) -> Array:
    """Of the rows that have entered; a view."""
    inside = program._program.table if isinstance(program, CompiledProgram) else program._simplex._table  # type: ignore[attr-defined]
    return np.asarray(inside)


def test_both_kernels_end_at_the_same_vertices() -> None:
    """Of programs without ties, from vertex to vertex, through rows that are dropped and sides that move."""
    compiled = compiled_program(12)
    if compiled is None:
        pytest.skip("the compiled kernel is not built")
    rng = np.random.default_rng(2)
    programs: list[LazyProgram] = [CompiledProgram(compiled), ReferenceProgram(12)]
    rows, box = rng.normal(size=(120, 12)), np.ones(12)
    for turn in range(12):
        within = Constraints.of(rows, -rng.uniform(0.5, 2.0, len(rows)), rng.uniform(0.5, 2.0, len(rows)), -box, box)
        c = rng.normal(size=12) if turn % 2 else np.eye(12)[turn]
        one, other = (program.maximise(c, within, 1e-7) for program in programs)
        assert one.status is other.status is LpStatus.OPTIMAL
        np.testing.assert_allclose(one.x, other.x, atol=1e-8)
        np.testing.assert_allclose(one.multipliers, other.multipliers, atol=1e-8)
        keep = rng.random(len(rows)) < 0.95
        rows = rows[keep]
        for program in programs:
            program.remove(keep, rows)


@pytest.mark.usefixtures("implementation")
def test_a_solve_cut_short_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a word of optimum or proof, of which the one would be a bound that nothing shows and the other a lie."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(20, 6))
    within = Constraints.of(rows, np.full(20, -2.0), np.full(20, 0.1), -np.ones(6), np.ones(6))
    for module in (lazy, dual):
        monkeypatch.setattr(module, "ITERATIONS", 0)
    found = lazy_program(6).maximise(np.ones(6), within, 1e-7)
    assert found.status is LpStatus.FAILED
    assert not found.multipliers.any()


@pytest.mark.usefixtures("implementation")
def test_a_worn_tableau_is_made_anew() -> None:
    """An optimum that breaks a row although it has entered is rounding's; 1e-3 stands in for ten thousand pivots."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(30, 6))
    lower, upper = random_ends(rng, rows)
    within = Constraints.of(rows, lower[6:], upper[6:], lower[:6], upper[:6])
    program = lazy_program(6)
    program.maximise(np.ones(6), within, 1e-6)
    for wear in (1e-3, np.nan):
        table = tableau(program)
        table += wear * rng.normal(size=table.shape)
        found = program.maximise(np.ones(6), within, 1e-6)
        assert np.ones(6) @ found.x == pytest.approx(optimum(np.ones(6), rows, lower, upper), abs=1e-6)
