# SPDX-License-Identifier: Apache-2.0
"""Findings of the comparison, as tables beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.comparison_cases import Case, Found
from benchmarks.comparison_learning import ALGORITHM_1, FOURIER, MOTIONS, OURS, PROVEN, RANDOM, RANDOM_WIDE, Learned
from benchmarks.comparison_methods import (
    ADAPTIVE_1,
    ADAPTIVE_1_EXCIT,
    ADAPTIVE_2_EXCIT,
    CONSERVATIVE,
    METHODS,
    PID_EXCIT,
    TABLE_II,
    WRONG,
)
from benchmarks.comparison_paper import TABLE_III, differences
from benchmarks.comparison_task import HOLD, Facts, Task
from benchmarks.comparison_trial import PLACED
from benchmarks.excitation import POUNDS, TABLE_V, TABLE_V_RANDOM
from benchmarks.report import Report


def summarise(report: Report, found: Found, rate: float) -> None:
    """Fills the report."""
    learned, cases = found.learned, found.cases
    _headline(report, cases, learned)
    report.section("Table II: the methods")
    report.table(
        ("method", "controller", "model", "its uncertainty", "exciting motion"),
        [(method, *TABLE_II[method]) for method in METHODS],
    )
    report.text(
        f"`{ALGORITHM_1}` is not in the paper's table: the planner, certificates and controller of `ours`, with the "
        "paper's own identification. A certificate for its intervals is as good as they are, and nothing is proven."
    )
    _successes(report, found.tasks, cases)
    _practice(report, cases, learned)
    _masses(report, found)
    _shortest_durations(report, found)
    _experiments(report, found.tasks, cases)
    for title, again in found.variants.items():
        _variant(report, title, again)
    report.section("Table V: condition number of Y after 7.5 s")
    report.table(
        ("", OURS, "random, authors' ranges", RANDOM_WIDE, "paper", "paper, random"),
        [_conditions(pounds, learned[pounds]) for pounds in sorted(learned)],
    )
    differences(report, rate)


def _headline(report: Report, cases: Sequence[Case], learned: dict[float, dict[str, Learned | None]]) -> None:
    ours = [case for case in cases if case.method == OURS]
    good = sum(bool(case.certified) and verdict(case) == "success" for case in ours)
    least = {m: [case.fastest for case in cases if case.method == m] for m in (OURS, RANDOM, CONSERVATIVE)}
    report.text(
        f"**`ours` certified and carried out {good} of {len(ours)} motions.** The longest that it needs for one is "
        f"{_seconds(max(least[OURS]))}, with random motion's bounds {_seconds(max(least[RANDOM]))}, with Table I's "
        f"{_seconds(max(least[CONSERVATIVE]))}."
    )
    report.text(
        f"A motion succeeds when no command exceeds a torque limit, no joint its speed or position limit, nothing "
        f"touches, and the dumbbell's centre is within {1000.0 * PLACED:g} mm of its goal {HOLD:g} s after the motion "
        f"has ended. True links, friction and armature are drawn within 5 %, one robot a dumbbell, the same for all "
        f"methods; encoders, velocities and torques err. " + _intervals(learned)
    )


def _successes(report: Report, tasks: dict[str, tuple[Task, Facts]], cases: Sequence[Case]) -> None:
    report.section("Table III: who succeeds")
    header = ["method"]
    for name, (task, _) in tasks.items():
        header += [f"({name}) {task.experiment.title}", f"({name}) certified before", f"({name}) paper"]
    report.table(header, [_row(method, tasks, cases) for method in METHODS])
    report.text(
        "*Certified before* counts the dumbbells for which the method's own bounds certify the whole motion, the end "
        f"of which is at rest, and a stop from its middle. That of `{WRONG}` is false: the truth is not in its bounds; "
        f"that of `{ALGORITHM_1}` is not proven. Where there is no certificate the motion is executed all the same, "
        "the robust input clipped at what the nominal torque leaves of the motors; this suite's controller would "
        "refuse it."
    )


def _shortest_durations(report: Report, found: Found) -> None:
    report.section("How fast may the motion be?")
    report.text(
        "Shortest certified duration of the same path [s], to a step of 5 %; at most about ten times the duration of "
        f"the motion was tried. `{WRONG}` is left out, its certificates being false."
    )
    robust = (OURS, ALGORITHM_1, RANDOM, CONSERVATIVE)
    weights = sorted(found.learned)
    report.table(
        ("", *(f"{pounds:g} lb" for pounds in weights)),
        [
            (f"({name}) {method}", *(_duration(found.cases, name, method, x) for x in weights))
            for name in found.tasks
            for method in robust
        ],
    )


def _experiments(report: Report, tasks: dict[str, tuple[Task, Facts]], cases: Sequence[Case]) -> None:
    for name, (task, fact) in tasks.items():
        report.section(f"Experiment ({name}), one by one")
        report.text(_motion(task, fact))
        report.table(
            (
                "method and dumbbell",
                "tracking [mm]",
                "at the end [mm]",
                f"{HOLD:g} s later [mm]",
                "torque / limit",
                "closest [mm]",
                "error / bound",
                "outcome",
            ),
            [_detail(case) for case in cases if case.experiment == name],
        )
        reasons = dict.fromkeys(
            f"{case.method}: {case.binding}" for case in cases if case.experiment == name and case.certified is False
        )
        report.text("Not certified: " + ("; ".join(reasons) or "none") + ".")
    report.text(
        "*Tracking* is the largest distance of the dumbbell's centre from where it should be; *closest* the least true "
        "distance to obstacles and of the robot to itself; *error / bound* compares the norm of the joint errors with "
        "the certificate's bound on it: beyond 1 this suite's controller would have stopped the robot."
    )


def verdict(case: Case) -> str:
    """Success, or why not; what went wrong before the task counts."""
    before = (f"before the task: {'; '.join(case.trouble)}",) if case.trouble else ()
    if case.outcome is None:
        return before[0] if before else "nothing was identified"
    return "; ".join((*before, *case.outcome.failures)) or "success"


def _duration(cases: Sequence[Case], experiment: str, method: str, pounds: float) -> str:
    found = [c for c in cases if (c.experiment, c.method, c.pounds) == (experiment, method, pounds)]
    return _seconds(found[0].fastest, "") if found else "-"


def _intervals(learned: dict[float, dict[str, Learned | None]]) -> str:
    def count(motions: Sequence[str]) -> tuple[int, int, int]:
        every = [by_motion.get(motion) for by_motion in learned.values() for motion in motions]
        found = [each for each in every if each is not None]
        return len(every), len(found), sum(each.contains for each in found)

    (phases, made, inside), (_, estimated, hit) = count(PROVEN), count((ALGORITHM_1,))
    return (
        f"{made} of {phases} identification phases had all their plans certified; the truth lay inside every interval "
        f"in {inside} of them. With Algorithm 1 it lay inside all of its intervals in {hit} of {estimated}."
    )


def _practice(report: Report, cases: Sequence[Case], learned: dict[float, dict[str, Learned | None]]) -> None:
    """Trouble during the phases before the task."""
    lines: dict[str, None] = {}
    for weight, by_motion in learned.items():
        for motion in (*MOTIONS, FOURIER):
            found = by_motion.get(motion)
            if found is not None and found.trouble:
                name = f"`{PID_EXCIT}`" if motion == FOURIER else f"`{motion}`"
                lines[f"{name} with {weight:g} lb: {'; '.join(found.trouble)}"] = None
    for case in cases:
        if case.method in (ADAPTIVE_1_EXCIT, ADAPTIVE_2_EXCIT) and case.trouble:
            lines[f"`{case.method}` with {case.pounds:g} lb: {'; '.join(case.trouble)}"] = None
    report.text(
        "Trouble before the task, while the payload was identified or controllers adapted: "
        + (". ".join(lines) or "none")
        + "."
    )


def _masses(report: Report, found: Found) -> None:
    """The paper's Figure 5, its last points."""
    methods = (OURS, RANDOM, ALGORITHM_1, ADAPTIVE_1, ADAPTIVE_1_EXCIT, PID_EXCIT)
    report.section("Mass of gripper and dumbbell in the controllers' models [kg]")
    first = next(iter(found.tasks))
    rows = []
    for weight, truth in found.masses.items():
        mine = {case.method: case.mass for case in found.cases if (case.experiment, case.pounds) == (first, weight)}
        known = (mine.get(m, float("nan")) for m in methods)
        rows.append((f"{weight:g} lb", f"{truth:.2f}", *("-" if np.isnan(x) else f"{x:.2f}" for x in known)))
    report.table(("", "truth", *methods), rows)
    report.text(f"At the end of experiment ({first}); those of the adaptive controllers have changed during it.")


