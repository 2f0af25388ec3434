# SPDX-License-Identifier: Apache-2.0
"""Plans commands that tell the most: CMA-ES on command curves, one segment after the other.

Information adds up over segments, so a segment is sought that lowers the criterion most together with what is known
and what the segments before it will tell. Every candidate also has robots drawn from the posterior follow it; one that
lets any of them fall, or leave the area, is no candidate. The whole plan is then vetted (`vetting`), with smaller
commands if it has to be, and compared with random ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.results.exploration import ExplorationPlan, Posterior, Spread, Vetting
from sysid_nodes.robots import Robot
from sysid_nodes.rollouts import GAITS, Command, Simulations, Variants, WalkingPolicy, Walks, walk
from sysid_nodes.rollouts.walking import Memory
from sysid_nodes.solvers.sampling.cma_es import minimise
from sysid_nodes.systems.sampling.config import SamplingConfig
from sysid_nodes.systems.sampling.estimates import jacobian, quantities
from sysid_nodes.systems.sampling.exploration.config import ExplorationConfig
from sysid_nodes.systems.sampling.exploration.criteria import criterion, invert
from sysid_nodes.systems.sampling.exploration.curves import CommandCurves, CurveSpace
from sysid_nodes.systems.sampling.exploration.information import walks_information
from sysid_nodes.systems.sampling.exploration.vetting import draw, vet
from sysid_nodes.systems.sampling.gauss_newton import clips_of
from sysid_nodes.systems.sampling.identify import nominal_drive, nominal_model
from sysid_nodes.systems.sampling.unknowns import Unknowns

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Progress = Callable[[str, int, int], None]
"""Called with what is under way, steps done and steps in all."""

_REFUSED = 1e6  # cost of a candidate under which a robot falls; more for each
_STAND, _TROT = GAITS.index("stand"), GAITS.index("trot")
_ROOM = 512  # simulations at a time
_EVERY = 25  # steps between two states that are looked at where a plan is vetted
_PATH = 0.1  # between two places of the path, as messages have it [s]
_POSTURE = (0.0, 0.8, -1.6)  # of a leg that stands [rad]


@dataclass(frozen=True)
class _Robots:
    """Where R robots are between two segments: states (R, nq + nv) and what their controllers keep."""

    states: Array
    memory: Memory | None


class ExplorationPlanner:
    """Plans for one estimate.

    Args:
        robot: nominal, of four legs.
        sampling: of the identification that made the estimate, and is to follow.
        config: of the plan.
        posterior: the estimate.

    Raises:
        ConfigError: the estimate is of other parameters, or a list does not fit the robot.
        RobotError: the robot does not walk on four legs.
    """

    def __init__(self, robot: Robot, sampling: SamplingConfig, config: ExplorationConfig, posterior: Posterior) -> None:
        self._robot, self._sampling, self._config, self._posterior = robot, sampling, config, posterior
        self._unknowns = unknowns = Unknowns(robot, sampling)
        if tuple(unknowns.index) != posterior.names:
            raise ConfigError("the estimate is of other parameters than this configuration has")
        self._asked = [q for q in quantities(unknowns, sampling.verdict) if q.wanted is not None]
        self._asked = [q for q in self._asked if q.group in ("inertia", "motors")]
        drive = nominal_drive(robot, sampling)
        self._policy = WalkingPolicy(robot, drive, config.walking)
        self._simulations = Simulations(
            nominal_model(robot, sampling, sampling.step), drive, threads=sampling.threads, capacity=_ROOM
        )
        self._rng = np.random.default_rng(config.seed)
        largest = config.commands
        limits = np.array([largest.forward, largest.sideways, largest.turning, largest.roll, largest.pitch])
        self._space = CurveSpace(limits, [GAITS.index(name) for name in config.gaits], config.degree)
        slopes = jacobian(tuple(self._asked), posterior.values)
        wanted = [q.wanted(q.value(posterior.values)) for q in self._asked if q.wanted is not None]
        self._natural, self._slopes = slopes, slopes / np.maximum(wanted, 1e-9)[:, None]
        share = config.duration / (config.duration + posterior.duration)
        together = clips_of(sampling.horizons, len(sampling.horizons.clips) - 1, config.duration + posterior.duration)
        prior = np.diag(posterior.prior)
        fewer = together * (1.0 - share) / max(posterior.clips, 1)
        self._known = prior + fewer * (posterior.information - prior)
        self._clips = together * share  # that the plan's motion will have
        self._step = sampling.step

    def plan(self, progress: Progress | None = None) -> ExplorationPlan:
        """The plan, and whether it is fit (`vetting.faults`)."""
        tell = progress or (lambda _text, _done, _total: None)
        config, search = self._config, self._config.search
        draws = draw(self._posterior, self._unknowns, search.draws, self._rng)
        variants = self._unknowns.variants([self._posterior.values, *draws])
        robots = self._settled(variants)
        information, curves = self._known, self._nothing()
        for k in range(config.segments):
            curves, information, robots = self._segment(k, curves, information, robots, variants, tell)
        curves, vetting, scale = self._vetted(curves, tell)
        tell("comparing with random plans", 0, 1)
        others = self._random() if search.random and not vetting.faults else []
        tell("comparing with random plans", 1, 1)
        return self._told(curves, others, vetting, scale)

    def _nothing(self) -> CommandCurves:
        points = np.zeros((1, 0, 5, self._config.degree + 1))
        return CommandCurves(
            points, np.zeros((1, 0), dtype=np.int64), self._config.segment, self._config.commands.height
        )

    def _settled(self, variants: Variants) -> _Robots:
        """Robots that have stood for a while."""
        count, posture = len(variants), np.tile(_POSTURE, 4)
        start = np.zeros((count, 25 + self._robot.n))
        start[:, 3], start[:, 7:19] = 1.0, posture
        start[:, 2] = self._policy.standing_height(posture)
        standing = Command.standing(count, self._config.commands.height)
        made = walk(
            self._simulations,
            self._policy,
            variants,
            np.arange(count),
            start,
            lambda _: standing,
            max(self._config.settling, self._config.walking.period),
            every=50,
        )
        return _Robots(made.states[:, -1], made.memory)

    def _segment(
        self, k: int, curves: CommandCurves, information: Array, robots: _Robots, variants: Variants, tell: Progress
    ) -> tuple[CommandCurves, Array, _Robots]:
        """The curves with the best next segment, the information with it, and the robots at its end."""
        config, search = self._config, self._config.search
        before = curves.points[0, -1, :, -1] if k else np.zeros(5)
        best: tuple[float, CommandCurves, Array, _Robots] | None = None
        count, done = len(variants), k * search.iterations

        def function(vectors: Array) -> Array:
            nonlocal best
            points, gaits = self._space.segment(vectors, before, last=k == config.segments - 1)
            tried = CommandCurves(points[:, None], gaits[:, None], config.segment, curves.height)
            made = self._walks(tried, variants, robots)
            own = slice(0, None, count)
            told = self._told_by(made.states[own], made.targets[own]) * self._clips / config.segments
            falls = made.fallen.reshape(-1, count).sum(axis=1)
            reach = np.linalg.norm(made.states[..., :2], axis=2).max(axis=1).reshape(-1, count).max(axis=1)
            costs = np.array([criterion(config.criterion, information + each, self._slopes) for each in told])
            costs = np.where(falls > 0, _REFUSED * (1.0 + falls), costs)
            costs = np.where(reach > config.vetting.area, _REFUSED + reach, costs)
            j = int(np.argmin(costs))
            if best is None or costs[j] < best[0]:
                chosen = slice(j * count, (j + 1) * count)
                after = _Robots(made.states[chosen, -1], made.memory.take(np.arange(chosen.start, chosen.stop)))
                joined = _joined(curves, points[j], int(gaits[j]))
                best = float(costs[j]), joined, information + told[j], after
            return costs

        def show(_: float) -> None:
            nonlocal done
            done += 1
            tell(f"planning segment {k + 1} of {config.segments}", done, config.segments * search.iterations)

        size = self._space.size
        minimise(
            function,
            self._rng.uniform(-0.5, 0.5, size),
            -np.ones(size),
            np.ones(size),
            spread=search.spread,
            iterations=search.iterations,
            population=search.population,
            seed=config.seed + k,
            progress=show,
        )
        assert best is not None  # a population is never empty
        return best[1], best[2], best[3]

    def _walks(self, curves: CommandCurves, variants: Variants, robots: _Robots) -> Walks:
        """Each candidate with each robot, P R of them, recorded at every step."""
        count, times = len(variants), len(curves.gaits)
        which = np.tile(np.arange(count), times)
        own = curves.repeat(count)
        memory = None if robots.memory is None else robots.memory.take(which)
        return walk(
            self._simulations,
            self._policy,
            variants,
            which,
            robots.states[which],
            own.at,
            curves.duration,
            memory=memory,
        )

    def _told_by(self, states: Array, targets: Array) -> Array:
        """(P, K, K) information of a clip."""
        sampling = self._sampling
        segments = max(round(targets.shape[1] * self._step / self._config.segment), 1)
        return walks_information(
            states,
            targets,
            self._step,
            self._config.pose_rate,
            self._unknowns,
            sampling.noise,
            self._simulations,
            self._posterior.values,
            round(sampling.horizons.lengths[-1] / self._step) + 1,
            self._config.search.clips * segments,
        )

    def _whole(self, curves: CommandCurves) -> tuple[Walks, Array]:
        """Whole plans (B), followed by the estimated robot, and what is known after each (B, K, K)."""
        variants = self._unknowns.variants([self._posterior.values])
        made = self._walks(curves, variants, self._settled(variants))
        return made, self._known + self._told_by(made.states, made.targets) * self._clips

    def _vetted(self, curves: CommandCurves, tell: Progress) -> tuple[CommandCurves, Vetting, float]:
        """A plan fit for all draws, made calmer as often as it may be, or the last try with its faults."""
        config, scale = self._config.vetting, 1.0
        values = draw(self._posterior, self._unknowns, config.draws, np.random.default_rng(self._config.seed + 1))
        for attempt in range(1, config.attempts + 1):

            def shown(done: int, attempt: int = attempt) -> None:
                tell(f"vetting on drawn robots, try {attempt}", done, config.draws)

            found = vet(self._walk_draws(values, curves, shown), self._robot, config.area, _EVERY * self._step)
            if not found.faults or attempt == config.attempts:
                break
            scale *= config.shrink
            curves = _calmer(curves, found.falls, config.shrink)
        return curves, found, scale

    def _walk_draws(self, values: list[Array], curves: CommandCurves, shown: Callable[[int], None]) -> list[Walks]:
        """In portions, as recordings of all would be large."""
        made = []
        for begin in range(0, len(values), _ROOM // 4):
            variants = self._unknowns.variants(values[begin : begin + _ROOM // 4])
            robots, count = self._settled(variants), len(variants)
            own = curves.repeat(count)
            which = np.arange(count)
            made.append(
                walk(
                    self._simulations,
                    self._policy,
                    variants,
                    which,
                    robots.states,
                    own.at,
                    curves.duration,
                    every=_EVERY,
                    memory=robots.memory,
                )
            )
            shown(begin + count)
        return made

    def _random(self) -> list[Array]:
        """Informations of random plans that do not let the estimated robot fall."""
        count = self._config.search.random
        curves = self._nothing()
        curves = replace(
            curves, points=curves.points.repeat(2 * count, axis=0), gaits=curves.gaits.repeat(2 * count, axis=0)
        )
        before = np.zeros((2 * count, 5))
        for k in range(self._config.segments):
            vectors = self._rng.uniform(-1.0, 1.0, (2 * count, self._space.size))
            points, gaits = self._space.segment(vectors, before, last=k == self._config.segments - 1)
            before = points[..., -1]
            curves = replace(
                curves,
                points=np.concatenate([curves.points, points[:, None]], axis=1),
                gaits=np.column_stack([curves.gaits, gaits]),
            )
        made, information = self._whole(curves)
        return list(information[~made.fallen][:count])

    def _told(self, curves: CommandCurves, others: list[Array], vetting: Vetting, scale: float) -> ExplorationPlan:
        made, (information,) = self._whole(curves)
        config, posterior = self._config, self._posterior
        own = np.sqrt(np.maximum(_variances(self._natural, posterior.covariance), 0.0))
        plain = np.sqrt(_variances(self._natural, invert(posterior.information)))
        # What the log's residuals showed beyond the stated noise is expected of the next log, too.
        excess = np.maximum(own / plain, 1.0)
        after = excess * np.sqrt(_variances(self._natural, invert(information)))
        random = [excess * np.sqrt(_variances(self._natural, invert(other))) for other in others]
        table = np.array(random).reshape(len(random), len(self._asked))
        costs = [criterion(config.criterion, each, self._slopes) for each in (information, *others)]
        every = max(round(_PATH / self._step), 1)
        at = np.arange(0, made.states.shape[1], every)
        return ExplorationPlan(
            robot=self._robot.name,
            estimate=posterior.id,
            segment=config.segment,
            gaits=tuple(GAITS[k] for k in curves.gaits[0]),
            points=curves.points[0],
            height=curves.height,
            criterion=config.criterion,
            costs=np.array(costs),
            spreads=tuple(
                Spread(q.name, q.unit, float(excess[k] * plain[k]), float(after[k]), table[:, k])
                for k, q in enumerate(self._asked)
            ),
            path=np.column_stack([self._step * at, made.states[0, at, :2]]),
            vetting=vetting,
            scale=scale,
        )


def _calmer(curves: CommandCurves, falls: Array, shrink: float) -> CommandCurves:
    """Smaller commands; where robots fell a trot, or standing if they trotted; so everywhere if none fell."""
    gaits = curves.gaits.copy()
    found = np.clip(falls / curves.segment, 0, gaits.shape[1] - 1).astype(int).tolist()
    for k in set(found or range(gaits.shape[1])):
        gaits[:, k] = np.where(gaits[:, k] == _TROT, _STAND, _TROT)
    return replace(curves, points=shrink * curves.points, gaits=gaits)


def _joined(curves: CommandCurves, points: Array, gait: int) -> CommandCurves:
    return replace(
        curves,
        points=np.concatenate([curves.points, points[None, None]], axis=1),
        gaits=np.column_stack([curves.gaits, [[gait]]]),
    )


def _variances(slopes: Array, covariance: Array) -> Array:
    """(Q,)."""
    return np.asarray(np.einsum("qk,kl,ql->q", slopes, covariance, slopes))
