# SPDX-License-Identifier: Apache-2.0
"""report.html of a run of the certified loop: the page of the identification, with what was executed and certified."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from sysid_nodes.data import PARAMETER_NAMES
from sysid_nodes.models.self_collision import self_collision_words
from sysid_nodes.reports import wording
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.reports.certified import plots as certified_plots
from sysid_nodes.reports.certified.history import Array, CertifiedHistory
from sysid_nodes.reports.certified.plots import Bar
from sysid_nodes.reports.certified.result import ARRIVED, STOPPED, CertifiedRun
from sysid_nodes.reports.certified.scene import certified_scene
from sysid_nodes.reports.drawing.scene_picture import Still, Way, scene_picture
from sysid_nodes.reports.interval.report import page_values
from sysid_nodes.reports.page import template
from sysid_nodes.results.certificate import Verdict
from sysid_nodes.sessions.interval.run import TorqueSeries

_TONES = {ARRIVED: "good", STOPPED: "bad"}
_LABELS = {ARRIVED: "Arrived", STOPPED: "Stopped"}
_BETWEEN = 3  # postures drawn between the end of the identification and the goal
_WAY = 0.04  # between two points of a drawn way [s]
_NEAR = 0.5  # distances are drawn up to this [m]


def render_certified_report(
    document: wording.Document,
    loop: CertifiedRun,
    torques: TorqueSeries | None = None,
    figures: Mapping[str, Any] | None = None,
) -> str:
    """The page as text.

    Args:
        document: a valid document of schema 1 with a `certified` object.
        torques: as for the page of the identification.
        figures: of the run, where they are there already; see `motion_figures`.
    """
    return template("certified.html.j2").render(
        **page_values(document, torques),
        certified=document["certified"],
        outcome={
            "tone": _TONES.get(loop.outcome, "wait"),
            "label": _LABELS.get(loop.outcome, "Ended"),
            "headline": _headline(document, loop),
        },
        certified_facts=_facts(document, loop),
        scene=certified_scene(document, loop).markup(),
        **(figures or motion_figures(loop)),
        margin_rows=_margin_rows(loop),
        self_collision=self_collision_words(loop.model.robot, loop.model.shapes),
        widths=Markup(_widths(document, loop)),
        plan_rows=_plan_rows(document, loop),
        events=_events(document, loop),
    )


def motion_figures(loop: CertifiedRun) -> Mapping[str, Any]:
    """Figures of the page that tell of the motion alone: they need not wait for an identification."""
    return {
        "pictures": _pictures(loop),
        "timeline": Markup(_timeline(loop)),
        "limits": _limits(loop),
        "tracking": _tracking_fields(loop),
        "margin_figures": _margin_figures(loop),
    }


def write_certified_report(
    path: Path,
    document: wording.Document,
    loop: CertifiedRun,
    torques: TorqueSeries | None = None,
    figures: Mapping[str, Any] | None = None,
) -> None:
    """Renders and writes the page atomically; see `render_certified_report`.

    Raises:
        InputError: the file cannot be written.
    """
    write_atomically(path, render_certified_report(document, loop, torques, figures))


def _headline(document: wording.Document, loop: CertifiedRun) -> str:
    mass = document["parameters"][0]
    known = mass["nominal"] is not None and mass["lower"] is not None
    weight = f"{wording.number_text(mass['nominal'], 3)} kg in the hand" if known else "No weight is known"
    if loop.outcome == ARRIVED:
        motion = "motion certified for estimates" if loop.model.estimates else "certified motion"
        return f"{weight}, weighed in {motion}, then carried to the goal"
    return f"{weight}; {'the robot was stopped' if loop.outcome == STOPPED else 'the robot rests short of its goal'}"


def _facts(document: wording.Document, loop: CertifiedRun) -> list[tuple[str, str]]:
    executed, limits = loop.history.executed, loop.model.robot.limits
    refused = sum(bool(event.refused) for event in loop.history.events)
    spare = float((1.0 - np.abs(loop.history.command) / limits.torque).min(initial=1.0))
    factor = document["certified"].get("real_time_factor")
    facts = [
        ("duration", f"{loop.history.t[-1] - loop.history.t[0]:.1f} s"),
        ("identified in", _seconds(loop.identified_at, executed[0].begun if executed else None)),
        ("plans certified, executed", f"{len(loop.history.plans)}, {len(executed)}"),
        ("plans refused by the controller", str(refused)),
        ("least torque left", f"{100.0 * spare:.0f} % of the limit"),
        ("nearest obstacle", f"{100.0 * loop.distances.obstacle.min(initial=np.inf):.1f} cm"),
        ("share of the proven tracking error", f"{100.0 * loop.tracking.usage.max(initial=0.0):.0f} %"),
    ]
    if factor is not None:
        facts.append(("real-time factor", f"{factor:.2f}"))
    return facts


def _seconds(t: float | None, since: float | None) -> str:
    return wording.DASH if t is None or since is None else f"{t - since:.1f} s"


def _pictures(loop: CertifiedRun) -> list[dict[str, Any]]:
    history, change = loop.history, loop.identified_at
    executed = history.executed
    first = int(np.searchsorted(history.t, executed[0].begun)) if executed else 0
    last = len(history.t) - 1
    middle = last if change is None else int(np.searchsorted(history.t, change))
    stills = [Still(history.q[first], "start")]
    if change is not None:
        stills += [Still(history.q[middle])]
        stills += [Still(history.q[row]) for row in _rows_between(history, middle, last)]
    stills.append(Still(history.q[last], "goal" if loop.outcome == ARRIVED else "end"))
    step = max(1, round(_WAY / max(float(np.median(np.diff(history.t))), 1e-6)))
    ways = [Way(history.q[first : middle + 1 : step], certified_plots.IDENTIFY)]
    if change is not None:
        ways.append(Way(history.q[middle : last + 1 : step], certified_plots.CARRY))
    robot, load, found = loop.model.robot, loop.model.load, []
    for view, label in (("side", "The scene, seen from the side"), ("top", "The scene, seen from above")):
        figure = scene_picture(robot, history.scene, stills, ways, load=load, label=label, view=view)
        found.append({"caption": label, "figure": Markup(figure)})
    return found


def _rows_between(history: CertifiedHistory, first: int, last: int) -> list[int]:
    """Rows that part the motion from one row to another into pieces over which the joints travel equally far."""
    travel = np.append(0.0, np.cumsum(np.abs(np.diff(history.q[first : last + 1], axis=0)).sum(axis=1)))
    wanted = np.linspace(0.0, travel[-1], _BETWEEN + 2)[1:-1]
    return [first + int(row) for row in np.searchsorted(travel, wanted)]


def _timeline(loop: CertifiedRun) -> str:
    zero, bars, marks = loop.history.t[0], [], []
    for plan in loop.history.plans:
        record = plan.record
        phase = certified_plots.IDENTIFY if plan.identifies else certified_plots.CARRY
        rest = record.start + record.duration
        ended, colour = min(plan.ended, rest), phase if plan.executed else certified_plots.UNUSED
        bars.append(Bar(plan.told - zero, plan.begun - zero, ended - zero, record.start - zero, rest - zero, colour))
    for event in loop.history.events:
        if event.mode.name in ("BRAKING", "STOPPED") or event.refused:
            marks.append((event.t - zero, (event.refused and "refused") or event.mode.name.lower()))
    return certified_plots.timeline_plot(bars, marks, label="Timeline of plans")


def _plan_edges(loop: CertifiedRun) -> Array:
    executed = loop.history.executed
    edges = np.array([plan.begun for plan in executed] + [plan.ended for plan in executed[-1:]])
    return np.asarray(edges - loop.history.t[0])


def _change(loop: CertifiedRun) -> float | None:
    return None if loop.identified_at is None else loop.identified_at - float(loop.history.t[0])


def _limits(loop: CertifiedRun) -> list[dict[str, Any]]:
    history, limit = loop.history, loop.model.robot.limits.torque
    if not history.command_t.size:
        return []
    edges, t = _plan_edges(loop), history.command_t - history.t[0]
    certified = np.array([limit - plan.record.torque_margin for plan in history.executed]).reshape(-1, len(limit))
    return [
        {
            "name": name,
            "figure": Markup(
                certified_plots.limit_plot(
                    t, history.command[:, k], edges, certified[:, k], float(limit[k]), _change(loop),
                    label=f"Commanded torque of {name}",
                )
            ),
        }
        for k, name in enumerate(history.joint_names)
    ]  # fmt: skip


def _tracking_fields(loop: CertifiedRun) -> dict[str, Any]:
    found, zero = loop.tracking, loop.history.t[0]
    if not found.t.size:
        return {"usage": None, "joints": []}
    t, change = found.t - zero, _change(loop)
    joints = [
        {
            "name": name,
            "figure": Markup(
                certified_plots.error_plot(
                    t, 1e3 * found.error[:, k], 1e3 * found.bound[:, k], change, label=f"Tracking error of {name}"
                )
            ),
        }
        for k, name in enumerate(loop.history.joint_names)
    ]
    usage = certified_plots.usage_plot(t, 100.0 * found.usage, change, label="Share of the proven tracking error")
    return {"usage": Markup(usage), "joints": joints}


def _margin_rows(loop: CertifiedRun) -> list[dict[str, str | bool]]:
    return [
        {
            "name": margin.name,
            "unit": margin.unit,
            "certified": wording.number_text(margin.certified, 3),
            "seen": wording.number_text(margin.seen, 3),
            "kept": margin.kept,
        }
        for margin in loop.margins
    ]


def _margin_figures(loop: CertifiedRun) -> list[tuple[str, Markup]]:
    history, limits, zero = loop.history, loop.model.robot.limits, loop.history.t[0]
    edges, change, executed = _plan_edges(loop), _change(loop), history.executed
    share = 100.0 * (1.0 - np.abs(history.command) / limits.torque).min(axis=1, initial=1.0)
    series = (
        (
            "Torque left before a motor's limit, of the joint that has least [%]",
            history.command_t,
            share,
            [100.0 * float((plan.record.torque_margin / limits.torque).min()) for plan in executed],
            100.0,
        ),
        (
            "Distance to obstacles [m]",
            loop.distances.t,
            loop.distances.obstacle,
            [plan.record.obstacle_margin for plan in executed],
            min(1.1 * float(loop.distances.obstacle.max(initial=0.0)), _NEAR),
        ),
        (
            "Distance between parts of the robot [m]",
            loop.distances.t,
            loop.distances.itself,
            [plan.record.self_margin for plan in executed],
            min(1.1 * float(loop.distances.itself.max(initial=0.0)), _NEAR),
        ),
    )
    return [
        (
            name,
            Markup(
                certified_plots.margin_plot(
                    t - zero, values, edges, np.array(certified), change, label=name, ceiling=ceiling
                )
            ),
        )
        for name, t, values, certified, ceiling in series
        if t.size
    ]


def _widths(document: wording.Document, loop: CertifiedRun) -> str:
    """The remaining share of the prior's widths, all ten in one figure."""
    steps = [step for step in document["history"] if step["t"] is not None and step["lower"][0] is not None]
    prior = wording.prior_bounds(document)
    if len(steps) < 2 or prior is None:
        return ""
    t = np.array([step["t"] for step in steps]) - loop.history.t[0]
    width = np.array([np.subtract(step["upper"], step["lower"]) for step in steps], dtype=np.float64)
    share = 100.0 * width / np.subtract(prior[1], prior[0])
    names = {k: name.replace("*", " ") for k, name in enumerate(PARAMETER_NAMES)}
    return certified_plots.width_plot(t, share, names, _change(loop), label="Widths of the ten intervals")