def _variant(report: Report, title: str, cases: Sequence[Case]) -> None:
    """Table III in another setting."""
    names = list(dict.fromkeys(case.experiment for case in cases))
    report.section(f"With {cases[0].pounds:g} lb: {title}")
    rows = []
    for method in METHODS:
        row = [method]
        for name in names:
            (case,) = (case for case in cases if (case.experiment, case.method) == (name, method))
            words = verdict(case)
            if case.outcome is not None:
                words += f" ({1000.0 * case.outcome.tracking:.1f} mm)"
            row.append(words + (", not certified" if case.certified is False else ""))
        rows.append(row)
    report.table(("method", *(f"({name}) and largest error" for name in names)), rows)


def _row(method: str, tasks: dict[str, tuple[Task, Facts]], cases: Sequence[Case]) -> list[str]:
    row = [method]
    for name in tasks:
        mine = [case for case in cases if case.experiment == name and case.method == method]
        failed = [case for case in mine if verdict(case) != "success"]
        outside = any(case.outcome is not None and case.outcome.share > 1.0 for case in mine)
        done = "success" + ", errors outside its bound" * outside
        row.append(f"fail at {failed[0].pounds:g} lb: {verdict(failed[0])}" if failed else done)
        proven = f"{sum(bool(case.certified) for case in mine)} of {len(mine)}"
        false = {WRONG: " (falsely)", ALGORITHM_1: " (not proven)"}.get(method, "")
        row.append("no bounds" if mine[0].certified is None else proven + false)
        row.append(TABLE_III[method]["abc".index(name)])
    return row


