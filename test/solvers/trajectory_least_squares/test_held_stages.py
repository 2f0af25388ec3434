# SPDX-License-Identifier: Apache-2.0
"""Stages that are held where the linear model fails there alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from sysid_nodes.results.least_squares import Iteration
from sysid_nodes.solvers.trajectory_least_squares import Blocks, Layout, LevenbergMarquardtConfig, assemble, solve
from sysid_nodes.solvers.trajectory_least_squares.factor import factorise
from sysid_nodes.solvers.trajectory_least_squares.held_stages import HeldStages

Array = np.ndarray
STAGES, KINK = 200, 90
POINT = tuple[Array, Array]


class Bent:
    """Stages x that follow one another by one, and local w near each; near its best one stage's w counts for much."""

    layout = Layout(STAGES, 1, 0, 1)

    def _bend(self, w: Array) -> tuple[Array, Array]:
        value, slope = w.copy(), np.ones_like(w)
        turned = np.tanh(20.0 * (w[KINK] - KINK))
        value[KINK], slope[KINK] = w[KINK] + 5.0 * turned, 1.0 + 100.0 * (1.0 - turned**2)
        return value, slope

    def residuals(self, point: POINT) -> Sequence[Array]:
        x, w = point
        return [np.diff(x)[:, None] - 1.0, np.column_stack([x - self._bend(w)[0], 0.01 * (w - x)]), x[:1, None]]

    def linearise(self, point: POINT) -> Sequence[Blocks]:
        chain, own, first = self.residuals(point)
        at, slope = np.arange(STAGES), self._bend(point[1])[1]
        by_stage = np.tile([[1.0], [-0.01]], (STAGES, 1, 1))
        by_local = np.stack([-slope, np.full(STAGES, 0.01)], axis=1)[:, :, None]
        return [
            Blocks(at[:-1], chain, np.tile([[-1.0, 1.0]], (STAGES - 1, 1, 1))),
            Blocks(at, own, by_stage, local_jacobian=by_local, local=at),
            Blocks(at[:1], first, np.ones((1, 1, 1))),
        ]

    def retract(self, point: POINT, stage: Array, _parameter: Array, local: Array) -> POINT:
        return point[0] + stage[:, 0], point[1] + local[:, 0]


class BentInPieces(Bent):
    """The same in one piece, for which stages are held."""

    def pieces(self, point: POINT) -> Iterator[Sequence[Blocks]]:
        yield self.linearise(point)

    def shapes(self) -> Sequence[Blocks]:
        return self.linearise(self.start())

    def start(self) -> POINT:
        x = np.arange(STAGES) + 0.3 * np.random.default_rng(0).normal(size=STAGES)
        w = x.copy()
        w[KINK] = KINK - 1.0
        return x, w


def others(point: POINT) -> float:
    """Sum of squares of what is not about the stage that is bent."""
    chain, own, first = Bent().residuals(point)
    far = np.abs(np.arange(STAGES) - KINK) > 1
    return float(np.sum(chain[far[:-1]] ** 2) + np.sum(own[far] ** 2) + np.sum(first**2))


def test_few_stages_to_blame_hold_up_no_others() -> None:
    """One stage's step overshoots; the others' problem is linear and done with the first step that is taken."""
    start = BentInPieces().start()
    for problem, done in ((BentInPieces(), True), (Bent(), False)):
        steps: list[Iteration] = []
        solve(problem, start, LevenbergMarquardtConfig(initial_damping=1e-6, holds_stages=True), progress=steps.append)
        first = next(step.number for step in steps if step.accepted)
        once = solve(problem, start, LevenbergMarquardtConfig(first, initial_damping=1e-6, holds_stages=True))
        assert (others(once.point) < 1e-2 * others(start)) == done  # but for what the bent one pulls at


@pytest.mark.parametrize("jumps", [[KINK], [5, KINK, 150]])
def test_those_that_explain_what_is_missing_are_held(jumps: list[int]) -> None:
    """And their neighbours, so much more with every time, until steps that are taken have it forgotten."""
    problem = BentInPieces()
    before = problem.residuals(problem.start())
    after = [rows.copy() for rows in before]
    after[1][jumps] += 30.0
    rise = 0.5 * float(np.sum(after[1] ** 2) - np.sum(before[1] ** 2))
    held = HeldStages(problem.shapes(), STAGES)
    equations = assemble(problem.linearise(problem.start()), problem.layout)
    assert held.hold(equations, 1e-6) is equations
    assert held.blame(before, after, 100.0, 50.0 - rise)
    factors = held.hold(equations, 1e-6).held
    assert factors is not None
    around = np.unique(np.add.outer(jumps, [-1, 0, 1]))
    np.testing.assert_array_equal(np.flatnonzero(factors > 1.0), around)
    most = held.most
    assert held.blame(before, after, 100.0, 50.0 - rise)
    assert held.most > 10.0 * most
    for _ in range(6):
        held.forget()
    assert held.hold(equations, 1e-6) is equations


def test_none_are_held_for_what_all_do() -> None:
    """Where every stage misses a little, or a residual has no number, the damping of all is the remedy."""
    problem = BentInPieces()
    before = problem.residuals(problem.start())
    everywhere, nowhere = ([rows + change for rows in before] for change in (1.0, np.nan))
    held = HeldStages(problem.shapes(), STAGES)
    assert not held.blame(before, everywhere, 100.0, -100.0)
    assert not held.blame(before, nowhere, 100.0, -np.inf)
    assert held.most == 0.0


@pytest.mark.parametrize("damping", [1e-3, 1.0])
def test_held_stages_have_more_on_their_diagonal(damping: float) -> None:
    """The factor's product is H plus the damping times the diagonal times the factors, local variables' likewise."""
    problem = BentInPieces()
    point = problem.start()
    held = HeldStages(problem.shapes(), STAGES)
    after = [rows.copy() for rows in problem.residuals(point)]
    after[1][KINK] += 30.0
    for _ in range(4):
        held.blame(problem.residuals(point), after, 100.0, -100.0)
    equations = held.hold(assemble(problem.linearise(point), problem.layout), damping)
    factor = factorise(equations, damping)
    assert factor is not None
    rows = []
    for blocks in problem.linearise(point):
        for b, first in enumerate(blocks.first):
            for r in range(blocks.residual.shape[1]):
                row = np.zeros(2 * STAGES)
                row[first : first + blocks.jacobian.shape[2]] = blocks.jacobian[b, r]
                if blocks.local is not None and blocks.local_jacobian is not None:
                    row[STAGES + blocks.local[b]] = blocks.local_jacobian[b, r, 0]
                rows.append(np.append(row, blocks.residual[b, r]))
    jacobian = np.array(rows)
    hessian = jacobian[:, :-1].T @ jacobian[:, :-1]
    factors = np.ones(STAGES) if equations.held is None else equations.held
    hessian += np.diag(damping * np.diag(hessian) * np.tile(factors, 2))
    wanted = -np.linalg.solve(hessian, jacobian[:, :-1].T @ jacobian[:, -1])
    step = factor.step()
    found = np.concatenate([step.stage[:, 0], step.local[:, 0]])
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
