# SPDX-License-Identifier: Apache-2.0
"""Moving-horizon estimation: the newest stages, with earlier knowledge as the arrival cost.

Each solve shifts the last one's answer, predicts the new stages and takes a few Gauss-Newton steps (one is enough once
the window moves: every stage is stepped as often as there are stages in the window). The residuals, the contact model
and the elimination of contact variables are those of full-information estimation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.results.prime import EstimateStatus, PrimeEstimate
from sysid_nodes.signals.samples import AlignedSteps, Samples, join
from sysid_nodes.solvers.trajectory_least_squares import assemble
from sysid_nodes.solvers.trajectory_least_squares.factor import factorise
from sysid_nodes.solvers.trajectory_least_squares.timer import Timer
from sysid_nodes.systems.prime.arrival import (
    Knowledge,
    drop_motion,
    let_parameters_drift,
    next_arrival,
    restart_arrival,
)
from sysid_nodes.systems.prime.at_rest import forget_untold, is_at_rest, open_covariance
from sysid_nodes.systems.prime.dead_reckoning import (
    add_place_unseen,
    distance_since_seen,
    ground_distances,
    hold_place,
    loosen_place,
    release_place,
    stages_with_place,
)
from sysid_nodes.systems.prime.estimate import motion_estimate
from sysid_nodes.systems.prime.firmness import with_firmness
from sysid_nodes.systems.prime.full_information import has_point_feet, solve_by_continuation
from sysid_nodes.systems.prime.horizon_config import HorizonConfig
from sysid_nodes.systems.prime.initialisation import (
    first_seen,
    initial_configurations,
    shows_height,
    with_first_heights,
)
from sysid_nodes.systems.prime.limits import without_limits
from sysid_nodes.systems.prime.model import Model
from sysid_nodes.systems.prime.noise_weights import stated_residuals
from sysid_nodes.systems.prime.observability import largest_rms, turning_rms
from sysid_nodes.systems.prime.outside import outside_wrench
from sysid_nodes.systems.prime.prediction import predict
from sysid_nodes.systems.prime.problem import Arrival, PrimeProblem, build_problem, first_arrival
from sysid_nodes.systems.prime.real_time import Improved, improve
from sysid_nodes.systems.prime.sensing import follow_late_streams
from sysid_nodes.systems.prime.untold_watch import UntoldWatch
from sysid_nodes.systems.prime.window_covariances import WindowCovariances

Array = npt.NDArray[np.float64]

_KEPT = 3
"""Stages that a window has in common with the one before, from which the motion goes on."""

_UNLIKELY = 6.0
"""Standard deviations by which a window's cost may exceed that of the one before until it is solved anew."""

_ELSEWHERE = 0.015
"""By how much more readings alone lift the base at one stage than at another: beyond noise and what gives [m]."""


_ANEW = 8
"""Iterations that a window solved anew takes, about."""


