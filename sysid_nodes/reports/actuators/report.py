# SPDX-License-Identifier: Apache-2.0
"""report.html of identified actuators: one self-contained page made from result.json and series.npz."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from sysid_nodes.reports import wording
from sysid_nodes.reports.actuators.methods import TORQUE, TRUE_TORQUE
from sysid_nodes.reports.actuators.plots import friction_plot, overlay_plot, torque_plot
from sysid_nodes.reports.actuators.truth import true_parameters
from sysid_nodes.reports.page import NO_SCENE, template
from sysid_nodes.reports.wording import number_text
from sysid_nodes.results.actuators import ActuatorStatus

Array = npt.NDArray[np.float64]
Document = Mapping[str, Any]

_TONES = {
    ActuatorStatus.IDENTIFIED: ("good", "Identified"),
    ActuatorStatus.PARTIAL: ("wait", "Identified in part"),
    ActuatorStatus.CONTRADICTION: ("bad", "The law does not explain the motion"),
}


def render_actuator_report(document: Document, series: Mapping[str, Array], scene: Markup = NO_SCENE) -> str:
    """The page as text.

    Args:
        document: a valid result.
        series: t (S,), command, measured and replayed (S, n); torque, torque_sigma and model_torque with an oracle.
        scene: of `motion_scene`; empty for none.
    """
    replay = document["replay"]
    t = series["t"] - series["t"][0]
    return template("actuators.html.j2").render(
        document=document,
        headline=headline(document),
        verdict=verdict(document),
        facts=[
            ("robot", document["robot"]),
            ("joints", str(len(document["joints"]))),
            ("data", f"{document['duration']:.1f} s, {document['samples']} samples"),
            ("replay error, RMSE", f"{1e3 * replay['rmse']:.2f} mrad"),
            ("replay error, MAE", f"{1e3 * replay['mae']:.2f} mrad"),
            ("time it took", f"{document['solve_time_s']:.1f} s"),
        ],
        joints=[_joint(joint, t, series, k, _true(document, joint)) for k, joint in enumerate(document["joints"])],
        online=document["online"] or {"alarms": [], "live": None, "truth": None},
        untold=_rows_without_estimate(document),
        scene=scene,
    )


def verdict(document: Document) -> dict[str, Any]:
    """Tone, label and sentences; an alarm is among them, for what was found is not all that happened."""
    status = ActuatorStatus[document["status"]]
    tone, label = _TONES[status]
    alarms = [alarm["message"] for alarm in (document["online"] or {"alarms": []})["alarms"]]
    if alarms:
        tone, label = "wait" if tone == "good" else tone, f"{label}; a drive changed on the way"
    return {"tone": tone, "label": label, "sentences": [wording.sentence(line) for line in (status.message, *alarms)]}


def headline(document: Document) -> str:
    """The finding in a line."""
    rows = [row for joint in document["joints"] for row in joint["parameters"]]
    told = sum(row["identifiable"] for row in rows)
    config, who = document["config"], "one rollout follows"
    if config.get("drive") == "effort":
        piece = config["actuators.shooting.open_horizons"][-1]
        who = f"rollouts of {piece:g} s, each with a start state fitted to it, follow"
    error = f"{who} the log within {1e3 * document['replay']['rmse']:.2g} mrad (RMSE)"
    found = f"{told} of {len(rows)} parameters of {len(document['joints'])} joints are identified"
    return "; ".join([found, *_ranges(rows, len(document["joints"])), error])


def _ranges(rows: list[dict[str, Any]], joints: int) -> Iterator[str]:
    """Least and largest estimate of armature and delay over the joints that tell them."""
    for name in ("armature", "delay"):
        told = sorted((row["estimate"], row["unit"]) for row in rows if row["name"] == name and row["identifiable"])
        if told:
            unit = told[0][1]
            factor, unit = (1e3, "ms") if unit == "s" else (1.0, unit)
            ends = dict.fromkeys(number_text(factor * value, 3) for value, _ in (told[0], told[-1]))
            share = f" ({len(told)} of {joints} joints)" if len(told) < joints else ""
            yield f"{name}{'s from' if len(ends) > 1 else ''} {' to '.join(ends)} {unit}{share}"


def _true(document: Document, joint: Mapping[str, Any]) -> dict[str, float]:
    """True parameters of a joint; empty where they are not known."""
    online = document["online"]
    if not online or not online["truth"]:
        return {}
    return true_parameters(online["truth"], joint["name"], after=bool(online["alarms"]))


def _joint(
    joint: Mapping[str, Any], t: Array, series: Mapping[str, Array], k: int, true: Mapping[str, float]
) -> dict[str, Any]:
    overlay = overlay_plot(
        t,
        series["command"][:, k],
        series["measured"][:, k],
        series["replayed"][:, k],
        label=f"Motion of {joint['name']}",
    )
    return {
        "name": joint["name"],
        "document": joint,
        "overlay": Markup(overlay),
        "friction": _friction(joint, true),
        "truth": true,
        "torque": _torque(joint, t, series, k),
    }


def _torque(joint: Mapping[str, Any], t: Array, series: Mapping[str, Array], k: int) -> Markup | None:
    if "torque" not in series:
        return None
    columns = (series[name][:, k] for name in TORQUE)
    truth = series[TRUE_TORQUE][:, k] if TRUE_TORQUE in series else None
    return Markup(torque_plot(t, *columns, truth=truth, label=f"Torque of {joint['name']}"))


def _friction(joint: Mapping[str, Any], true: Mapping[str, float]) -> Markup | None:
    """The friction curve, where Coulomb's part of it is known."""
    rows = {row["name"]: row for row in joint["parameters"] if row["identifiable"]}
    if "coulomb" not in rows:
        return None
    parts = {
        name: (row["lower"], row["estimate"], row["upper"])
        for name, row in rows.items()
        if name in ("coulomb", "viscous")
    }
    known = (true["coulomb"], true["viscous"]) if true else None
    label = f"Friction of {joint['name']}"
    return Markup(friction_plot(parts["coulomb"], parts.get("viscous"), label=label, truth=known))


def _rows_without_estimate(document: Document) -> list[dict[str, str]]:
    """Parameters without an estimate, one row for each reason a joint has."""
    return [
        {
            "joint": joint["name"],
            "parameter": wording.words(row["name"]),
            "reason": row["reason"],
            "advice": row["advice"],
        }
        for joint in document["joints"]
        for row in joint["parameters"]
        if not row["identifiable"]
    ]
