# SPDX-License-Identifier: Apache-2.0
"""Accepted steps one after the other, and the one that was the last."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sysid_nodes.results.least_squares import SolveStatus
from sysid_nodes.solvers.trajectory_least_squares.convergence import ConvergenceTest
from sysid_nodes.solvers.trajectory_least_squares.damped_step import Trial

COST, TOLERANCE = 100.0, 1e-3
ENOUGH = COST * TOLERANCE
SMALL, HALF, LARGE = 1e-3, 0.5, 2.0
"""Dampings: below which one step tells, up to which steps in a row do, and beyond both."""


def trial(decrease: float, *, promised: float | None = None, length: float = 1.0, share: float = 1.0) -> Trial[None]:
    predicted = decrease if promised is None else promised
    return Trial(None, COST - decrease, decrease, predicted, length, share)


LITTLE, VAIN, MUCH = trial(0.5 * ENOUGH), trial(0.5 * ENOUGH, promised=COST), trial(2.0 * ENOUGH)
"""Steps that gained and promised little, that promised more than they gained, and that gained enough."""
PART = trial(0.1 * ENOUGH, share=0.5)
"""Of a part of a step, which gains little for that alone."""


@pytest.mark.parametrize(
    ("steps", "damping", "status"),
    [
        ([MUCH] * 20, SMALL, None),
        ([LITTLE], SMALL, SolveStatus.CONVERGED_COST),
        ([trial(MUCH.decrease, length=1e-9)], SMALL, SolveStatus.CONVERGED_STEP),
        ([trial(MUCH.decrease, length=1e-9)] * 20, HALF, None),  # short because it is damped
        ([trial(1e-13 * COST)], SMALL, SolveStatus.CONVERGED_COST),  # and not for rounding, which would hide it, too
        ([VAIN], SMALL, None),
        ([LITTLE], HALF, None),
        ([VAIN, VAIN], HALF, SolveStatus.CONVERGED_COST),
        ([VAIN, MUCH, VAIN], HALF, None),
        ([LITTLE, MUCH] * 3, LARGE, None),
        ([trial(0.1 * ENOUGH)] * 5, LARGE, None),
        ([trial(0.1 * ENOUGH)] * 6, LARGE, SolveStatus.CONVERGED_COST),
        ([PART] * 5, SMALL, None),
        ([PART] * 6, SMALL, SolveStatus.CONVERGED_COST),
    ],
)
def test_a_descent_ends_with_the_step_that_tells(
    steps: list[Trial[None]], damping: float, status: SolveStatus | None
) -> None:
    convergence = ConvergenceTest(TOLERANCE, 1e-6)
    *before, last = [convergence.judge(step, damping, COST) for step in steps]
    assert set(before) <= {None}
    assert last is status


def test_what_rounding_hides_ends_it_where_no_tolerance_does() -> None:
    hidden = trial(1e-13 * COST)
    assert ConvergenceTest(0.0, 0.0).judge(hidden, SMALL, COST) is SolveStatus.CONVERGED_ROUNDING
    assert ConvergenceTest(0.0, 0.0).judge(hidden, HALF, COST) is None
    assert ConvergenceTest(0.0, 0.0).judge(trial(1e-9 * COST), SMALL, COST) is None


@pytest.mark.parametrize(("promise", "damping", "idle"), [(0.5, SMALL, True), (0.6, SMALL, False), (0.5, HALF, False)])
def test_a_step_that_promises_little_is_the_last(promise: float, damping: float, idle: bool) -> None:
    """If it is not the damping that has it promise so little; none where nothing is said of it."""
    assert ConvergenceTest(0.0, 0.0, 0.5).is_idle(promise, damping) == idle
    assert not ConvergenceTest(0.0, 0.0).is_idle(promise, damping)


@pytest.mark.parametrize(("promised", "ends"), [(1.04, True), (0.96, True), (1.06, False), (0.94, False)])
def test_a_step_that_keeps_its_promise_leaves_little(promised: float, ends: bool) -> None:
    """By 0.05 of the cost here, as whole steps at little damping do: their successors promise as much, about."""
    step = trial(1.0, promised=promised)
    test = (TOLERANCE, 1e-6, 0.0, 0.05)
    assert ConvergenceTest(*test).judge(step, SMALL, COST) is (SolveStatus.CONVERGED_COST if ends else None)
    assert ConvergenceTest(*test).judge(step, HALF, COST) is None
    assert ConvergenceTest(*test).judge(replace(step, share=0.5), SMALL, COST) is None
    assert ConvergenceTest(TOLERANCE, 1e-6).judge(trial(1.0), SMALL, COST) is None