class MovingHorizon:
    """Estimates over the newest stages as they come. Every method is for one thread.

    Args:
        model: of the robot.
        config: window and effort.
        clock: monotonic time [s].

    Attributes:
        stages: of the full window.
    """

    def __init__(
        self, model: Model, config: HorizonConfig | None = None, *, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._model, self._config, self._clock = model, config or HorizonConfig(), clock
        self.stages = self._config.window
        self._times = np.zeros(0)
        self._samples: dict[str, Samples] = {}
        self._waiting: list[AlignedSteps] = []
        self._theta: Array = model.parameters.mean
        self._known: Arrival | None = None
        self._last: Improved | None = None
        self._pose: Array | None = None  # of the base, the newest: where a new motion without mocap begins
        self._arrival: Arrival | None = None
        self._dropped = 0
        self._turned = np.zeros(3)  # of the base since the beginning, see observability.py
        self._swung = 0.0  # of the joints
        self._loaded = False  # whether torques have been read since
        self._rests = False  # whether the robot did throughout the last window
        self._placed = True  # whether something has seen the base's place since the motion began
        self._way = 0.0  # of the first stage since something saw the base's place [m]
        self._covariances = WindowCovariances(self._config.covered)
        self._untold = UntoldWatch()

    def restart(self) -> None:
        """Forgets the motion, for steps that are not connected follow; parameters and their covariance are kept."""
        self._disconnect()
        self._times, self._samples, self._waiting = np.zeros(0), {}, []

    def forget(self) -> None:
        """Forgets everything."""
        self._last = self._known = self._pose = None
        self._theta, self._turned, self._swung, self._loaded = self._model.parameters.mean, np.zeros(3), 0.0, False
        self.restart()
        self._covariances = WindowCovariances(self._config.covered)
        self._untold = UntoldWatch()

    @property
    def knowledge(self) -> Knowledge:
        """Present estimate of the constant unknowns, motion and window aside."""
        return Knowledge(self._theta, self._known)

    def recall(self, knowledge: Knowledge | None) -> None:
        """Forgets the motion but its end, and goes on from what was known of the constants once; None: the prior."""
        kept = self._pose, self._turned, self._swung, self._loaded, self._untold
        self.forget()
        self._pose, self._turned, self._swung, self._loaded, self._untold = kept
        if knowledge is not None:
            self._theta, self._known = knowledge.theta, knowledge.arrival

    def push(self, steps: AlignedSteps) -> None:
        """Appends steps, which must follow the ones before."""
        self._waiting.append(steps)

    def _append_waiting(self) -> None:
        """Appends the steps that were pushed."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        ends, before = np.cumsum([len(self._times), *map(len, waiting)]), self._samples
        joined = dict(before)
        for name in dict.fromkeys(name for steps in waiting for name in steps.samples):
            old = before.get(name)
            new = [
                steps.samples[name].shift(int(by))
                for steps, by in zip(waiting, ends, strict=False)
                if name in steps.samples
            ]
            joined[name] = join([*([old] if old else []), *new], new[0].values.shape[1])
        self._samples = follow_late_streams(self._model.sensors, joined, before, self._model.config.step)
        self._times = np.concatenate([self._times, *(steps.times for steps in waiting)])

    def step(self, window: int | None = None, spare: Timer | None = None) -> PrimeEstimate | None:
        """Solves over the last `window` stages, the full window if None; None while there are too few steps, or
        a robot that begins in the air, unseen by any pose, has yet to land: nothing tells how high it is.

        A shorter window is less work; it grows again by itself when a longer one is asked for. It is never so short
        that nothing connects it with the last one, as long as the full window is long enough for that.

        A moving window takes no further step when the timer `spare` is up, nor is it solved anew.
        """
        self._append_waiting()
        if self._last is None:
            self._move(first_seen(self._samples, len(self._times)))
        new = len(self._times) - (self._last.problem.stages if self._last is not None else 0)
        window = max(_KEPT, window or self.stages, min(new + _KEPT, self.stages))
        if len(self._times) < (_KEPT if self._last is not None else min(window, self._config.first)):
            return None
        timer = Timer(self._clock, self._config.time_limit, spare)
        self._move(len(self._times) - window)
        if self._last is None and not shows_height(self._model, self._samples, len(self._times)):
            return None
        solved = self._begin() if self._last is None else self._continue(self._last, timer)
        return self._keep(solved, timer)

    def _move(self, count: int) -> None:
        """Drops the first stages, what they say going into the arrival cost."""
        if count <= 0:
            return
        last = self._last
        if last is not None:
            self._arrival = None
            if count <= last.problem.stages - _KEPT:  # else too few stages are left to go on from
                self._arrival = self._let_drift(self._next_arrival(last, count), last, count)
            if self._arrival is None:
                self._disconnect()
        stop = len(self._times)
        self._times = self._times[count:]
        self._samples = {name: samples.between(count, stop) for name, samples in self._samples.items()}
        self._dropped = count

    def _disconnect(self) -> None:
        """Ends a motion; what it says about the parameters is kept."""
        if (last := self._last) is not None:
            end = self._next_arrival(last, last.problem.stages - 1)
            self._known = None if end is None else drop_motion(end)
            self._theta = self._model.parameters.mean if end is None else end.theta
        self._last, self._arrival, self._dropped, self._way = None, None, 0, 0.0
        self._covariances.restart()
        self._untold.restart()

    @property
    def _has_turned(self) -> bool:
        """Whether the base ever turned as fast as an inertia needs to be seen."""
        return bool(self._turned.max() >= self._model.config.inertia.least_turning)

    def _next_arrival(self, last: Improved, count: int) -> Arrival | None:
        tells = last.fits and self._has_turned and not self._rests
        problem, effects = self._untold.effects(last.problem, last.linearised, count, fits=tells)
        variances = self._covariances.variances
        arrival = next_arrival(problem, last.blocks, last.linearised, last.factor, count, variances, effects)
        if arrival is None:
            return None
        arrival = forget_untold(self._model.parameters, arrival) if self._rests else arrival
        return self._untold.look(problem, arrival, count)

    def _let_drift(self, arrival: Arrival | None, last: Improved, count: int) -> Arrival | None:
        """Widens the arrival for the drift during the stages that leave."""
        if arrival is None:
            return None
        seen = stages_with_place(self._samples, count + 1)
        before, way = self._way, ground_distances(self._model, last.result.point.q[: count + 1])
        self._way = float(distance_since_seen(way, seen, before)[-1])
        arrival = loosen_place(self._model, arrival, before, self._way)
        if not self._config.memory > 0.0:
            return arrival
        share = np.sqrt(count * self._model.config.step / self._config.memory)
        parameters = self._model.parameters
        spread = parameters.linear_jacobian(arrival.theta) * parameters.sigma
        return let_parameters_drift(arrival, share * spread)

    def _begin(self) -> Improved:
        """A first window, solved to the end with the contacts' smoothing from coarse to fine."""
        model, stages = self._model, len(self._times)
        q = initial_configurations(model, self._samples, stages, self._theta, self._pose)
        self._placed = bool(stages_with_place(self._samples, stages).any())
        first = first_arrival(model, q[0])
        self._arrival = restart_arrival(first if self._placed else hold_place(model, first), self._known)
        return self._solve_anew(self._build_problem(self._arrival), q, self._theta)

    def _solve_anew(self, problem: PrimeProblem, q: Array, theta: Array) -> Improved:
        """A window from a guess that is no answer of before, to the end."""
        most = self._config.first_iterations
        problem, solved = solve_by_continuation(problem, q, theta, most=most, clock=self._clock)
        again = improve(problem, solved.point, 1, Timer(None, 0.0), self._config.most_iterations)
        return replace(again, result=replace(again.result, iterations=again.result.iterations + solved.iterations))

    def _continue(self, last: Improved, timer: Timer) -> Improved:
        """A step or a few from where the last window ended."""
        assert self._arrival is not None
        if not self._placed and stages_with_place(self._samples, len(self._times)).any():
            self._arrival, self._placed = release_place(self._model, self._arrival, self._theta), True
        problem = self._build_problem(self._arrival)
        # Several new stages at once are several steps' work, of which two do most.
        iterations = max(self._config.iterations, 2 if self._dropped > 1 else 1)
        # What did not fit before, as in a fall, is not worth more steps at every solve.
        most = self._config.most_iterations if last.fits else iterations
        kept = last.problem.stages - self._dropped
        start = predict(last.result.point, problem, self._samples, kept)
        found = improve(with_firmness(problem, start), start, iterations, timer, most)
        return self._settle(last, found, kept, timer) if most > iterations else found

    def _settle(self, last: Improved, found: Improved, kept: int, timer: Timer) -> Improved:
        """A window that may be at another minimum than the lowest, once again from elsewhere.

        A foot that comes down a stage sooner or later than predicted leaves a minimum that no step leads out of, and
        what it says of ground and feet stays in the constants: new stages cost more than noise explains, and the window
        is solved from the readings, from coarse to fine. After a fall that no pose saw the end of, the base may seem to
        have stopped in the air, on ground that is there: what readings alone say of its height leads elsewhere, and the
        window is solved from there.
        """
        assert self._arrival is not None
        problem, q, theta = found.problem, found.result.point.q, self._arrival.theta
        anew = with_first_heights(self._model, q, self._samples)
        if np.ptp((anew - q)[:, :3] @ problem.law.plane.axes[0]) > _ELSEWHERE:
            return found if timer.is_up(_ANEW) else _better(found, self._solve_anew(problem, anew, theta))
        # Corners of a foot come down one after the other: of those a window anew does not tell more.
        likely = not has_point_feet(problem) or found.result.cost <= _likely_cost(last, found, kept)
        if likely or timer.is_up(_ANEW):
            return found
        read = initial_configurations(self._model, self._samples, problem.stages, theta, q[0, :7])
        return _better(found, self._solve_anew(problem, read, theta))

    def _build_problem(self, arrival: Arrival) -> PrimeProblem:
        """Of the window, its readings weighed by the noise that those before it showed.

        Drives, links and what else a stand does not tell stay at their prior's mean until base or joints have moved.
        """
        problem = build_problem(self._model, self._samples, len(self._times), arrival)
        config = self._model.config
        moved = self._has_turned or self._swung >= config.inertia.least_swing
        at_rest = not moved and is_at_rest(self._samples, config)
        return problem.hold_constants() if at_rest else self._covariances.weights.weigh(problem)

    def _free(self, solved: Improved) -> Improved:
        """A solved window whose constants are uncertain whether they were held or not."""
        if solved.problem.model is self._model or solved.factor is None:
            return solved
        problem = replace(solved.problem, model=self._model)
        blocks = (*solved.blocks[:-1], problem.priors(solved.linearised)[1])
        return replace(solved, problem=problem, blocks=blocks, factor=factorise(assemble(blocks, problem.layout), 0.0))

    def _keep(self, solved: Improved, timer: Timer) -> PrimeEstimate:
        """Remembers a solved window and makes it a result."""
        self._rests = rests = solved.problem.model is not self._model
        solved = _drop_limits(self._free(solved))
        result, times = solved.result, self._times
        found = self._covariances.of(solved, times, self._dropped, rests=rests) if solved.finite else None
        if rests and found is not None:
            found = replace(found, parameter=open_covariance(self._model.parameters, found.parameter))
        motion = solved.problem.inner.residuals(result.point, solved.problem.law)[2]
        self._turned = np.maximum(self._turned, turning_rms(motion))
        self._swung = max(self._swung, float(largest_rms(motion.velocity[:, 6:], motion.dt).max(initial=0.0)))
        self._loaded = self._loaded or solved.problem.loaded
        kept = 0 if self._last is None else self._last.problem.stages - self._dropped
        estimate = motion_estimate(
            solved.problem,
            result,
            stated_residuals(solved.problem, solved.residuals),
            found,
            times,
            iterations=result.iterations,
            solve_time=0.0,
            turned=self._turned,
            loaded=self._loaded,
            first=kept - self._config.covered,
        )
        root = np.sqrt(self._covariances.ratio)
        covariance = estimate.q_covariance * (root[:, None] * root)
        estimate = replace(estimate, q_covariance=covariance, untold=self._untold.shown)
        if not self._placed:
            estimate = add_place_unseen(self._model, estimate, result.point.theta)
        if found is not None and solved.factor is not None:
            pushed = outside_wrench(
                solved.problem, result.point.theta, solved.residuals, solved.blocks, solved.factor, found
            )
            estimate = replace(estimate, outside=pushed)
        if estimate.status is EstimateStatus.FAILED:
            self.restart()
        else:
            self._last = solved
            self._pose = result.point.q[-1, :7]
            self._theta = result.point.theta
        self._dropped = 0
        return replace(estimate, solve_time=timer.elapsed())


def _likely_cost(last: Improved, found: Improved, kept: int) -> float:
    """Cost of a window that noise as in the last one explains, of which it has that many stages.

    Half a sum of n squares of variance v has the variance n v^2 / 2, and those that leave as much as those that come.
    """
    before, size = (sum(group.size for group in one.residuals) for one in (last, found))
    new = (1.0 - kept / found.problem.stages) * size
    return float(last.result.cost / before * (size + _UNLIKELY * 2.0 * np.sqrt(new)))


def _better(one: Improved, other: Improved) -> Improved:
    """That of the lower cost, with the iterations of both."""
    iterations = one.result.iterations + other.result.iterations
    best = other if other.result.cost < one.result.cost else one
    return replace(best, result=replace(best.result, iterations=iterations))


def _drop_limits(solved: Improved) -> Improved:
    """A solved window as its readings alone tell of it, to later windows as well: see limits.py."""
    problem = solved.problem
    if problem.limits is None:
        return solved
    blocks, residuals = without_limits(problem.groups, solved.blocks), without_limits(problem.groups, solved.residuals)
    problem = replace(problem, limits=None)
    factor = None if solved.factor is None else factorise(assemble(blocks, problem.layout), 0.0)
    return replace(solved, problem=problem, blocks=blocks, residuals=residuals, factor=factor)
