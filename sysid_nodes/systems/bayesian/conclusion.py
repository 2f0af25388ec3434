# SPDX-License-Identifier: Apache-2.0
"""From a minimum to a posterior with units, judged; and to what is known for a further part of the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import LogError
from sysid_nodes.results.bayesian import BayesianResult, BayesianStatus, HeldOut, NoiseLevel, PosteriorParameter
from sysid_nodes.results.least_squares import SolveStatus
from sysid_nodes.robots.urdf import mimic_joints
from sysid_nodes.solvers.trajectory_least_squares.feasible_descent import LinearModel, linear_model
from sysid_nodes.solvers.trajectory_least_squares.multi_start import SearchStatus
from sysid_nodes.solvers.trajectory_least_squares.parameter_posterior import ParameterPosterior, parameter_posterior
from sysid_nodes.systems.bayesian.between_stages import missed_between_stages, stages_dominate, unfollowed_motion
from sysid_nodes.systems.bayesian.config import BayesianConfig
from sysid_nodes.systems.bayesian.constancy import Change, changed_constants
from sysid_nodes.systems.bayesian.contact_checks import long_stages
from sysid_nodes.systems.bayesian.contradictions import LASTING, contradictions, far_from_prior, too_short
from sysid_nodes.systems.bayesian.correlated_errors import estimate_with_correlated_errors
from sysid_nodes.systems.bayesian.coupling_signs import coupled_joints
from sysid_nodes.systems.bayesian.descent import Fitted, stated_noise
from sysid_nodes.systems.bayesian.estimate import Estimate, LogInformation
from sysid_nodes.systems.bayesian.knowledge import Knowledge, Passage, Readings, disagreement, passage
from sysid_nodes.systems.bayesian.meter_sign import Meter, turned_meter
from sysid_nodes.systems.bayesian.motion_noise import information_without_noise
from sysid_nodes.systems.bayesian.noise import Correlation, correlation, noise_growth
from sysid_nodes.systems.bayesian.parameters import Parameters
from sysid_nodes.systems.bayesian.posterior import (
    Spread,
    blind_directions,
    coordinate_names,
    friction_curves,
    parameters,
    prior_spreads,
)
from sysid_nodes.systems.bayesian.posterior_draws import LEAST_WORTH, draw_posterior
from sysid_nodes.systems.bayesian.problem import MechanismProblem
from sysid_nodes.systems.bayesian.series import loop_gaps, result_series
from sysid_nodes.systems.bayesian.suspicions import suspicions
from sysid_nodes.systems.bayesian.wiring import Wiring, other_wiring

Array = npt.NDArray[np.float64]

_LOUDER = 3.0  # times the noise that was known, from which on the model no longer is the log's
_STILL = 0.25  # of a log, for which a joint reads exactly the same, from which on that is said
_COVERED = (0.005, 0.995)  # quantiles of the speeds that a log covers


def conclude(
    fitted: Fitted, held_out: HeldOut | None, config: BayesianConfig, before: Knowledge | None
) -> tuple[BayesianResult, Knowledge | None]:
    """The posterior, and what a further part of the log begins with; None where nothing is to be built upon.

    Args:
        fitted: the minimum.
        held_out: predictions of torques that it has not seen.
        config: of everything.
        before: what the minimum's prior is; None where it is the configuration's.

    Raises:
        LogError: the loops could not be closed.
    """
    problem, best = fitted.problem, fitted.found.best
    if best.status is SolveStatus.INFEASIBLE:
        raise LogError("the loops cannot be closed along the readings")
    own, at = problem.mechanism.parameters, best.point
    model = linear_model(problem, at)
    kept, changed, long = _errors(problem, model, at.point, first=before is None)
    prior = prior_spreads(own, config) if before is None else before.prior
    read = Readings.of(problem.log.torque, before)
    status, x, theta, known, against, told = _combine_with_before(fitted, model, kept, before, prior, read)
    draws, doubt = _draws(theta, own, x, config, told)
    findings = (*against, *_findings(fitted, kept, config), *doubt, *filter(None, (long,)))
    if not np.isfinite(draws).all():
        status, known = max(status, BayesianStatus.STALLED), None
        findings = ("the posterior's covariance is not finite", *findings)
        theta = _prior_posterior(own, model)
        draws, _ = _draws(theta, own, x, config, None)
    elif told is None and before is None:  # nothing was fitted: what the log misses of the prior is no contradiction
        status = max(status, BayesianStatus.STALLED)
        findings = ("the search ended where nothing tells the constants: try another bayesian.step", *findings)
    rows, covariance = parameters(own, prior, draws, theta, config)
    if before is None and status.trusted and (short := too_short(fitted, kept, theta)):
        status, findings = max(status, BayesianStatus.STALLED), (short, *findings)
    wrong = contradictions(rows, x, fitted, kept, read) if told is not None else ()
    if before is None and not wrong:
        status, against_way, open_ways = _ways_of_reading(fitted, status)
        wrong = tuple(words for words in (far_from_prior(own, x, theta), *against_way) if words)
        findings = (*filter(None, open_ways), *findings)
    if changed and changed.contradicts:
        wrong = (*wrong, changed.words)
    status, findings = _with_reasons(status, wrong, findings, suspicions(fitted, config))
    if coarse := (*long_stages(problem, at.point), *unfollowed_motion(problem)):
        status, findings = max(status, BayesianStatus.STALLED), (*coarse, *findings)
    covered = _speed_range(fitted) if known is None else known.covered
    if changed and changed.words and not changed.contradicts:
        findings = (*findings, f"{changed.words}; intervals allow for it")
    findings = (*findings, *_slow_joints(fitted, x, rows, covered))
    result = BayesianResult(
        status=status,
        parameters=rows,
        parameter_covariance=covariance,
        blind=blind_directions(own, theta, config),
        noise=_noise_levels(fitted, config, kept),
        curves=friction_curves(own, draws, covered),
        held_out=held_out,
        series=result_series(problem, at.point),
        names=coordinate_names(own),
        theta=x[own.free],
        covariance=theta.covariance,
        iterations=best.iterations,
        costs=fitted.found.costs,
        loop_gap=float(loop_gaps(problem, at.point).max()),
        stages=problem.log.stages if known is None else known.stages,
        findings=findings,
    )
    return result, known if status.trusted else None


def _ways_of_reading(fitted: Fitted, status: BayesianStatus) -> tuple[BayesianStatus, tuple[str, ...], tuple[str, ...]]:
    """The status; in words, ways in which power and torques may have been read that contradict, or are left open."""
    problem = fitted.problem
    meter = turned_meter(problem, fitted.read) if status.trusted else Meter()
    if meter.open and problem.log.unread.all():  # nothing else tells what the motion costs
        status = BayesianStatus.STALLED
    wiring = other_wiring(problem, fitted.read) if status.trusted else Wiring()
    return status, (meter.against, wiring.against), (meter.open, wiring.open)


def _errors(
    problem: MechanismProblem, model: LinearModel, at: Estimate, *, first: bool
) -> tuple[Correlation, Change | None, str]:
    """Errors that are alike for some time, with what stages miss and a change of the constants would add; the change,
    of a first part of a log; in words, that stages are too long for the motion.
    """
    kept = correlation(problem, model)
    changed = changed_constants(problem, model, kept) if first else None
    missed = missed_between_stages(problem, at, kept)
    extra = kept.extra + np.outer(missed, missed)
    long = stages_dominate(problem, model, missed, kept.extra)
    return replace(kept, extra=extra if changed is None else extra + changed.spread), changed, long


class _Belief(NamedTuple):
    """A minimum together with all that was known before.

    Attributes:
        status: of the search, here or before, or CONTRADICTED.
        x: (P,) the constants.
        theta: posterior of the free coordinates; as before the log where the minimum has none.
        known: what a further part of the log begins with, or None.
        against: what contradicts what was known, none or one.
        told: information of the log that theta is from; None where it is not from any.
    """

    status: BayesianStatus
    x: Array
    theta: ParameterPosterior
    known: Knowledge | None
    against: tuple[str, ...]
    told: LogInformation | None


def _with_reasons(
    status: BayesianStatus, wrong: tuple[str, ...], findings: tuple[str, ...], suspected: tuple[str, ...]
) -> tuple[BayesianStatus, tuple[str, ...]]:
    """Findings after what contradicts the model; its first line names what may be behind it: some users see no more."""
    if not wrong:
        return status, (*findings, *suspected)
    return max(status, BayesianStatus.CONTRADICTED), ("; ".join((wrong[0], *suspected)), *wrong[1:], *findings)


def _combine_with_before(
    fitted: Fitted,
    model: LinearModel,
    kept: Correlation,
    before: Knowledge | None,
    prior: tuple[Spread, ...],
    read: Readings,
) -> _Belief:
    problem, at = fitted.problem, fitted.found.best.point.point
    own = problem.mechanism.parameters
    if model.factor is None:
        return _Belief(BayesianStatus.STALLED, at.x, _prior_posterior(own, model), None, (), None)
    status, against = BayesianStatus[fitted.found.status.name], ""
    extra, covered, stages = kept.extra, _speed_range(fitted), problem.log.stages
    if before is not None:
        way = passage(before, model.factor, at.x)
        extra = way.left + kept.extra
        covered = np.array([np.minimum(before.covered[0], covered[0]), np.maximum(before.covered[1], covered[1])])
        stages += before.stages
        against = _disagreement_in_words(before, way, kept, fitted)
        status = BayesianStatus.CONTRADICTED if against else max(status, before.status)
    told, lasting, white, linear = information_without_noise(problem, fitted.found.best.point, model, extra)
    if not linear:
        status = max(status, BayesianStatus.STALLED)
        against = against or "too short: what noise of the positions looks like weighs as much as the motion"
    x, theta, used = at.x, parameter_posterior(model.factor, model.rows, extra), None
    if (found := estimate_with_correlated_errors(own, told, lasting, white)) is not None:
        x, theta, used = found
    known = Knowledge(problem.mechanism, white, x, told, lasting, fitted.noise, covered, stages, status, prior, read)
    return _Belief(status, x, theta, known, (against,) if against else (), used)


def _prior_posterior(own: Parameters, model: LinearModel) -> ParameterPosterior:
    """As before the log."""
    wide = np.diag(own.sigma[own.free] ** 2)
    return ParameterPosterior(np.zeros(len(wide)), wide, model.rows.lower, model.rows.upper)


def _speed_range(fitted: Fitted) -> Array:
    """(2, n) range of speeds that the log covers, at motors behind their gears."""
    problem = fitted.problem
    speed = problem.mechanism.of_motors(problem.motion(fitted.found.best.point.point).v)
    return np.asarray(np.quantile(speed, _COVERED, axis=0))


def _slow_joints(fitted: Fitted, x: Array, rows: Sequence[PosteriorParameter], covered: Array) -> tuple[str, ...]:
    """Findings about joints that creep or stand."""
    found = []
    if creeping := _creeping_joints(fitted.problem.mechanism.parameters, x, rows, covered):
        names = ", ".join(f"'{name}'" for name in creeping)
        found.append(f"never fast enough to tell dry friction: {names}; its size rests on friction.turning_speed")
    if still := _still_joints(fitted):
        found.append(f"reads the same: {', '.join(still)}; were it stuck, nothing of this would hold")
    return tuple(found)


def _creeping_joints(own: Parameters, x: Array, rows: Sequence[PosteriorParameter], covered: Array) -> tuple[str, ...]:
    """Joints whose dry friction is told by speeds (2, n) at which it is still turning, where the model is a guess."""
    slow = (np.abs(covered).max(axis=0) < own.constants(x, "turning_speed")) & ~own.bristles
    told = {row.name for row in rows if row.verdict != "not observed"}
    return tuple(name for name, creeps in zip(own.joints, slow, strict=True) if creeps and f"{name}.coulomb" in told)


def _still_joints(fitted: Fitted) -> tuple[str, ...]:
    """Joints whose encoder reads the same for a good part: nothing tells one that stood from one that was stuck."""
    log, found = fitted.problem.log, []
    for name, column in zip(fitted.problem.mechanism.chain.joint_names, log.position.T, strict=True):
        edges = np.flatnonzero(np.diff(column, prepend=np.nan, append=np.nan) != 0.0)
        longest = int(np.diff(edges).max(initial=0)) if np.isfinite(column).all() else 0
        if longest >= _STILL * log.stages:
            how_long = "throughout" if longest == log.stages else f"for {longest * log.step:.2g} s"
            found.append(f"'{name}' {how_long}")
    return tuple(found)


def _draws(
    theta: ParameterPosterior, own: Parameters, x: Array, config: BayesianConfig, told: LogInformation | None
) -> tuple[Array, tuple[str, ...]]:
    """(S, P) of all coordinates, and what is to be said of them."""
    rng, count = np.random.default_rng(config.search.seed), config.verdict.samples
    draws = np.tile(x, (count, 1))
    if told is None or not np.isfinite(theta.covariance).all():
        draws[:, own.free] += theta.samples(count, rng)
        return draws, ()
    draws[:, own.free], worth = draw_posterior(own, told, x, lambda more: theta.samples(more, rng), count, rng)
    if worth < LEAST_WORTH:
        return draws, ("the prior is too nonlinear where the log tells little: intervals are of first order",)
    return draws, ()


def _disagreement_in_words(before: Knowledge, way: Passage, kept: Correlation, fitted: Fitted) -> str:
    """How the newest part of a log contradicts what was known before, in words; empty where it does not."""
    own = before.mechanism.parameters
    ratio, moved = disagreement(way, kept.extra, own.sigma[own.free])
    if ratio > 1.0:
        name = coordinate_names(own)[int(np.argmax(np.abs(moved)))]
        sigmas = f"{float(np.abs(moved).max()):.0f} sigmas"
        return f"the newest part contradicts what was known before, most of all '{name}' ({sigmas})"
    factor = 1.0 if fitted.shown is None else noise_growth(before.noise, fitted.shown)
    if factor > _LOUDER:
        return f"the newest part contradicts what was known before: the model errs {factor:.1f} times as much"
    return ""


def _noise_levels(fitted: Fitted, config: BayesianConfig, kept: Correlation) -> tuple[NoiseLevel, ...]:
    mechanism, noise, log = fitted.problem.mechanism, fitted.problem.noise, fitted.problem.log
    stated = stated_noise(mechanism, config)
    own, names = mechanism.parameters, np.array(mechanism.chain.joint_names)
    motors = np.flatnonzero(own.motors).tolist()
    rows = [
        NoiseLevel(f"position of {name}", own.unit("deflection", j), float(before), float(after), 1.0)
        for j, (name, before, after) in enumerate(zip(names, stated.position, noise.position, strict=True))
        if np.isfinite(log.position[:, j]).any()
    ]
    if np.isfinite(log.torque).any():
        columns = zip(motors, stated.torque, noise.torque, kept.torque, strict=True)
        rows += [
            NoiseLevel(f"torque of {names[j]}", own.unit("offset", j), float(before), float(after), float(time))
            for (j, before, after, time), unread in zip(columns, log.unread, strict=True)
            if not unread
        ]
    if not own.motors.all():
        unit = " or ".join(dict.fromkeys(own.unit("offset", j) for j in np.flatnonzero(~own.motors).tolist()))
        rows.append(NoiseLevel("torque of joints without a motor", unit, stated.passive, noise.passive, 1.0))
    if np.isfinite(log.power).any():
        rows.append(NoiseLevel("power", "W", stated.power, noise.power, kept.power))
    return tuple(rows)


def _findings(fitted: Fitted, kept: Correlation, config: BayesianConfig) -> tuple[str, ...]:
    found = []
    if fitted.found.status is SearchStatus.LOCAL_MINIMUM_SUSPECTED:
        costs = ", ".join(f"{cost:.2f}" for cost in fitted.found.costs)
        found.append(f"the starts ended at costs {costs}: more of them (search.starts) may find a lower one")
    if not fitted.settled:
        found.append(f"the noise had not settled after {config.noise.rounds} rounds")
    if fitted.problem.reference is not None:
        found.append("noise.acts_on is motion: torques that are turned round or swapped would hardly be noticed")
    own = fitted.problem.mechanism
    names = np.array(own.chain.joint_names)[own.parameters.motors]
    long = [f"'{name}' ({time:.0f})" for name, time in zip(names, kept.torque, strict=True) if time > LASTING]
    if long:
        found.append(f"errors of the model last for some stages at {', '.join(long)}; intervals allow for it")
    leaders = mimic_joints(own.robot.urdf)
    if held := ", ".join(f"'{name}'" for name, leader in leaders.items() if leader in own.chain.joint_names):
        found.append(f"held at zero, though the description has it follow a joint that moves: {held}")
    return (*found, *coupled_joints(fitted, kept))
