# SPDX-License-Identifier: Apache-2.0
"""Stages that leave a window, against the same rows eliminated all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from shared.legged_log import simulate, simulated_config

from sysid_nodes.simulation.legged import LeggedSimulationConfig
from sysid_nodes.solvers.trajectory_least_squares import Blocks, assemble, marginalise
from sysid_nodes.solvers.trajectory_least_squares.factor import Factor, factorise
from sysid_nodes.solvers.trajectory_least_squares.robust import reweight
from sysid_nodes.systems.prime import build_model
from sysid_nodes.systems.prime.initialisation import initial_configurations, initial_trajectory
from sysid_nodes.systems.prime.leaving import leave
from sysid_nodes.systems.prime.light_forces import ERROR, LEAST
from sysid_nodes.systems.prime.observed_noise import TRIANGLE, overlaps
from sysid_nodes.systems.prime.problem import PrimeProblem, build_problem, first_arrival
from sysid_nodes.systems.prime.score import Score
from sysid_nodes.systems.prime.trajectory import Trajectory

STAGES = 8

Array = np.ndarray
Window = tuple[PrimeProblem, Trajectory, Sequence[Blocks], Factor, list[Array]]


@pytest.fixture(scope="module")
def window() -> Window:
    """A trot's first stages, with some noise of every row and of what was known before."""
    log = simulate(LeggedSimulationConfig(motion="trot"), 0.2, seed=1, skip=0.5)
    model, rng = build_model(log.robot, simulated_config()), np.random.default_rng(0)
    samples = {name: entry.between(0, STAGES) for name, entry in log.steps.samples.items()}
    q = initial_configurations(model, samples, STAGES)
    arrival = first_arrival(model, q[0])
    unknowns = arrival.prior.root.shape[1]
    score = Score(np.diag(rng.uniform(0.5, 2.0, unknowns)), rng.normal(size=unknowns))
    problem = build_problem(model, samples, STAGES, replace(arrival, score=score))
    point = initial_trajectory(problem, q, model.parameters.mean)
    blocks = problem.linearise(point)
    factor = factorise(assemble(blocks, problem.layout), 0.0)
    assert factor is not None
    return problem, point, blocks, factor, [rng.uniform(0.1, 3.0, group.residual.shape) for group in blocks]


def eliminated_at_once(window: Window, count: int) -> tuple[Array, Score]:
    """The rows that are left and their noise, from dense rows of contact variables, stages and parameters."""
    problem, point, blocks, _, variances = window
    n, p, own = problem.layout.size, problem.layout.parameters, problem.layout.local
    at = STAGES * own
    rows, spread, pull, light = [], [], [], []
    for name, group, variance in zip(problem.groups[:-1], map(reweight, blocks), variances, strict=False):
        for b in np.flatnonzero(group.first < count):
            dense = np.zeros((group.residual.shape[1], at + STAGES * n + p + 1))
            first = at + group.first[b] * n
            dense[:, first : first + group.jacobian.shape[2]] = group.jacobian[b]
            if group.parameter_jacobian is not None:
                dense[:, at + STAGES * n : -1] = group.parameter_jacobian[b]
            if group.local is not None and group.local_jacobian is not None:
                dense[:, group.local[b] * own : (group.local[b] + 1) * own] = group.local_jacobian[b]
            dense[:, -1] = group.residual[b]
            noise, drawn = variance[b].copy(), np.zeros(len(dense))
            if overlaps(problem, name):
                noise[6 if name == "dynamics" else 0 :] *= 1.0 + 2.0 * TRIANGLE
            if name == "contact":
                half = len(dense) // 2
                noise[half:], drawn[half:] = 0.0, group.residual[b, half:]
                light.append(light_contacts(problem, point, group, b) @ dense[:half])
            rows, spread, pull = [*rows, dense], [*spread, (name != "arrival") * noise], [*pull, drawn]
    matrix = np.concatenate(rows)
    gone = np.concatenate([np.arange(at), at + np.arange(count * n)])
    gone = gone[np.any(matrix[:, gone], axis=0)]
    stays = np.r_[at + count * n : at + (count + 2) * n, at + STAGES * n : matrix.shape[1]]
    gain = -np.linalg.lstsq(matrix[:, gone], matrix[:, stays], rcond=None)[0]
    left = matrix[:, stays] + matrix[:, gone] @ gain
    told = left[:, :-1]
    arrived = problem.arrival_unknowns(point)
    by_gone = np.zeros((arrived.residual.shape[1], matrix.shape[1]))
    by_gone[:, at : at + arrived.jacobian.shape[2]] = arrived.jacobian[0]
    by_gone[:, at + STAGES * n : -1] = arrived.parameter_jacobian[0]
    known = problem.arrival.score.change_unknowns((by_gone[:, stays] + by_gone[:, gone] @ gain)[:, :-1])
    score = Score((told.T * np.concatenate(spread)) @ told, np.concatenate(pull) @ told)
    by_light = np.concatenate(light)
    errs = (by_light[:, stays] + by_light[:, gone] @ gain)[:, :-1]
    return left, score + known + Score(errs.T @ errs, np.zeros(len(score.pull)))