def _plan_rows(document: wording.Document, loop: CertifiedRun) -> list[dict[str, str]]:
    rows, zero = [], loop.history.t[0]
    for number, plan in enumerate(document["certified"]["plans"], start=1):
        executed = plan["begun"] is not None
        rows.append(
            {
                "number": str(number),
                "phase": plan["phase"] or wording.DASH,
                "begun": f"{plan['begun'] - zero:.2f}" if executed else wording.DASH,
                "ended": f"{plan['ended'] - zero:.2f}" if executed else "not executed",
                "torque": wording.number_text(plan["torque_margin"], 3),
                "obstacle": wording.number_text(plan["obstacle_margin"], 3),
                "itself": wording.number_text(plan["self_margin"], 3),
                "binding": plan["binding"] if plan["verdict"] == Verdict.CERTIFIED.name else plan["verdict"].lower(),
            }
        )
    return rows


def _events(document: wording.Document, loop: CertifiedRun) -> list[tuple[str, str]]:
    zero, rows = loop.history.t[0], []
    for event in document["certified"]["events"]:
        words = event["mode"].lower()
        if event["reason"] != "NONE":
            words += f": {event['text']}"
        if event["refused"]:
            words += f"; trajectory {event['refused']} refused: {event['refused_text']}"
        rows.append((wording.DASH if event["t"] is None else f"{max(event['t'] - zero, 0.0):.2f}", words))
    return rows
