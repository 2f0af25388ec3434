# SPDX-License-Identifier: Apache-2.0
"""report.html of a Bayesian identification: one self-contained page made from result.json and series.npz."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from sysid_nodes.reports import wording
from sysid_nodes.reports.bayesian.plots import friction_plot, gap_plot, posterior_plot, power_plot, torque_plot
from sysid_nodes.reports.page import NO_SCENE, template
from sysid_nodes.reports.wording import IntervalText, unit_text
from sysid_nodes.results.bayesian import BayesianStatus

Array = npt.NDArray[np.float64]
Document = Mapping[str, Any]

_TONES = {
    BayesianStatus.FOUND: ("good", "Found"),
    BayesianStatus.LOCAL_MINIMUM_SUSPECTED: ("wait", "A local minimum is suspected"),
    BayesianStatus.STALLED: ("bad", "Not found"),
    BayesianStatus.CONTRADICTED: ("bad", "The log contradicts the priors"),
}
_GROUPS = (
    ("inertia", "Links", "about the joint's frame, in it"),
    ("friction", "Friction", "of the joints"),
    ("drive", "Motors", "rotors, offsets and scale of the torque readings"),
    ("power", "Power meter", "losses of the motors, power at rest"),
    ("contact", "Contacts", "restitution; instants and impulses of impacts"),
    ("user", "Own term", "constants of the file that `mechanism.term` names"),
)
_MOST = 60  # parameters in a figure


def render_bayesian_report(document: Document, series: Mapping[str, Array], scene: Markup = NO_SCENE) -> str:
    """The page as text.

    Args:
        document: a valid result.
        series: t, gap (K,), power (3, K), held_out_t (L,), measured, nominal, identified (L, m).
        scene: of `mechanism_scene`; empty for none.
    """
    status = BayesianStatus[document["status"]]
    tone, label = _TONES[status]
    rows = document["parameters"]
    drawn = [row for row in rows if row["mean"] is not None and row["verdict"] != "not observed"][:_MOST]
    held_out, starts = document["held_out"], len(document["costs"])
    units = {row["name"]: row["unit"] for row in (*rows, *document["noise"])}
    effort = {row["joint"]: units.get(f"torque of {row['joint']}", "N m") for row in held_out}
    figures = {
        "posterior": posterior_plot(drawn, label="Posterior against prior") if drawn else "",
        "friction": _friction(document["friction"], units) if document["friction"] else "",
        "power": power_plot(series["t"], series["power"], label="Power") if _has(series["power"][0]) else "",
        "gap": gap_plot(series["t"], series["gap"], label="Gap of the loops") if document["loop_gap"] else "",
        "torque": "",
    }
    if held_out:
        joints = [f"{joint} [{unit}]" for joint, unit in effort.items()]
        figures["torque"] = torque_plot(series["held_out_t"], series, joints, label="Torques that were held out")
    return template("bayesian.html.j2").render(
        document=document,
        headline=headline(document),
        verdict={"tone": tone, "label": label, "sentences": [wording.sentence(status.message)]},
        facts=[
            ("robot", document["robot"]),
            ("data", f"{document['stages']} stages of {1e3 * document['step']:g} ms"),
            (
                "iterations",
                f"{document['iterations']} in the last descent, {starts} start{'s' * (starts > 1)}",
            ),
            ("largest gap of a loop", f"{document['loop_gap']:.1e} m" if document["loop_gap"] else "no loops"),
            ("time it took", f"{document['solve_time_s']:.1f} s"),
        ],
        groups=[
            {"name": name, "note": note, "rows": [row for row in rows if row["group"] == key]}
            for key, name, note in _GROUPS
            if any(row["group"] == key for row in rows)
        ],
        truth=any(row["truth"] is not None for row in rows),
        effort=effort,
        least_squares=any(row["least_squares"] is not None for row in held_out),
        figures={name: Markup(figure) for name, figure in figures.items()},
        scene=scene,
    )


def _friction(curves: Sequence[Document], units: Mapping[str, str]) -> str:
    """Over speed; slides beside hinges have both units, for they share the axis' name."""
    named = (units.get(f"{curve['joint']}.viscous", "") for curve in curves)
    speeds = dict.fromkeys("m/s" if unit.endswith("/m") else "rad/s" for unit in named)
    return friction_plot(curves, unit=" or ".join(speeds), label="Friction")


def headline(document: Document) -> str:
    """The finding in a line."""
    rows = document["parameters"]
    if not BayesianStatus[document["status"]].trusted:
        return BayesianStatus[document["status"]].message
    told = sum(row["verdict"] == "observed" for row in rows)
    blind = sum(row["verdict"] == "not observed" for row in rows)
    part = f" {part} in part," if (part := len(rows) - told - blind) else ""
    line = f"{told} of {len(rows)} constants are observed,{part} {blind} are not: there the posterior is the prior"
    if best := min((row for row in rows if row["verdict"] == "observed"), key=itemgetter("narrowing"), default=None):
        text = IntervalText.of(best["mean"], best["lower"], best["upper"], digits=2)
        unit = unit_text(best["unit"])
        line += f"; best told is {best['name']}, {text.nominal} {unit} ({text.lower} to {text.upper} with 95 %)"
    truths = [row for row in rows if row["truth"] is not None and row["verdict"] == "observed"]
    if truths:
        inside = sum(row["lower"] <= row["truth"] <= row["upper"] for row in truths)
        line += f"; the truth is within {inside} of {len(truths)} intervals of 95 %"
    return line


def _has(values: Array) -> bool:
    return bool(np.isfinite(values).any())
