# SPDX-License-Identifier: Apache-2.0
"""The last step of a whole log's solve: what it may leave."""

from __future__ import annotations

from dataclasses import replace

from shared.legged_log import simulate, simulated_config

from sysid_nodes.simulation.legged import LeggedSimulationConfig
from sysid_nodes.solvers.trajectory_least_squares import assemble
from sysid_nodes.solvers.trajectory_least_squares.factor import factorise
from sysid_nodes.systems.prime import build_model
from sysid_nodes.systems.prime.full_information import solve_by_continuation
from sysid_nodes.systems.prime.initialisation import initial_configurations
from sysid_nodes.systems.prime.last_step import best_step, finish
from sysid_nodes.systems.prime.problem import PrimeProblem, build_problem, first_arrival
from sysid_nodes.systems.prime.trajectory import Trajectory

_LEFT = 0.2
"""What a solve's last step may leave here; the first one from afar leaves four times as much."""


def promised(problem: PrimeProblem, point: Trajectory) -> float:
    """Decrease of the cost that the linear model at a point promises."""
    factor = factorise(assemble(problem.linearise(point), problem.layout), 0.0)
    assert factor is not None
    return best_step(problem, point, factor).promise


def test_a_solve_that_ended_early_goes_on() -> None:
    """A step that keeps a large promise has another large one behind it, for the problem is not linear."""
    log = simulate(LeggedSimulationConfig(motion="trot"), 0.6, seed=3, skip=0.5)
    model = build_model(log.robot, simulated_config())
    q = initial_configurations(model, log.steps.samples, len(log.steps.times))
    problem = build_problem(model, log.steps.samples, len(q), first_arrival(model, q[0]))
    problem, early = solve_by_continuation(problem, q, model.parameters.mean, most=1)
    settings = replace(model.config.iteration.solver(), taken_tolerance=_LEFT)
    assert promised(problem, early.point) > _LEFT
    once = finish(problem, early, settings, more=False)
    assert once.solved.iterations == early.iterations + 1 and promised(problem, once.solved.point) > _LEFT
    end = finish(problem, early, settings)
    assert end.solved.iterations > once.solved.iterations and end.solved.cost < once.solved.cost
    assert promised(problem, end.linearised) < _LEFT