def _detail(case: Case) -> tuple[str, ...]:
    name, out = f"{case.method}, {case.pounds:g} lb", case.outcome
    if out is None:
        return (name, *["-"] * 6, verdict(case))
    lengths = (f"{1000.0 * x:.1f}" for x in (out.tracking, out.arrival, out.final))
    share = "-" if np.isnan(out.share) else f"{out.share:.2f}"
    return (name, *lengths, f"{out.torque:.2f}", f"{1000.0 * out.clearance:.0f}", share, verdict(case))


def _motion(task: Task, fact: Facts) -> str:
    start, goal = (", ".join(f"{x:.2f}" for x in place) for place in (fact.start, fact.goal))
    return (
        f"{task.experiment.duration:g} s; the dumbbell goes from ({start}) to ({goal}) m. With the nominal robot and "
        f"8 lb the motion uses {100.0 * fact.speed:.0f} % of the speed and {100.0 * fact.torque:.0f} % of the torque "
        f"limits and keeps the room of the largest dumbbell {1000.0 * fact.clearance:.0f} mm clear."
    )


def _conditions(pounds: float, learned: dict[str, Learned | None]) -> tuple[str, ...]:
    mine = [learned[motion] for motion in PROVEN]
    cells = ["-" if each is None else f"{each.condition:.0f}" for each in mine]
    paper = ["-", "-"]
    if pounds in POUNDS:
        paper = [f"{values[POUNDS.index(pounds)]:g}" for values in (TABLE_V, TABLE_V_RANDOM)]
    return (f"{pounds:g} lb", *cells, *paper)


def _seconds(value: float, unit: str = " s") -> str:
    return "none" if np.isinf(value) else f"{value:.2f}{unit}"
