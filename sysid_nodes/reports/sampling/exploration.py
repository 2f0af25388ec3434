# SPDX-License-Identifier: Apache-2.0
"""Files of a plan: plan.json, commands.csv and plan.html."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from sysid_nodes.data.config import to_flat
from sysid_nodes.exceptions import InputError
from sysid_nodes.messages.sampling.plan import plan_fields, to_plan
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.reports.page import template
from sysid_nodes.reports.sampling.exploration_plots import commands_plot, path_plot, spreads_plot
from sysid_nodes.reports.schema import SCHEMA
from sysid_nodes.results.exploration import COMMANDS, ExplorationPlan
from sysid_nodes.systems.sampling.exploration.config import ExplorationConfig
from sysid_nodes.systems.sampling.exploration.curves import CommandCurves

PLAN_NAME, TABLE_NAME, PAGE_NAME = "plan.json", "commands.csv", "plan.html"

_PERIOD = 0.02  # between two rows of the table [s]


def write_plan(folder: Path, plan: ExplorationPlan, config: ExplorationConfig, source: str) -> None:
    """Writes all files of a vetted plan into an existing folder.

    Raises:
        InputError: a file cannot be written.
    """
    fields = plan_fields(plan)
    document = {"schema": SCHEMA, "pipeline": "exploration", "source": source, **fields, "config": to_flat(config)}
    write_atomically(folder / TABLE_NAME, _table(plan))
    write_atomically(folder / PAGE_NAME, render_plan(plan, config.vetting.area, source))
    write_atomically(folder / PLAN_NAME, json.dumps(document, indent=1, allow_nan=False) + "\n")


def read_plan(path: Path) -> ExplorationPlan:
    """A plan from its plan.json.

    Raises:
        InputError: it cannot be read, is none, or is not what its id says.
    """
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError("cannot be read", source=str(path)) from None
    if not isinstance(document, Mapping) or document.get("pipeline") != "exploration":
        raise InputError("is no plan of an exploration", source=str(path))
    try:
        return to_plan(document)
    except (KeyError, TypeError, ValueError):
        raise InputError("is no plan of this version", source=str(path)) from None


def render_plan(plan: ExplorationPlan, area: float, source: str) -> str:
    """The page as text."""
    random = plan.costs[1:]
    facts = [
        ("robot", plan.robot),
        ("duration", f"{plan.duration:g} s"),
        ("gaits", ", ".join(plan.gaits)),
        ("criterion", f"{plan.criterion}: {plan.costs[0]:.3g}"),
        ("of random plans, median", f"{np.median(random):.3g}" if len(random) else "not compared"),
        ("vetted", f"{plan.vetting.draws} drawn robots, none fell"),
        ("furthest from the start", f"{plan.vetting.reach:.2f} m"),
        ("estimate", plan.estimate),
    ]
    return template("exploration.html.j2").render(
        plan=plan,
        source=source,
        headline=headline(plan),
        facts=facts,
        rows=[
            (row.name, row.unit, row.before, row.after, float(np.median(row.random)) if len(row.random) else None)
            for row in plan.spreads
        ],
        spreads=Markup(spreads_plot(plan.spreads)),
        commands=Markup(commands_plot(*_sample(plan), plan.segment, plan.gaits)),
        path=Markup(path_plot(plan.path, plan.segment, area)),
    )


def headline(plan: ExplorationPlan) -> str:
    """The plan's promise, in a line."""
    best = min(plan.spreads, key=lambda row: row.after / row.before)
    mass = next((row for row in plan.spreads if row.name.endswith("mass")), best)
    before, after = f"{mass.before:.2g}", f"{mass.after:.2g}"
    own = f"narrow sigma of {mass.name} from {before} to {after} {mass.unit}, and"
    if before == after:
        own = f"leave sigma of {mass.name} at {before} {mass.unit}, and narrow"
    rest = f"that of {best.name} to {100.0 * best.after / best.before:.0f} %"
    return f"{plan.duration:g} s of motion should {own} {rest}"


def _sample(plan: ExplorationPlan) -> tuple[np.ndarray, np.ndarray]:
    """Times (N,) and commands (N, 5)."""
    curves = CommandCurves.of(plan)
    t = np.arange(0.0, plan.duration, _PERIOD)
    commands = [curves.at(float(time)) for time in t]
    return t, np.array([np.concatenate([c.velocity[0], c.attitude[0]]) for c in commands])


def _table(plan: ExplorationPlan) -> str:
    t, values = _sample(plan)
    stream = io.StringIO()
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow(["t", *COMMANDS, "height", "gait"])
    for time, row in zip(t, values, strict=True):
        gait = plan.gaits[min(int(time / plan.segment + 1e-9), len(plan.gaits) - 1)]
        rows.writerow([f"{time:.2f}", *(f"{x:.5f}" for x in row), f"{plan.height:g}", gait])
    return stream.getvalue()