def light_contacts(problem: PrimeProblem, point: Trajectory, contact: Blocks, b: int) -> Array:
    """(nc, 3 nc) errors of a stage's rows by the force of each contact, by which the friction's share of it is off."""
    assert contact.local is not None and contact.parameter_jacobian is not None
    normal = problem.law.force(point.w[contact.local[b]])[:, 0]
    by_friction = contact.parameter_jacobian[b][:, problem.model.parameters.friction].reshape(-1)
    errs = np.zeros((len(normal), 3 * len(normal)))
    for i, force in enumerate(normal):
        own = slice(3 * i, 3 * i + 3)
        errs[i, own] = by_friction[own] * ERROR / (problem.law.config.friction * max(force, LEAST))
    return errs


@pytest.mark.parametrize("count", [1, 2, 4])
def test_rows_and_noise_are_those_of_all_unknowns_at_once(window: Window, count: int) -> None:
    """Of the diagonal's size: units differ by ten orders. What no row knows is nothing but rounding.

    Errors by forces of feet in the air are a hundred times the others', and so is the noise's rounding.
    """
    problem, point, blocks, factor, variances = window
    wanted, noise = eliminated_at_once(window, count)
    found = leave(problem, blocks[:-1], point, factor, count, variances, {})
    assert found is not None
    rows, score, _ = found
    information, stated = wanted.T @ wanted, marginalise(blocks[:-1], problem.layout, count).prior
    other = np.column_stack([stated.root, stated.offset])
    for root in (rows, other):
        np.testing.assert_allclose(
            in_units_of(information, root.T @ root), in_units_of(information, information), atol=1e-9
        )
    spread = noise.covariance
    np.testing.assert_allclose(in_units_of(spread, score.covariance), in_units_of(spread, spread), atol=2e-7)
    unit = np.sqrt(np.maximum(np.diag(spread), 1e-12))
    np.testing.assert_allclose(score.pull / unit, noise.pull / unit, atol=1e-7 * np.abs(noise.pull / unit).max())


def in_units_of(reference: Array, matrix: Array) -> Array:
    """A matrix with its rows and columns over the roots of another's diagonal."""
    unit = np.sqrt(np.maximum(np.diag(reference), 1e-12))
    return np.asarray(matrix / np.outer(unit, unit))


def test_what_those_that_stay_do_not_determine_is_not_eliminated(window: Window) -> None:
    """One joint's derivatives are another's: no row tells them apart, and what the factor has is its damping."""
    problem, point, blocks, _, variances = window
    n, doubled = problem.layout.size, []
    for group in blocks:
        jacobian = group.jacobian.copy()
        jacobian[:, :, n - 1 :: n] = jacobian[:, :, n - 2 :: n]
        doubled.append(replace(group, jacobian=jacobian))
    factor = factorise(assemble(doubled, problem.layout), 1e-14)
    assert factor is not None
    assert leave(problem, doubled[:-1], point, factor, 1, variances, {}) is None
