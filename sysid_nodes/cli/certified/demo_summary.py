# SPDX-License-Identifier: Apache-2.0
"""The end of a demo: the bag identified again, compared with what was found live, and put into words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sysid_nodes.cli.certified.demo_replay import identify_again
from sysid_nodes.cli.certified.demo_watch import Watch
from sysid_nodes.cli.demo.call_in_process import call_in_process
from sysid_nodes.cli.demo.closing import machine_lines
from sysid_nodes.data.config import read_parameters
from sysid_nodes.data.scene import load_scene
from sysid_nodes.reports.certified.history import read_history
from sysid_nodes.reports.certified.report import motion_figures, write_certified_report
from sysid_nodes.reports.certified.result import ARRIVED, CertifiedRun, certified_fields, evaluate_run, goal_check
from sysid_nodes.reports.certified.schema import validate_certified
from sysid_nodes.reports.files import REPORT_NAME, RESULT_NAME, SERIES_NAME
from sysid_nodes.reports.interval.result_file import build_document, read_result, write_result
from sysid_nodes.reports.interval.series_file import write_series
from sysid_nodes.reports.wording import IntervalText, missed_truths, verdict
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.sessions.certified.settings import CertifiedModel, CertifiedSettings
from sysid_nodes.systems.certified.control.output import Mode
from sysid_nodes.systems.certified.search.config import PlannerConfig

_LATENESS = {
    reason.name
    for reason in (
        StopReason.JOINT_STATES_LOST,
        StopReason.JOINT_STATES_FROZEN,
        StopReason.JOINT_STATES_SLOW,
        StopReason.JOINT_STATES_DELAYED,
        StopReason.JOINT_STATES_INTERMITTENT,
        StopReason.COMMAND_LATE,
        StopReason.COMMAND_TIMEOUT,
        StopReason.PLAN_ENDED,
        StopReason.PLANNER_SILENT,
        StopReason.TRAJECTORY_LATE,
        StopReason.BOUNDS_SILENT,
    )
}
"""Ends, stops and refusals for which a machine that is too slow suffices."""

_OWN_ENDS = (StopReason.NONE, StopReason.PLAN_ENDED)

_STEP = ("t", "status", "nominal", "lower", "upper")


def evaluate(
    folder: Path, live_file: Path, scene: Path, watch: Watch, source: str, facts: Mapping[str, Any]
) -> tuple[dict[str, Any], CertifiedRun, bool]:
    """Identifies from folder/bag again and writes result.json, series.npz and report.html, the truth included.

    The second identification says what each assumption costs and how well the torques are explained, which the live
    node does not. Its numbers are those found live; where samples were lost on the way to the live node, they are not,
    and then the live ones are written.

    Args:
        folder: holds the bag and config.yaml.
        live_file: result that the identifier saved.
        scene: file of the obstacles.
        watch: what was seen.
        source: the bag, as the result is to name it.
        facts: fields of the result's `certified` that only the demo knows.

    Returns:
        The result, the run, and whether the bag gave the live numbers.

    Raises:
        SysidError: the recording cannot be read.
    """
    values, bag = read_parameters(folder / "config.yaml"), folder / "bag"
    model = CertifiedModel(CertifiedSettings.of(values))
    with call_in_process(identify_again, folder, source) as identified:
        history = read_history(bag, model.robot.joint_names, load_scene(scene))
        goals = np.array(values["certified_planner.goals"]).reshape(-1, model.robot.n)
        facts = dict(facts) | {"config": values}
        if not watch.contradicted:
            facts["final_check"] = goal_check(model, goals[-1], watch.bounds, history.scene)
        near = float(values.get("planner.near", PlannerConfig().near))
        loop = evaluate_run(model, history, goals[-1], near, facts)
        figures = motion_figures(loop)
        run = identified()
    live, document = read_result(live_file), build_document(run)
    agree = have_same_numbers(live, document)
    if not agree:
        document = live | {"joints": document["joints"]}
    document |= {"truth": [float(x) for x in watch.truth], "source": source, "certified": certified_fields(loop)}
    if run.torques is not None:
        write_series(folder / SERIES_NAME, run.torques)
    validate_certified(document, source=RESULT_NAME)
    write_certified_report(folder / REPORT_NAME, document, loop, run.torques, figures)
    write_result(folder / RESULT_NAME, document)
    return document, loop, agree


def have_same_numbers(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two results hold the same numbers, to the last bit, at every step."""
    return one["parameters"] == other["parameters"] and _steps(one) == _steps(other)


def all_missed_truths(watch: Watch, document: Mapping[str, Any]) -> list[str]:
    """Parameters whose truth was outside an interval that was published, or is outside the result's."""
    return sorted(watch.missed | set(missed_truths(document)))


