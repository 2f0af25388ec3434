# SPDX-License-Identifier: Apache-2.0
"""The minimum of a log's problem: descents from several starts, the noise estimated between them.

With nothing known but the prior, softer problems may lead the way and there are other starts. A further part of a log
begins where the part before it ended, one descent away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.results.least_squares import Iteration, SolveResult, SolveStatus
from sysid_nodes.solvers.trajectory_least_squares import LevenbergMarquardtConfig
from sysid_nodes.solvers.trajectory_least_squares.feasible_descent import FeasiblePoint, solve_feasible
from sysid_nodes.solvers.trajectory_least_squares.multi_start import Search, judge
from sysid_nodes.systems.bayesian.config import GAUSSIAN, MOTION, BayesianConfig
from sysid_nodes.systems.bayesian.estimate import Estimate, Noise
from sysid_nodes.systems.bayesian.free_motion import refuse_bound_motion
from sysid_nodes.systems.bayesian.initial_motion import differences, impact_constants, initial_positions, loop_forces
from sysid_nodes.systems.bayesian.knowledge import Knowledge
from sysid_nodes.systems.bayesian.log import MechanismLog
from sysid_nodes.systems.bayesian.mechanism import Mechanism, Motion
from sysid_nodes.systems.bayesian.noise import Pooled, has_settled, pool_noise, pool_stated, quietest, shown_noise
from sysid_nodes.systems.bayesian.problem import MechanismProblem
from sysid_nodes.systems.bayesian.turning import turns, with_doubts

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_SOFTER = 5.0  # times the noise of torques in a softer problem; ten leads some Cassie legs to another minimum
_DAMPING = 1.0  # where a descent begins, relative to what prior and readings of positions tell by themselves
_CORRECTIONS = 3  # of a step for curvature
_ROUGH, _ROUGH_STEPS = 1e-2, 20  # tolerance and most steps of a descent of a softer problem
_MAY_COME_BACK = 5  # rounds after which torques that were left out stay so
Progress = Callable[[str, int, int], None]
"""Called with the work at hand, the step and the number of steps."""
Fit = SolveResult[FeasiblePoint[Estimate]]


@dataclass(frozen=True)
class Fitted:
    """The best of the descents.

    Attributes:
        problem: with the estimated noise.
        found: the search.
        noise: with the stages that have told of each level, those of earlier parts included.
        shown: noise that the log's own residuals show at the end; None where they do not tell.
        settled: whether the noise no longer changed.
        read: (N, n) positions by the readings alone.
    """

    problem: MechanismProblem
    found: Search[FeasiblePoint[Estimate]]
    noise: Pooled
    shown: Noise | None
    settled: bool
    read: Array


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
    return Estimate(q, force, impact_constants(mechanism, q, log.step, x))


def fit(mechanism: Mechanism, log: MechanismLog, config: BayesianConfig, progress: Progress | None) -> Fitted:
    """The minimum, with nothing known but the prior.

    Raises:
        LogError: the loops cannot be closed.
    """
    own = mechanism.parameters
    start = start_point(mechanism, log, own.mean)
    tell = progress or _silent
    tell("first motion", 0, config.noise.rounds)
    noise = stated_noise(mechanism, config)
    if log.unread.all() and config.noise.estimate:
        noise = quietest(noise, log)
    problem = MechanismProblem(mechanism, log, noise, turns(mechanism, log, start))
    if config.noise.acts_on == MOTION:
        refuse_bound_motion(mechanism)
        problem = replace(problem, reference=mechanism.mass(start.q[1:-1], start.x))
    first, result = _with_noise(with_doubts(problem, start), start, config, None, tell)
    results = [result]
    rng = np.random.default_rng(config.search.seed)
    for k in range(1, config.search.starts):
        tell("descending from another start", k, config.search.starts)
        x, drawn = start.x.copy(), own.free[own.free < own.users.stop]  # the readings tell impacts by themselves
        x[drawn] += own.sigma[drawn] * rng.standard_normal(len(drawn))
        bounded = drawn[np.isfinite(own.lower[drawn])]
        x[bounded] = np.maximum(x[bounded], own.lower[bounded] + 0.1 * own.sigma[bounded])
        results.append(descend(first.problem, replace(start, x=x), config))
    return replace(first, found=judge(results))


def refit(known: Knowledge, log: MechanismLog, config: BayesianConfig) -> Fitted:
    """The minimum for a further part of a log.

    Args:
        known: what the parts before say.
        log: the part.
        config: of everything.

    Raises:
        LogError: the loops cannot be closed.
    """
    start = start_point(known.mechanism, log, known.x)
    turning = turns(known.mechanism, log, start)
    problem = MechanismProblem(known.mechanism, log, known.noise.noise, turning, known.told)
    if config.noise.acts_on == MOTION:
        problem = replace(problem, reference=known.mechanism.mass(start.q[1:-1], start.x))
    return _with_noise(with_doubts(problem, start), start, config, known.noise, _silent)[0]


def _with_noise(
    problem: MechanismProblem, start: Estimate, config: BayesianConfig, before: Pooled | None, tell: Progress
) -> tuple[Fitted, Fit]:
    """Descents and the noise in turn, with what earlier parts of a log say of it; None for the first.

    Noise of a short first part begins with what readings scatter by (`quietest`). Where it does not settle from there,
    the model misses something, and it comes from above, as that of a long one does: that takes for noise whatever may
    be, and does not bend the motion.
    """
    first = descend(problem, start, config, soften_first=before is None)
    quiet, rounds = before is None and problem.log.is_short, _Rounds(config, before, tell, start.q)
    found, result = _settle(problem, first, rounds, quiet=quiet)
    if quiet and not found.settled:
        found, result = _settle(problem, first, rounds, quiet=False)
    return found, result


class _Rounds(NamedTuple):
    """Attributes: of everything; noise that earlier parts of a log show, None for the first; who is told of progress;
    positions (N, n) by the readings alone."""

    config: BayesianConfig
    before: Pooled | None
    tell: Progress
    read: Array


def _settle(problem: MechanismProblem, result: Fit, rounds: _Rounds, *, quiet: bool) -> tuple[Fitted, Fit]:
    """Rounds of the noise's estimation after a first descent; from what readings scatter by if `quiet`."""
    config, before, tell, read = rounds
    pooled, shown, settled = before or pool_stated(problem.noise), None, True
    rethinks = config.noise.estimate or config.noise.loss != GAUSSIAN
    for k in range(config.noise.rounds if rethinks else 0):
        tell("estimating the noise", k, config.noise.rounds)
        found = shown_noise(problem, result.point, config.noise) if np.isfinite(result.cost) else None
        settled, shown = found is None, None if found is None else found.noise
        if found is None:
            break
        noise = quietest(found.noise, problem.log) if quiet and k == 0 else found.noise
        # What a log does not tell stays where it has got to: back at what was stated, nothing would settle.
        pooled = pool_noise(before or pool_stated(problem.noise), noise, problem.log.stages)
        if settled := has_settled(problem, pooled.noise, found.weights):
            break
        turning = turns(problem.mechanism, problem.log, result.point.point, read)
        # Used, a torque may slow a joint until it is not to be used; left out it no longer does, and so on for ever.
        turning |= problem.turning & (k >= _MAY_COME_BACK)
        problem = replace(problem, noise=pooled.noise, turning=turning, weights=found.weights)
        problem = with_doubts(problem, result.point.point)
        if problem.reference is not None:
            at = result.point.point
            problem = replace(problem, reference=problem.mechanism.mass(at.q[1:-1], at.x))
        result = descend(problem, result.point.point, config, soften_first=False)
    return Fitted(problem, judge([result]), pooled._replace(noise=problem.noise), shown, settled, read), result


