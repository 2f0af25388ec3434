# SPDX-License-Identifier: Apache-2.0
"""Weights of a whole log's readings by the noise that its own residuals show: see noise_weights.py.

Residuals of a fit as stated say too much of a sensor that the motion follows: the torque of a G1's waist, which tells
more of its quick turns than encoders do, leaves a twentieth of its noise, and others' besides. So residuals and
leverages are taken anew from the linear model with the weights found, a few times: the restricted maximum of the
likelihood (variance_components.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.trajectory_least_squares import Blocks
from sysid_nodes.solvers.trajectory_least_squares.factor import Factor, factorise
from sysid_nodes.solvers.trajectory_least_squares.influence import leverages, residuals_after
from sysid_nodes.solvers.trajectory_least_squares.posterior import covariances
from sysid_nodes.solvers.trajectory_least_squares.robust import reweight
from sysid_nodes.solvers.trajectory_least_squares.scaled_rows import assemble_scaled
from sysid_nodes.solvers.trajectory_least_squares.sections import cut_sections
from sysid_nodes.solvers.trajectory_least_squares.windows import windows
from sysid_nodes.systems.prime.last_step import best_step, take_step
from sysid_nodes.systems.prime.noise_variances import weight_factors
from sysid_nodes.systems.prime.noise_weights import ShownNoise, competes, weigh_by
from sysid_nodes.systems.prime.problem import PrimeProblem
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

ROUNDS = 3
"""Times that a whole log's weights are taken from its residuals."""

_PERIOD, _SECTION, _LONG = 200, 50, 2
"""Of a log of twice 200 stages, the first 50 of every 200 give the weights of all rounds but the last, as near to where
rounds without end lead as all its stages do: of a Go2 walking for 10 s within 4 % (RMS) either way, of a G1 12 %."""

_DAMPING = 1e-6
"""Of the step, relative to the Hessian's diagonal, where it does not lower the cost without any."""


def weigh_readings(problem: PrimeProblem, point: Trajectory) -> tuple[PrimeProblem, Trajectory]:
    """The problem with its readings weighed by the noise that they show, and a point nearer to its solution.

    Args:
        problem: not weighed yet.
        point: near its solution; the last round's linear model has told a step from there.
    """
    stated = [reweight(group) for group in problem.linearise(point)]
    shapes, structure = [group.residual.shape for group in stated], windows(stated, problem.layout)
    weighed = _weigh_by_sections(problem, point, stated)
    rounds = ROUNDS if weighed is problem else 1
    equations, factor = None, None
    for _ in range(rounds):
        factors = _factors(weighed, shapes)
        equations = assemble_scaled(stated, factors, structure, problem.layout, room=equations)
        factor = factorise(equations, 0.0, room=factor)
        shown = None if factor is None else _look(problem, point, stated, factors, factor)
        if factor is None or shown is None:
            break
        noise = ShownNoise()
        noise.add(
            problem, [replace(group, residual=own) for group, own in zip(stated, shown[0], strict=True)], shown[1]
        )
        weighed = replace(problem, weights=noise.roots(problem))
    problem = weigh_by(problem, weighed.weights) if weighed.weights else problem
    taken = None if factor is None else take_step(problem, point, best_step(problem, point, factor).step)
    if equations is not None and (taken is None or taken.gain <= 0.0):
        factor = factorise(equations, _DAMPING)
        taken = None if factor is None else take_step(problem, point, best_step(problem, point, factor).step)
    return problem, point if taken is None else taken.point


def _weigh_by_sections(problem: PrimeProblem, point: Trajectory, stated: Sequence[Blocks]) -> PrimeProblem:
    """The problem with the weights of all rounds but the last, which sections of a long log give as well.

    As it is where the log is short, or the sections leave something undetermined.
    """
    if problem.stages < _LONG * _PERIOD:
        return problem
    parts = cut_sections(stated, problem.layout, _PERIOD, _SECTION, problem.groups.index("arrival"))
    shapes = [group.residual.shape for group in stated]
    weighed, equations, factor = problem, None, None
    for _ in range(ROUNDS - 1):
        factors = _factors(weighed, shapes)
        own = [
            _of_sections(whole, group, taken)
            for whole, group, taken in zip(factors, parts.groups, parts.taken, strict=True)
        ]
        equations = assemble_scaled(parts.groups, own, parts.windows, parts.layout, room=equations)
        factor = factorise(equations, 0.0, room=factor)
        shown = None if factor is None else _look(problem, point, parts.groups, own, factor)
        if shown is None:
            return problem
        left, leverage = (parts.lay_back(values, shapes) for values in shown)
        noise = ShownNoise()
        blocks = [replace(group, residual=residual) for group, residual in zip(stated, left, strict=True)]
        noise.add(problem, blocks, leverage, parts.inside)
        weighed = replace(problem, weights=noise.roots(problem))
    return weighed


def _factors(problem: PrimeProblem, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """(B, m) of each group, by what its rows are weighed more than stated."""
    return [weight_factors(problem, name, *shape) for name, shape in zip(problem.groups, shapes, strict=True)]


def _of_sections(factors: Array, group: Blocks, taken: IntArray) -> Array:
    """Factors of a group's blocks in sections; of a block that is in all of them, its own."""
    own = factors[taken]
    return own if len(own) == len(group.first) else np.repeat(own, len(group.first), axis=0)


def _look(
    problem: PrimeProblem, point: Trajectory, groups: Sequence[Blocks], factors: Sequence[Array], factor: Factor
) -> tuple[list[Array], list[Array]] | None:
    """(B, m) residuals and leverages of each group; leverages are NaN where they do not matter.

    Args:
        problem: not weighed.
        point: where groups are linearised.
        groups: as stated, of the whole trajectory or of sections.
        factors: (B, m) of each, on its rows in the factor.
        factor: undamped.
    """
    found = covariances(factor, local=False)
    if found is None:
        return None
    rows = [slice(None) if competes(problem, name) else slice(0) for name in problem.groups]
    left = residuals_after(groups, best_step(problem, point, factor).step)
    # Of rows times their factors, which residuals are in units of the stated noise without.
    told = leverages(groups, factor, found, rows)
    return left, [own**2 * leverage for own, leverage in zip(factors, told, strict=True)]
