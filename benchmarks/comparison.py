# SPDX-License-Identifier: Apache-2.0
"""The paper's comparison (Tables II, III and V) in simulation: who carries five dumbbells over an obstacle?

One motion an experiment, computed for the heaviest dumbbell, is executed with the controller and the model of each
method. `ours`, `random` and `algorithm 1` have identified the payload for 7.5 s before, in certified motion; `random`
with the authors' ranges, `algorithm 1` with the paper's identification instead of ours. `grav-pid-excit` has followed a
Fourier series, the adaptive controllers called `excit` the motion of `ours`. Condition numbers of that phase, and the
fastest motion that each method's bounds can certify. With 8 lb the same again with a tenth of the feedback, and on an
arm with the friction and offsets of a real one, where its log is at hand.

Exit status 1 when `ours` failed, or a published interval missed the truth.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path

import numpy as np

from benchmarks.adaptive_control import Adaptive, AdaptiveRobust, SlotineLi
from benchmarks.comparison_cases import Case, Found
from benchmarks.comparison_certificates import certify, error_bound, fastest, is_certified
from benchmarks.comparison_experiments import EXPERIMENTS, Experiment
from benchmarks.comparison_learning import (
    ALGORITHM_1,
    FOURIER,
    MOTIONS,
    OURS,
    PROVEN,
    RANDOM,
    Learned,
    fourier_motion,
    identify,
    identify_by_pid,
    practise,
)
from benchmarks.comparison_methods import (
    ADAPTIVE,
    ADAPTIVE_1,
    ADAPTIVE_1_EXCIT,
    CONSERVATIVE,
    GRAVITY_PID,
    METHODS,
    NOMINAL,
    PID,
    PRACTISED,
    SOURCE,
    WRONG,
    Setting,
    assumed_models,
    true_robot,
    variants,
)
from benchmarks.comparison_report import summarise
from benchmarks.comparison_task import Facts, Motion, Task, facts, make_task
from benchmarks.comparison_trial import adaptive_follower, execute, pid_follower, robust_follower
from benchmarks.report import REPORTS, Report, parser, progress
from sysid_nodes.data.scene import Scene
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.robots.kinova_gen3.payloads import DUMBBELLS
from sysid_nodes.simulation.arm.true_robot import TrueRobot

_DATA = REPORTS.parents[2] / "shared" / "data"


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("comparison", __doc__)
    options.add_argument("--pounds", type=float, nargs="+", default=list(DUMBBELLS), help="dumbbells [lb]")
    options.add_argument("--rate", type=float, default=4000.0, help="samples per second for the identifier [Hz]")
    options.add_argument("--quick", action="store_true", help="8 lb in experiment (a) only, 1000 samples per second")
    options.add_argument("--data", type=Path, default=_DATA, help="folder of real logs")
    chosen = options.parse_args(arguments)
    pounds, rate, experiments = sorted(chosen.pounds), chosen.rate, EXPERIMENTS
    if chosen.quick:
        pounds, rate, experiments = [8.0], min(rate, 1000.0), EXPERIMENTS[:1]
    found = compare(pounds, experiments, rate, chosen.seed)
    if not chosen.quick:
        for setting in variants(chosen.data):
            again = compare(pounds[-1:], experiments, rate, chosen.seed, setting, found)
            found.variants[setting.title] = again.cases
    report = Report("comparison", "Comparison with the paper's baselines", chosen.out, chosen.command)
    summarise(report, found, rate)
    print(report.write())
    proven = [by[name] for by in found.learned.values() for name in PROVEN]
    ours = [case for case in found.cases if case.method == OURS]
    good = all(case.certified and case.outcome is not None and not case.outcome.failures for case in ours)
    return 0 if good and all(each.contains for each in proven if each is not None) else 1


def compare(
    pounds: Sequence[float],
    experiments: Sequence[Experiment],
    rate: float,
    seed: int,
    setting: Setting = NOMINAL,
    nominal: Found | None = None,
) -> Found:
    """Identifies with every motion, then executes with every method.

    ``nominal``: what was found with the nominal setting, of which another has the motions, and those that adaptive
    controllers follow to learn; and what was identified, where only the feedback is another.
    """
    trial = Trial(setting, seed)
    experiments = [experiment for experiment in experiments if max(pounds) >= experiment.least]
    tasks = nominal.tasks if nominal is not None else trial.tasks(experiments)
    learned: dict[float, dict[str, Learned | None]] = {weight: {} for weight in pounds}
    if nominal is not None and (setting.told, setting.true) == (NOMINAL.told, NOMINAL.true):
        learned = nominal.learned  # which knows nothing of the feedback
    else:
        motions = (*(MOTIONS if nominal is None else (OURS, RANDOM, ALGORITHM_1)), FOURIER)
        for weight, motion in progress([(w, m) for w in pounds for m in motions], "comparison, identification"):
            learned[weight][motion] = trial.learn(weight, motion, rate)
    followed = learned if nominal is None else nominal.learned
    jobs = [
        (name, weight, method)
        for name, (task, _) in tasks.items()
        for weight in pounds
        if weight >= task.experiment.least
        for method in METHODS
    ]
    cases = [
        trial.run(tasks[name][0], method, weight, learned[weight], followed[weight][OURS], timed=nominal is None)
        for name, weight, method in progress(jobs, "comparison, execution")
    ]
    return Found(tasks, learned, cases, {weight: float(setting.arm(weight, seed).theta[0]) for weight in pounds})


class Trial:
    """Runs the methods in one setting."""

    def __init__(self, setting: Setting, seed: int) -> None:
        self._setting, self._seed, self._planner = setting, seed, setting.planner(seed)
        self._fastest: dict[tuple[str, str], float] = {}
        self._fourier: Motion | None = None
        self._practised: dict[tuple[str, float], tuple[Adaptive, tuple[str, ...]]] = {}

    def tasks(self, experiments: Sequence[Experiment]) -> dict[str, tuple[Task, Facts]]:
        """The motions of the experiments, and what they ask of the heaviest dumbbell."""
        robot, nearness, found = self._planner.robot, self._planner.nearness, {}
        for experiment in experiments:
            task = make_task(experiment, robot, nearness)
            found[experiment.name] = (task, facts(task, robot, nearness, max(DUMBBELLS)))
        return found

    def learn(self, pounds: float, motion: str, rate: float) -> Learned | None:
        """An identification phase."""
        setting, seed = self._setting, self._seed
        arm, planner = setting.arm(pounds, seed), setting.planner(seed)
        if motion != FOURIER:
            return identify(planner, arm, motion, setting.told, rate, seed)
        self._fourier = self._fourier or fourier_motion(planner.robot, seed)
        bare = assumed_models(PID, planner, {}, setting.told)
        assert bare is not None
        return identify_by_pid(planner.robot, self._fourier, bare, arm, true_robot(arm), pounds, setting.told, seed)

    def run(
        self,
        task: Task,
        method: str,
        pounds: float,
        learned: dict[str, Learned | None],
        followed: Learned | None,
        *,
        timed: bool,
    ) -> Case:
        """One method; ``followed``: whose plans the adaptive controllers called excit follow first."""
        planner, name, nothing = self._planner, task.experiment.name, float("nan")
        arm = self._setting.arm(pounds, self._seed)
        truth, trouble = true_robot(arm), troubles(method, learned)
        box = assumed_models(method, planner, learned, self._setting.told)
        if box is None:
            proven = None if method in GRAVITY_PID else False
            return Case(name, method, pounds, proven, "nothing was identified", np.inf, None, nothing, trouble)
        if method in GRAVITY_PID:
            follower = pid_follower(planner.robot, box)
            outcome = execute(planner.robot, task.motion, truth, pounds, follower, self._seed)
            mass = float(box.theta[planner.body_index, 0])
            return Case(name, method, pounds, None, "", nothing, outcome, mass, trouble)
        if method in ADAPTIVE:
            kind = SlotineLi if method in (ADAPTIVE_1, ADAPTIVE_1_EXCIT) else AdaptiveRobust
            return self._adapt(task, method, pounds, kind(planner.robot, box, self._setting.control), truth, followed)
        scene = task.experiment.surroundings()
        certificates = certify(planner, task, task.experiment.duration, box, scene)
        one, two = certificates
        binding = one.binding if two is None or not one.certified else two.binding
        shortest = self._shortest(task, method, box, scene) if timed else nothing
        follower = robust_follower(planner, task, box, certificates, self._setting.control)
        bound = error_bound(task, certificates)
        outcome = execute(planner.robot, task.motion, truth, pounds, follower, self._seed, bound)
        mass = float(box.theta[planner.body_index, 0])
        return Case(name, method, pounds, is_certified(certificates), binding, shortest, outcome, mass, trouble)

    def _adapt(
        self, task: Task, method: str, pounds: float, controller: Adaptive, truth: TrueRobot, followed: Learned | None
    ) -> Case:
        robot, trouble = self._planner.robot, tuple[str, ...]()
        if method in PRACTISED:
            if followed is None or not followed.plans:
                return Case(task.experiment.name, method, pounds, None, "", float("nan"), None)
            if (method, pounds) not in self._practised:
                failures = practise(self._planner, followed.plans, controller, truth, pounds, self._seed).failures
                self._practised[method, pounds] = controller, failures
            controller, trouble = deepcopy(self._practised[method, pounds])
        outcome = execute(robot, task.motion, truth, pounds, adaptive_follower(robot, controller), self._seed)
        name, mass = task.experiment.name, float(controller.theta[self._planner.body_index, 0])
        return Case(name, method, pounds, None, "", float("nan"), outcome, mass, trouble)

    def _shortest(self, task: Task, method: str, box: ModelBox, scene: Scene) -> float:
        """The fastest certified duration; that of bounds which are the same for every dumbbell is found once."""
        key = (task.experiment.name, method)
        if key in self._fastest:
            return self._fastest[key]
        shortest = fastest(self._planner, task, box, scene)
        if method in (CONSERVATIVE, WRONG):
            self._fastest[key] = shortest
        return shortest


def troubles(method: str, learned: dict[str, Learned | None]) -> tuple[str, ...]:
    """Trouble while a method identified the payload."""
    found = learned.get(SOURCE.get(method, method))
    return () if found is None else found.trouble


if __name__ == "__main__":
    sys.exit(main())