def soften(problem: MechanismProblem, sharpness: float) -> MechanismProblem:
    """The same with torques held less strictly, and with friction that turns over a speed wider by a factor.

    Where torques are read much more exactly than positions tell accelerations, a linear model would from afar rather
    bend the motion than move the constants. Joints without a motor, the most exact, give way the most.
    """
    noise = replace(problem.noise, torque=_SOFTER * problem.noise.torque, passive=_SOFTER**2 * problem.noise.passive)
    return replace(problem, mechanism=replace(problem.mechanism, sharpness=sharpness), noise=noise)


def rules(most: int, tolerance: float) -> LevenbergMarquardtConfig:
    """Of a descent of so many steps at most that ends where one lowers the cost by less, relatively."""
    return LevenbergMarquardtConfig(most, tolerance, initial_damping=_DAMPING, corrections=_CORRECTIONS)


def descend(
    problem: MechanismProblem,
    start: Estimate,
    config: BayesianConfig,
    *,
    soften_first: bool = True,
    progress: Callable[[Iteration], None] | None = None,
) -> Fit:
    """A descent.

    Args:
        problem: to minimise.
        start: readings' motion, and the constants to begin with.
        config: of the search.
        soften_first: whether the start may be far from the end, so that a softer problem leads there.
        progress: told of each iteration, of the softer problems too.
    """
    most, point, before = config.search.iterations, start, 0
    for factor in config.search.sharpening if soften_first else ():
        leading = rules(min(most, _ROUGH_STEPS), _ROUGH)
        rough = solve_feasible(soften(problem, factor), point, leading, progress=progress)
        before += rough.iterations
        if rough.status is SolveStatus.INFEASIBLE or not np.isfinite(rough.cost):
            break
        point = rough.point.point
    found = solve_feasible(problem, point, rules(most, config.search.tolerance), progress=progress)
    return replace(found, iterations=before + found.iterations)


def _silent(_text: str, _done: int, _most: int) -> None:
    """No progress is told."""