def broken_margins(loop: CertifiedRun) -> list[str]:
    """Certified margins that were not kept."""
    found = [margin.name for margin in loop.margins if not margin.kept]
    return found + ["tracking error"] * bool(loop.tracking.usage.max(initial=0.0) > 1.0)


def summary(
    watch: Watch,
    document: Mapping[str, Any],
    loop: CertifiedRun,
    *,
    agree: bool,
    usage: Mapping[str, float],
) -> str:
    """The summary that a user sees at the end."""
    lines = [_conclusion(watch, document), *_motion_lines(loop), *_health(watch, loop)]
    lines += [
        *machine_lines(0.0, usage),
        f"A window took {1e3 * sum(watch.solve_times) / max(len(watch.solve_times), 1):.0f} ms to solve, "
        f"the slowest {1e3 * max(watch.solve_times, default=0.0):.0f} ms.",
        "The recording gives the same numbers to the last bit."
        if agree
        else "The recording gives other numbers than the live identifier: it did not hear all of it.",
    ]
    return "\n".join(lines)


def _conclusion(watch: Watch, document: Mapping[str, Any]) -> str:
    told = verdict(document)
    if watch.contradicted:
        return f"{told.headline}: {watch.contradicted}"
    mass = document["parameters"][0]
    text = IntervalText.of(mass["nominal"], mass["lower"], mass["upper"], digits=2)
    if wrong := all_missed_truths(watch, document):
        return f"WRONG: the truth was outside at some time: {', '.join(wrong)}. Please report this."
    return (
        f"{told.label}: hand and dumbbell weigh {text.lower} to {text.upper} kg; the hidden truth is "
        f"{watch.truth[0]:.3f} kg.\n"
        f"All ten truths were inside in each of {watch.updates} updates."
    )


def _standing_sentence(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """The gain of the identification, at the goal."""
    if not before["certified"]:
        return "Standing there could not be certified before the identification, and can be now."
    less, more = (1e3 * check["position_error"] for check in (after, before))
    return f"Standing there its errors are proven to be at most {less:.1f} mrad; before the identification {more:.1f}."


def _motion_lines(loop: CertifiedRun) -> list[str]:
    """Lines about the motion."""
    executed, limits = loop.history.executed, loop.model.robot.limits
    lines = [loop.sentence]
    before, after = loop.facts.get("prior_check"), loop.facts.get("final_check")
    if has_arrived(loop) and before is not None and after is not None and after["certified"]:
        lines.append(_standing_sentence(before, after))
    if executed:
        took = executed[-1].ended - executed[0].begun
        spare = float((1.0 - np.abs(loop.history.command) / limits.torque).min(initial=1.0))
        lines.append(
            f"{len(loop.history.plans)} plans certified, {len(executed)} executed in {took:.1f} s; "
            f"least torque left {100.0 * spare:.0f} % of the limit, nearest obstacle "
            f"{100.0 * loop.distances.obstacle.min():.1f} cm, tracking errors at most "
            f"{100.0 * loop.tracking.usage.max(initial=0.0):.0f} % of what was proven."
        )
    lines += interruptions(loop)
    if kept := broken_margins(loop):
        lines.append(f"WRONG: what was certified was not kept: {', '.join(kept)}. Please report this.")
    return lines


def interruptions(loop: CertifiedRun) -> list[str]:
    """Causes of braking on the way, and refusals of trajectories by the controller, how often each."""
    braked = Counter(e.reason for e in loop.history.events if e.mode is Mode.BRAKING)
    refused = Counter(e.refused_reason for e in loop.history.events if e.refused)
    lines = [f"It braked on its way, {_times(n)}: {why.message}." for why, n in braked.items() if why not in _OWN_ENDS]
    return lines + [f"A trajectory was refused, {_times(n)}: {why.message}." for why, n in refused.items()]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _health(watch: Watch, loop: CertifiedRun) -> list[str]:
    factor = loop.facts.get("real_time_factor")
    machine_lines = f" The robot's time passed at {factor:.2f} of real time." if factor is not None else ""
    return [
        f"{watch.recorded} joint states recorded, {watch.received} received by the identifier, {watch.rejected} not "
        f"used.{machine_lines}"
    ]


def has_arrived(loop: CertifiedRun) -> bool:
    """Whether the load is where it was to go."""
    return loop.outcome == ARRIVED


def is_late(loop: CertifiedRun) -> bool:
    """Whether nothing but something late ended, stopped or refused the motion of a robot short of its goal."""
    events = loop.history.events
    reasons = {event.reason.name for event in events if event.reason is not StopReason.NONE}
    reasons |= {event.refused_reason.name for event in events if event.refused}
    if loop.history.robot_stop:
        reasons.add(loop.history.robot_stop.partition(":")[0])
    return reasons <= _LATENESS


def _steps(document: Mapping[str, Any]) -> dict[int, tuple[Any, ...]]:
    return {step["window"]: tuple(step[name] for name in _STEP) for step in document["history"]}
