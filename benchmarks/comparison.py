# SPDX-License-Identifier: Apache-2.0
"""The paper's comparison (Tables III and V) in simulation: who carries five dumbbells over an obstacle to a platform?

One motion an experiment, computed for the heaviest dumbbell, is executed with the controller and the model of each
method. `ours` and `random` have identified the payload for 7.5 s before, in certified motion; `random` with the
authors' ranges. Condition numbers of that phase, and the fastest motion that each method's bounds can certify.

Exit status 1 when `ours` failed, or a published interval missed the truth.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.certified_motion import make_planner
from benchmarks.comparison_certificates import certified, certify, error_bound, fastest
from benchmarks.comparison_methods import (
    CONSERVATIVE,
    METHODS,
    OURS,
    PID,
    PID_OURS,
    RANDOM,
    RANDOM_WIDE,
    WRONG,
    Learned,
    assumed,
    drawn_arm,
    identify,
    true_robot,
)
from benchmarks.comparison_report import summarise
from benchmarks.comparison_task import EXPERIMENTS, Experiment, Facts, Task, facts, make_task
from benchmarks.comparison_trial import Outcome, execute, pid_follower, robust_follower
from benchmarks.report import Report, parser, progress
from sysid_nodes.robots.kinova_gen3.payloads import DUMBBELLS
from sysid_nodes.systems.certified.search.config import PlannerConfig
from sysid_nodes.systems.certified.search.planner import Planner

MOTIONS = (OURS, RANDOM, RANDOM_WIDE)


@dataclass(frozen=True)
class Case:
    """One method with one dumbbell in one experiment.

    Attributes:
        experiment, method, pounds: which.
        certified: whether the motion was certified beforehand; None for a controller without bounds.
        binding: what a certificate says is nearest to its limit, or why there is none.
        fastest: shortest duration that is certified [s]; NaN for a controller without bounds.
        outcome: of the execution; None where nothing was identified.
    """

    experiment: str
    method: str
    pounds: float
    certified: bool | None
    binding: str
    fastest: float
    outcome: Outcome | None


@dataclass(frozen=True)
class Found:
    """Everything a report is made of; ``learned`` by dumbbell and motion."""

    tasks: dict[str, tuple[Task, Facts]]
    learned: dict[float, dict[str, Learned | None]]
    cases: list[Case]


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("comparison", __doc__)
    options.add_argument("--pounds", type=float, nargs="+", default=list(DUMBBELLS), help="dumbbells [lb]")
    options.add_argument("--rate", type=float, default=4000.0, help="samples per second for the identifier [Hz]")
    options.add_argument("--quick", action="store_true", help="8 lb in experiment (a) only, 1000 samples per second")
    chosen = options.parse_args(arguments)
    pounds, rate, experiments = chosen.pounds, chosen.rate, EXPERIMENTS
    if chosen.quick:
        pounds, rate, experiments = [8.0], min(rate, 1000.0), EXPERIMENTS[:1]
    found = compare(sorted(pounds), experiments, rate, chosen.seed)
    report = Report("comparison", "Comparison with the paper's baselines", chosen.out, chosen.command)
    summarise(report, found.tasks, found.learned, found.cases, rate)
    print(report.write())
    learned = [each for by_motion in found.learned.values() for each in by_motion.values() if each is not None]
    ours = [case for case in found.cases if case.method == OURS]
    good = all(case.certified and case.outcome is not None and not case.outcome.failures for case in ours)
    return 0 if good and all(each.contains for each in learned) else 1


def compare(pounds: Sequence[float], experiments: Sequence[Experiment], rate: float, seed: int) -> Found:
    """Identifies with every motion, then executes with every method."""
    planner = make_planner(PlannerConfig(), seed)
    tasks = {}
    for experiment in experiments:
        task = make_task(experiment, planner.robot, planner.nearness)
        tasks[experiment.name] = (task, facts(task, planner.robot, planner.nearness, max(DUMBBELLS)))
    learned: dict[float, dict[str, Learned | None]] = {weight: {} for weight in pounds}
    for weight, motion in progress([(w, m) for w in pounds for m in MOTIONS], "comparison, identification"):
        learned[weight][motion] = identify(drawn_arm(weight, seed), motion, rate, seed)
    jobs = [(name, weight, method) for name in tasks for weight in pounds for method in METHODS]
    known: dict[tuple[str, str], float] = {}
    cases = [
        run_case(planner, tasks[name][0], method, weight, learned[weight], seed, known)
        for name, weight, method in progress(jobs, "comparison, execution")
    ]
    return Found(tasks, learned, cases)


def run_case(
    planner: Planner,
    task: Task,
    method: str,
    pounds: float,
    learned: dict[str, Learned | None],
    seed: int,
    known: dict[tuple[str, str], float],
) -> Case:
    """One method; ``known`` keeps the fastest durations of those whose bounds are the same for every dumbbell."""
    robot, experiment = planner.robot, task.experiment
    truth = true_robot(drawn_arm(pounds, seed))
    box = None if method == PID else assumed(method, planner, learned)
    if method in (PID, PID_OURS):
        outcome = None
        if method == PID or box is not None:
            outcome = execute(robot, task, truth, pounds, pid_follower(robot, box), seed)
        return Case(experiment.name, method, pounds, None, "", float("nan"), outcome)
    if box is None:
        return Case(experiment.name, method, pounds, False, "nothing was identified", np.inf, None)
    scene = experiment.surroundings()
    certificates = certify(planner, task, experiment.duration, box, scene)
    one, two = certificates
    binding = one.binding if two is None or not one.certified else two.binding
    key = (experiment.name, method)
    shortest = known[key] if key in known else fastest(planner, task, box, scene)
    if method in (CONSERVATIVE, WRONG):
        known[key] = shortest
    follower = robust_follower(planner, task, box, certificates)
    outcome = execute(robot, task, truth, pounds, follower, seed, error_bound(task, certificates))
    return Case(experiment.name, method, pounds, certified(certificates), binding, shortest, outcome)


if __name__ == "__main__":
    sys.exit(main())
