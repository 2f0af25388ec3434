# SPDX-License-Identifier: Apache-2.0
"""Plans commands that tell the most, one segment after the other.

Information adds up over segments, so a segment is sought that lowers the criterion most together with what is known
and what the segments before it will tell. It is taken only if all robots drawn from the posterior have followed it
unharmed and come to rest after it (`vetting`); those that were harmed are watched in the search from then on. Where no
motion is fit the robot stands, which is vetted, too; a plan of nothing else is refused. Commands that one segment had
to make smaller are no larger in those after it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.results.exploration import ExplorationPlan, Posterior, Spread, Vetting
from sysid_nodes.robots import Robot
from sysid_nodes.rollouts import GAITS, commanded_policy
from sysid_nodes.rollouts.shells import Shell, known_shell
from sysid_nodes.systems.sampling.config import SamplingConfig
from sysid_nodes.systems.sampling.exploration.config import ExplorationConfig
from sysid_nodes.systems.sampling.exploration.crowd import Crowd, Places, draw
from sysid_nodes.systems.sampling.exploration.curves import CommandCurves, CurveSpace
from sysid_nodes.systems.sampling.exploration.forecast import Forecast
from sysid_nodes.systems.sampling.exploration.information import WalkInformation
from sysid_nodes.systems.sampling.exploration.search import Candidate, SegmentSearch, Start
from sysid_nodes.systems.sampling.exploration.vetting import Conditions, Vetted, together, vet
from sysid_nodes.systems.sampling.identify import nominal_drive, nominal_model, other_simulations, simulations
from sysid_nodes.systems.sampling.unknowns import Unknowns

Array = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]
"""Called with what is under way, steps done and steps in all."""

_ROOM = 512  # simulations at a time
_PATH = 0.1  # between two places of the path, as messages have it [s]
_AGAIN = 6  # candidates of a search that are judged once more
_MORE = 4  # harmed robots that are watched from then on


@dataclass(frozen=True)
class _Course:
    """A plan so far.

    Attributes:
        curves: of one robot.
        places: of all robots at its end.
        known: told by it and by the first log.
        vettings: of its segments.
        scale: of the smallest commands that a segment had to take.
        within: scale of the last segment that moves.
        moves: whether the robot does more than stand.
        refused: faults of the last segment that was not taken.
    """

    curves: CommandCurves
    places: Places
    known: WalkInformation
    vettings: tuple[Vetting, ...]
    scale: float
    within: float = 1.0
    moves: bool = False
    refused: tuple[str, ...] = ("every motion that was tried harms the estimated robot or one near it",)

    @property
    def unfit(self) -> bool:
        """Whether its last segment does harm."""
        return bool(self.vettings and self.vettings[-1].faults)


class ExplorationPlanner:
    """Plans for one estimate.

    Args:
        robot: nominal, of four legs or two.
        sampling: of the identification that made the estimate, and is to follow.

    Attributes:
        crowd: the estimated robot and those that plans are vetted on.
        forecast: of what walks tell.

    Raises:
        ConfigError: the estimate is of other parameters, or a list does not fit the robot.
        RobotError: the robot does not walk on four legs or two.
    """

    def __init__(self, robot: Robot, sampling: SamplingConfig, config: ExplorationConfig, posterior: Posterior) -> None:
        self._robot, self._config, self.posterior = robot, config, posterior
        unknowns = Unknowns(robot, sampling)
        if tuple(unknowns.index) != posterior.names:
            raise ConfigError("the estimate is of other parameters than this configuration has")
        drive = nominal_drive(robot, sampling)
        self._policy = policy = commanded_policy(robot, drive, config.walking)
        self._height = config.commands.height or policy.walking_height
        # Who plans a motion has knees: what harms the real robot must be seen. The identification's clips have feet.
        whole, feet = (nominal_model(robot, sampling, sampling.step, parts) for parts in (known_shell(robot), ()))
        drawn = draw(posterior, unknowns, config.vetting.draws, np.random.default_rng(config.seed))
        self.crowd = Crowd(
            simulations(whole, drive, sampling, _ROOM), policy, unknowns.variants([posterior.values, *drawn])
        )
        others = other_simulations(robot, sampling, drive)
        self.forecast = Forecast(
            sampling, config, posterior, unknowns, simulations(feet, drive, sampling, _ROOM), others
        )
        largest = np.minimum(config.commands.largest, policy.obeyed)
        self._space = CurveSpace(largest, [GAITS.index(name) for name in config.gaits], config.degree)
        self._conditions = Conditions(robot, Shell(whole), config.vetting.area, config.vetting.stop)
        self._search = SegmentSearch(
            self.crowd,
            self._space,
            config.segment,
            self._height,
            self._conditions,
            config.search,
        )
        self._step, self._ends = sampling.step, np.inf

    def plan(self, progress: Progress | None = None) -> ExplorationPlan:
        """The plan, and whether it is fit (`vetting.faults`)."""
        tell = progress or (lambda _text, _done, _total: None)
        self._ends = time.monotonic() + (self._config.search.limit or np.inf)
        own = self._course("planning", tell, None)
        self._ends = np.inf
        count = 0 if own.unfit else self._config.search.random
        random = [self._course(f"random plan {k + 1}", tell, self._chance(k)) for k in range(count)]
        return self._make_plan(own, [self.simulate_plan(course.curves)[1] for course in random if not course.unfit])

    def random(self, number: int) -> ExplorationPlan:
        """A plan by chance, vetted alike."""
        return self._make_plan(self._course("", lambda _text, _done, _total: None, self._chance(number)), [])

    def simulate_plan(self, curves: CommandCurves) -> tuple[Array, WalkInformation]:
        """States (T + 1, nq + nv) of the estimated robot under a plan (curves of one), and what is known after it."""
        first = np.zeros(1, dtype=np.int64)
        walks = self.crowd.follow(first, self._rest.take(first), curves, curves.duration)
        return walks.states[0], self.forecast.known + self.forecast.walk_information(walks.states, walks.targets)[0]

    @cached_property
    def _rest(self) -> Places:
        """Where all robots stand before the plan."""
        return self.crowd.settle(self._height, self._config.settling)

    def _chance(self, number: int) -> np.random.Generator:
        return np.random.default_rng([self._config.seed, number])

    def _course(self, name: str, tell: Progress, chance: np.random.Generator | None) -> _Course:
        """All segments, or those up to one that does harm; by chance, or those that tell most."""
        config, count = self._config, self._config.segments
        standing = CommandCurves.standing(1, self._height, config.segment, config.degree)
        course = _Course(standing, self._rest, self.forecast.known, (), 1.0)
        done, total = 0, count * (config.search.iterations + 2)
        for k in range(count):

            def show(robots: int = 0, k: int = k) -> None:
                nonlocal done
                done = min(done + (not robots), total)
                vetted = f": vetted on {robots} of {len(self.crowd)} robots" if robots else ""
                tell(f"{name}, segment {k + 1} of {count}{vetted}", done, total)

            course = self._segment(k, course, show, chance)
            if course.unfit:
                break
        return course

    def _segment(
        self, k: int, course: _Course, show: Callable[[int], None], chance: np.random.Generator | None
    ) -> _Course:
        """With one more segment."""
        config, last = self._config, k == self._config.segments - 1
        before = course.curves.points[0, -1, :, -1] if k else np.zeros(5)
        start, scale = Start(course.places, before, last), course.within
        watched = list(range(1 + min(config.search.draws, config.vetting.draws)))
        for _ in range(config.vetting.attempts):
            if time.monotonic() > self._ends:
                course = replace(course, refused=(f"{config.search.limit:g} s are over", *course.refused))
                break
            show(0)
            if chance is None:
                judge = self.forecast.judge(course.known, config.search.clips)
                candidates = self._search.best(start, watched, judge, scale, config.seed + k, lambda: show(0))
                candidates = self._judge_again(candidates, course)
            else:
                candidates = self._search.random(start, watched, scale, chance)
            while candidates:
                vetted = vet(self.crowd, course.places, candidates[0].curves, self._conditions, show)
                if not vetted.harmed.any():
                    taken = self._extend_course(course, candidates[0], vetted, scale)
                    return replace(taken, within=scale, moves=True)
                course = replace(course, refused=vetted.vetting.faults)
                harmed = np.flatnonzero(vetted.harmed)[:_MORE].tolist()
                watched = sorted({*watched, *harmed})
                candidates = self._search.drop_harmful(candidates[1:], start, harmed)
            scale *= config.vetting.shrink
        still = Candidate(self._space.stop_segment(before, config.segment, self._height), np.inf)
        vetted = vet(self.crowd, course.places, still.curves, self._conditions, show)
        return self._extend_course(course, still, vetted, 0.0)

    def _judge_again(self, candidates: list[Candidate], course: _Course) -> list[Candidate]:
        """Sorted candidates, the first by more clips: the few that a search has flatter those that it finds."""
        if not candidates:
            return []
        curves = CommandCurves.joined([candidate.curves for candidate in candidates[:_AGAIN]])
        first = np.zeros(len(curves.gaits), dtype=np.int64)
        walks = self.crowd.follow(first, course.places.take(first), curves, curves.duration)
        order = np.argsort(self.forecast.judge(course.known)(walks.states, walks.targets))
        return [candidates[k] for k in order] + candidates[_AGAIN:]

    def _extend_course(self, course: _Course, candidate: Candidate, vetted: Vetted, scale: float) -> _Course:
        own, first = candidate.curves, np.zeros(1, dtype=np.int64)
        walks = self.crowd.follow(first, course.places.take(first), own, own.duration)
        told = self.forecast.walk_information(walks.states, walks.targets)[0]
        return replace(
            course,
            curves=course.curves.append(own.points[:, 0], own.gaits[:, 0]),
            places=vetted.places,
            known=course.known + told.times(1.0 / self._config.segments),
            vettings=(*course.vettings, vetted.vetting),
            scale=min(course.scale, scale),
        )

    def _make_plan(self, course: _Course, others: list[WalkInformation]) -> ExplorationPlan:
        states, known = self.simulate_plan(course.curves)
        config, forecast, vetting = self._config, self.forecast, together(course.vettings)
        at = np.arange(0, len(states), max(round(_PATH / self._step), 1))
        after, random = forecast.sigmas(known), [forecast.sigmas(other) for other in others]
        table = np.array(random).reshape(len(random), len(after))
        return ExplorationPlan(
            robot=self._robot.name,
            estimate=self.posterior.id,
            policy=self._policy.id,
            segment=config.segment,
            gaits=tuple(GAITS[k] for k in course.curves.gaits[0]),
            points=course.curves.points[0],
            height=course.curves.height,
            criterion=config.criterion,
            costs=np.array([forecast.cost(each) for each in (known, *others)]),
            spreads=tuple(
                Spread(q.name, q.unit, float(now), float(then), table[:, k])
                for k, (q, now, then) in enumerate(zip(forecast.asked, forecast.now, after, strict=True))
            ),
            path=np.column_stack([self._step * at, states[at, :2]]),
            vetting=vetting if course.moves or vetting.faults else replace(vetting, faults=course.refused),
            scale=course.scale,
        )
