# SPDX-License-Identifier: Apache-2.0
"""Identification of a log: first motion, descents with the noise estimated, other starts, posterior, judgement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ExcitationError, LogError
from sysid_nodes.results.bayesian import BayesianResult, BayesianStatus, NoiseLevel
from sysid_nodes.results.least_squares import SolveResult, SolveStatus
from sysid_nodes.robots import Robot
from sysid_nodes.solvers.trajectory_least_squares import LevenbergMarquardtConfig
from sysid_nodes.solvers.trajectory_least_squares.feasible_descent import FeasiblePoint, linear_model, solve_feasible
from sysid_nodes.solvers.trajectory_least_squares.multi_start import Search, SearchStatus, judge
from sysid_nodes.solvers.trajectory_least_squares.parameter_posterior import ParameterPosterior, parameter_posterior
from sysid_nodes.systems.bayesian.config import BayesianConfig
from sysid_nodes.systems.bayesian.held_out import predict_held_out
from sysid_nodes.systems.bayesian.initial_motion import differences, initial_positions, loop_forces
from sysid_nodes.systems.bayesian.log import LEAST, MechanismLog
from sysid_nodes.systems.bayesian.mechanism import Mechanism, Motion, build_mechanism
from sysid_nodes.systems.bayesian.noise import SETTLED, Correlation, NoiseUpdate, correlation, update_noise
from sysid_nodes.systems.bayesian.posterior import blind_directions, coordinate_names, friction_curves, parameters
from sysid_nodes.systems.bayesian.problem import Estimate, MechanismProblem, Noise, sharpened
from sysid_nodes.systems.bayesian.series import result_series

Array = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]
"""Called with the work at hand, the step and the number of steps."""
Fit = SolveResult[FeasiblePoint[Estimate]]

_MOVES = 1e-3  # [rad] that a log has to move at least
_LASTING = 3.0  # stages for which residuals keep, from which on the model misses something worth a line
_CONTRADICTION = 6.0  # prior sigmas between prior and posterior mean that no honest prior shows


def identify(
    log: MechanismLog, robot: Robot, config: BayesianConfig, progress: Progress | None = None
) -> BayesianResult:
    """Posterior of a robot's constants from a log.

    Raises:
        ConfigError: a joint or link that is named does not exist.
        RobotError: the base floats, or a loop cannot be closed.
        LogError: the log is too short, holds neither torque nor power, or its loops cannot be closed.
        ExcitationError: nothing moves.
    """
    power = bool(np.isfinite(log.power).any())
    if not power and not np.isfinite(log.torque).any():
        raise LogError("holds neither torques nor power: nothing tells what the motion costs")
    read = np.any(np.isfinite(log.position), axis=0)
    if not read.any():
        raise LogError("holds no joint position")
    travel = np.nanmax(log.position[:, read], axis=0) - np.nanmin(log.position[:, read], axis=0)
    if float(travel.max()) < _MOVES:
        raise ExcitationError("no joint moves")
    mechanism = build_mechanism(robot, config, power=power)
    split = log.stages - int(config.held_out * log.stages)
    if split < LEAST:
        raise LogError(f"leaves {split} stages to identify with, {LEAST} are needed")
    fitted = _fit(mechanism, log.part(0, split), config, progress)
    return _result(mechanism, log.part(split, log.stages), config, fitted)


@dataclass(frozen=True)
class _Fitted:
    """The best of the descents.

    Attributes:
        problem: with the estimated noise.
        found: the search.
        noise: the last estimate; None where the data leave something undetermined.
    """

    problem: MechanismProblem
    found: Search[FeasiblePoint[Estimate]]
    noise: NoiseUpdate | None


def stated_noise(mechanism: Mechanism, config: BayesianConfig) -> Noise:
    """Where the estimation of the noise begins."""
    own, n = config.noise, mechanism.chain.n
    motors = int(mechanism.parameters.motors.sum())
    return Noise(np.full(n, own.position), np.full(motors, own.torque), own.passive, own.power)


def start_point(mechanism: Mechanism, log: MechanismLog, x: Array) -> Estimate:
    """Positions from the readings, forces in the loops that go with them.

    Raises:
        LogError: the loops cannot be closed.
    """
    q = initial_positions(mechanism, log)
    inner, v, a = differences(q, log.step)
    force = np.zeros((len(q), mechanism.closures.count))
    force[1:-1] = loop_forces(mechanism, Motion(inner, v, a, force[1:-1]), x)
    return Estimate(q, force, x)


def _fit(mechanism: Mechanism, log: MechanismLog, config: BayesianConfig, progress: Progress | None) -> _Fitted:
    own = mechanism.parameters
    problem = MechanismProblem(mechanism, log, stated_noise(mechanism, config))
    rounds = config.noise.rounds if config.noise.estimate else 1
    start = start_point(mechanism, log, own.mean)

    def tell(text: str, done: int, most: int) -> None:
        if progress is not None:
            progress(text, done, most)

    tell("first motion", 0, rounds)
    result = _descend(problem, start, config, sharpen=True)
    update: NoiseUpdate | None = None
    for k in range(rounds if config.noise.estimate else 0):
        tell("estimating the noise", k, rounds)
        if not np.isfinite(result.cost):
            break
        update = update_noise(problem, result.point)
        if update is None or update.change < SETTLED:
            break
        problem = replace(problem, noise=update.noise)
        result = _descend(problem, result.point.point, config, sharpen=False)
    results = [result]
    rng = np.random.default_rng(config.search.seed)
    for k in range(1, config.search.starts):
        tell("descending from another start", k, config.search.starts)
        x = own.mean.copy()
        x[own.free] += own.sigma[own.free] * rng.standard_normal(len(own.free))
        x = np.where(np.isfinite(own.lower), np.maximum(x, own.lower + 0.1 * own.sigma), x)
        results.append(_descend(problem, replace(start, x=x), config, sharpen=True))
    return _Fitted(problem, judge(results), update)


def _descend(problem: MechanismProblem, start: Estimate, config: BayesianConfig, *, sharpen: bool) -> Fit:
    """A descent, with friction sharpened on the way where it is far from its end."""
    rules = LevenbergMarquardtConfig(max_iterations=config.search.iterations, cost_tolerance=config.search.tolerance)
    point = start
    if sharpen:
        for factor in config.search.sharpening:
            rough = solve_feasible(sharpened(problem, factor), point, rules)
            if rough.status is SolveStatus.INFEASIBLE or not np.isfinite(rough.cost):
                break
            point = rough.point.point
    return solve_feasible(problem, point, rules)


def _result(mechanism: Mechanism, rest: MechanismLog, config: BayesianConfig, fitted: _Fitted) -> BayesianResult:
    problem, best = fitted.problem, fitted.found.best
    if best.status is SolveStatus.INFEASIBLE:
        raise LogError("the loops cannot be closed along the readings")
    at = best.point
    x = at.point.x
    model = linear_model(problem, at)
    kept = correlation(problem, model)
    theta = None if model.factor is None else parameter_posterior(model.factor, model.rows, kept.extra)
    status = BayesianStatus[fitted.found.status.name] if theta is not None else BayesianStatus.STALLED
    own = mechanism.parameters
    if theta is None:
        theta = ParameterPosterior(
            np.zeros(len(own.free)), np.diag(own.sigma[own.free] ** 2), model.rows.lower, model.rows.upper
        )
    rng = np.random.default_rng(config.search.seed)
    draws = np.tile(x, (config.verdict.samples, 1))
    draws[:, own.free] += theta.samples(config.verdict.samples, rng)
    told = parameters(own, draws, theta, config)
    findings = _findings(fitted, kept, config)
    if any(abs(p.mean - p.prior_mean) > _CONTRADICTION * p.prior_sigma and not p.active for p in told):
        status = max(status, BayesianStatus.CONTRADICTED)
    motion = problem.motion(at.point)
    return BayesianResult(
        status,
        told,
        blind_directions(own, theta, config),
        _noise_levels(mechanism, config, fitted, kept),
        friction_curves(own, draws, motion),
        predict_held_out(mechanism, problem.log, rest, x),
        result_series(problem, at.point),
        coordinate_names(own),
        x[own.free],
        theta.covariance,
        best.iterations,
        fitted.found.costs,
        float(np.abs(mechanism.closures.gaps(at.point.q)).max(initial=0.0)) if mechanism.closures.count else 0.0,
        problem.log.stages,
        findings,
    )


def _noise_levels(
    mechanism: Mechanism, config: BayesianConfig, fitted: _Fitted, kept: Correlation
) -> tuple[NoiseLevel, ...]:
    stated, noise, log = stated_noise(mechanism, config), fitted.problem.noise, fitted.problem.log
    names = np.array(mechanism.chain.joint_names)
    motors = names[mechanism.parameters.motors]
    rows = [
        NoiseLevel(f"position of {name}", "rad", float(stated.position[j]), float(noise.position[j]), 1.0)
        for j, name in enumerate(names)
        if np.isfinite(log.position[:, j]).any()
    ]
    if np.isfinite(log.torque).any():
        columns = zip(motors, stated.torque, noise.torque, kept.torque, strict=True)
        rows += [
            NoiseLevel(f"torque of {name}", "N m", float(before), float(after), float(time))
            for name, before, after, time in columns
        ]
    if np.isfinite(log.power).any():
        rows.append(NoiseLevel("power", "W", stated.power, noise.power, kept.power))
    return tuple(rows)


def _findings(fitted: _Fitted, kept: Correlation, config: BayesianConfig) -> tuple[str, ...]:
    found = []
    if fitted.found.status is SearchStatus.LOCAL_MINIMUM_SUSPECTED:
        costs = ", ".join(f"{cost:.2f}" for cost in fitted.found.costs)
        found.append(
            f"the starts ended at costs {costs}: more of them (search.starts) tell whether there is a lower one"
        )
    if config.noise.estimate and fitted.noise is not None and fitted.noise.change >= SETTLED:
        found.append(f"the noise had not settled after {config.noise.rounds} rounds")
    own = fitted.problem.mechanism
    names = np.array(own.chain.joint_names)[own.parameters.motors]
    long = [f"'{name}' ({time:.0f})" for name, time in zip(names, kept.torque, strict=True) if time > _LASTING]
    if long:
        found.append(f"what the model misses lasts for some stages at {', '.join(long)}; intervals allow for it")
    return tuple(found)
