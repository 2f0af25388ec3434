# SPDX-License-Identifier: Apache-2.0
"""Full-information estimation: a whole log at once (PFIE of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.contact import change_smoothing, smoothing_schedule
from sysid_nodes.results.least_squares import Iteration, SolveResult
from sysid_nodes.results.prime import EstimateStatus, OutsideWrench, PrimeEstimate
from sysid_nodes.signals.samples import Samples
from sysid_nodes.solvers.trajectory_least_squares import Blocks, LevenbergMarquardtConfig, assemble, solve
from sysid_nodes.solvers.trajectory_least_squares.factor import factorise
from sysid_nodes.solvers.trajectory_least_squares.posterior import covariances
from sysid_nodes.solvers.trajectory_least_squares.robust import fits
from sysid_nodes.systems.prime.at_rest import base_rests, is_at_rest, open_covariance
from sysid_nodes.systems.prime.dead_reckoning import add_place_drift, stages_with_place
from sysid_nodes.systems.prime.estimate import motion_estimate
from sysid_nodes.systems.prime.firmness import with_firmness
from sysid_nodes.systems.prime.initialisation import initial_configurations, initial_trajectory
from sysid_nodes.systems.prime.judgement import SPAN, worst_misfit
from sysid_nodes.systems.prime.last_step import finish
from sysid_nodes.systems.prime.limits import without_limits
from sysid_nodes.systems.prime.log_weights import weigh_readings
from sysid_nodes.systems.prime.model import Model
from sysid_nodes.systems.prime.noise_weights import stated_residuals
from sysid_nodes.systems.prime.observed_noise import observed_covariances
from sysid_nodes.systems.prime.outside import outside_wrench
from sysid_nodes.systems.prime.problem import PrimeProblem, build_problem, first_arrival
from sysid_nodes.systems.prime.trajectory import Trajectory
from sysid_nodes.systems.prime.untold import untold_effect

Array = npt.NDArray[np.float64]


def estimate_motion(
    model: Model,
    times: Array,
    samples: Mapping[str, Samples],
    *,
    clock: Callable[[], float] | None = None,
    progress: Callable[[Iteration], None] | None = None,
) -> PrimeEstimate:
    """Motion, contact forces and parameters of a whole log.

    The smoothing of the contacts goes down from solve to solve; each starts at the previous one's solution. Until the
    last, constants that the motion tells only together stay at their prior's mean, and little is asked of precision;
    what then does not fit is solved again with patience, and the better of the two counts. Covariances are those of the
    noise that the residuals show (observed_noise.py), without what limits of joints and motors tell (limits.py).
    Residuals larger than the stated noise make the result DOUBTFUL, and what they show of effects that the model leaves
    out is named (untold.py). What a robot that stands still does not tell stays at its prior's mean, and is in the
    covariances all the same (at_rest.py).

    Args:
        model: of the robot.
        times: (N,) stages [s], the configured step apart.
        samples: readings of each sensor by name, steps counted from the first stage.
        clock: monotonic time [s], for the record of the solve time.
        progress: called after every iteration.

    Raises:
        SamplesError: fewer than three stages.
    """
    q = initial_configurations(model, samples, len(times))
    rests = is_at_rest(samples, model.config)
    taken = replace(model, parameters=model.parameters.hold_constants()) if rests else model
    problem = build_problem(taken, samples, len(times), first_arrival(model, q[0]))
    start = clock() if clock is not None else 0.0
    problem, solved = solve_by_continuation(
        problem, q, model.parameters.mean, weighed=not rests, clock=clock, progress=progress
    )
    problem, solved = meet_limits(problem, solved)
    settings = model.config.iteration.solver()
    settings = replace(settings, initial_damping=_CLOSE, taken_tolerance=_LAST * settings.promise_tolerance)
    end = finish(problem, solved, settings)
    problem, blocks, solved, factor = replace(problem, model=model), end.blocks, end.solved, end.factor
    if rests:
        blocks, factor = [*blocks[:-1], problem.priors(end.linearised)[1]], None
    if problem.limits is not None:
        blocks, factor = without_limits(problem.groups, blocks), None
    told = replace(problem, limits=None)
    found = None
    if end.rest is not None:
        found = observed_covariances(told, blocks, end.linearised, factor=factor, rest=end.rest)
    if rests and found is not None:
        found = replace(found, parameter=open_covariance(model.parameters, found.parameter))
    elapsed = clock() - start if clock is not None else 0.0
    residuals = stated_residuals(problem, problem.residuals(solved.point))
    estimate = motion_estimate(
        problem, solved, residuals, found, times, iterations=solved.iterations, solve_time=elapsed
    )
    untold = None
    if end.rest is not None and not base_rests(samples, model.config):
        untold = untold_effect(told, blocks, end.linearised)
    estimate = replace(estimate, outside=_outside(told, solved.point, residuals, blocks), untold=untold)
    estimate = add_place_drift(model, estimate, stages_with_place(samples, len(times)))
    left = without_limits(problem.groups, residuals)
    as_stated = [replace(group, residual=own) for group, own in zip(blocks, left, strict=True)]
    misfit = worst_misfit(told.groups, as_stated, round(SPAN / model.config.step))
    if estimate.status.usable and max(misfit.values(), default=0.0) > model.config.misfit:
        return replace(estimate, status=EstimateStatus.DOUBTFUL)
    return estimate


def _outside(
    problem: PrimeProblem, point: Trajectory, residuals: Sequence[Array], blocks: Sequence[Blocks]
) -> OutsideWrench | None:
    factor = factorise(assemble(blocks, problem.layout), 0.0) if problem.model.config.process.asks_outside else None
    found = None if factor is None else covariances(factor)
    if factor is None or found is None:
        return None
    return outside_wrench(problem, point.theta, residuals, blocks, factor, found)


def has_point_feet(problem: PrimeProblem) -> bool:
    """Whether every foot is a single point.

    Corners of one foot share a load that the motion leaves open: to turn one over or hold its stage settles nothing.
    """
    foot = problem.model.parameters.foot
    return len(np.unique(foot)) == len(foot)


def sharpen(problem: PrimeProblem, point: Trajectory, smoothing: float) -> tuple[PrimeProblem, Trajectory]:
    """Moves problem and point to another smoothing."""
    changed = problem.with_smoothing(smoothing)
    w = change_smoothing(point.w, problem.law.smoothing, smoothing)
    return changed, changed.solve_contacts(replace(point, w=w))


def solve_by_continuation(
    problem: PrimeProblem,
    q: Array,
    theta: Array,
    *,
    most: int = 0,
    weighed: bool = False,
    clock: Callable[[], float] | None = None,
    progress: Callable[[Iteration], None] | None = None,
) -> tuple[PrimeProblem, SolveResult[Trajectory]]:
    """Solves from coarse to fine smoothing of the contacts, without limits; iterations count those of all solves.

    Args:
        problem: at any smoothing.
        q: (N, nq) first guess.
        theta: (p,) first guess.
        most: iterations of a solve at most; 0 for the configured number.
        weighed: whether readings are weighed by the noise that they show near the solution (log_weights.py).
        clock: monotonic time [s].
        progress: called after every iteration.

    Returns:
        The problem at the configured smoothing and with its last weights, and its solution.
    """
    config, limits = problem.model.config, problem.limits
    alone = has_point_feet(problem)
    problem = replace(problem, limits=None, inner=problem.inner.settle_contacts(turns=alone))
    problem = with_firmness(problem, Trajectory(q, np.zeros((len(q), problem.model.base.contacts, 3)), theta))
    settings = replace(config.iteration, most=most or config.iteration.most).solver()
    settings = replace(settings, holds_stages=alone)
    contact = config.contact
    schedule = smoothing_schedule(contact.first_smoothing, contact.smoothing, contact.continuation)
    if not any(readings.sensor.name == "gyroscope" for readings in problem.readings):
        schedule = (_COARSER * schedule[0], *schedule)
    last, near = schedule[-1], replace(settings, cost_tolerance=_NEAR)
    coarse = replace(near, initial_damping=_FAR, fit_suffices=True)
    quick = [(eps, coarse, problem.fix_constants()) for eps in schedule[:-1]]
    if weighed:
        quick.append((last, replace(near, initial_damping=_CLOSE), problem))
    start = initial_trajectory(problem.with_smoothing(schedule[0]), q, theta)
    # From a guess contacts need more steps to their best than from a trajectory's last step.
    first = quick[0][2] if quick else problem
    point = first.with_smoothing(schedule[0]).solve_contacts(start)
    smoothing, iterations = schedule[0], 0
    if quick:
        rough = _descend(quick, smoothing, point, clock, progress)
        smoothing, point, iterations = quick[-1][0], rough.point, rough.iterations
    problem = with_firmness(problem, point)
    if weighed:
        problem, point = weigh_readings(problem.with_smoothing(last), point)
    fine = replace(settings, initial_damping=_CLOSE, taken_tolerance=_LAST * settings.promise_tolerance)
    solved = _descend([(last, fine, problem)], smoothing, point, clock, progress)
    iterations += solved.iterations
    if not fits(solved.cost, problem.with_smoothing(last).residuals(solved.point)):
        again = _descend([(eps, settings, problem) for eps in schedule], schedule[0], start, clock, progress)
        iterations += again.iterations
        solved = min(again, solved, key=lambda one: one.cost)
    return replace(problem.with_smoothing(last), limits=limits), replace(solved, iterations=iterations)


def meet_limits(problem: PrimeProblem, solved: SolveResult[Trajectory]) -> tuple[PrimeProblem, SolveResult[Trajectory]]:
    """Solves on from a solution without limits until they hold (limits.py); iterations count those before."""
    settings = replace(problem.model.config.iteration.solver(), initial_damping=_CLOSE)
    followed, multiplied = problem.follow_limits(problem.residuals(solved.point)), problem
    for _ in range(_FOLLOWED):
        if followed is None:
            break
        problem, again = multiplied, solve(multiplied, solved.point, settings)
        solved = replace(again, iterations=solved.iterations + again.iterations)
        followed = problem.follow_limits(problem.residuals(solved.point))
        multiplied = followed or problem
    return problem, solved


def _descend(
    stations: Sequence[tuple[float, LevenbergMarquardtConfig, PrimeProblem]],
    smoothing: float,
    point: Trajectory,
    clock: Callable[[], float] | None,
    progress: Callable[[Iteration], None] | None,
) -> SolveResult[Trajectory]:
    """Solves at each smoothing from where the one before ended, the first from a point at the given smoothing."""
    iterations = 0
    for eps, settings, problem in stations:
        problem = problem.with_smoothing(smoothing)
        if eps != smoothing:
            problem, point = sharpen(problem, point, eps)
        solved = solve(problem, point, settings, clock=clock, progress=progress)
        smoothing, point, iterations = eps, solved.point, iterations + solved.iterations
    return replace(solved, iterations=iterations)


_COARSER = 100.0
"""Smoothing of a further solve where no gyroscope smooths the first guess of the turning: feet seem to be anywhere."""

_FOLLOWED = 8
"""Times that limits' multipliers follow at most; two or three are usual."""

_NEAR = 5e-2
"""Relative decrease of the cost at which a coarse smoothing has done its service: the next one has another solution."""

_LAST = 15.0
"""Rest of its promise that the step before the last may leave, in units of what ends a solve: what is left falls by as
much, about, from step to step."""

_FAR, _CLOSE = 3e-3, 1e-6
"""Damping to begin with, relative to the Hessian's diagonal: far from the solution less leads past it; close to it more
holds back the constants, of which all stages together know much less than the diagonal says."""
