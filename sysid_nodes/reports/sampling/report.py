# SPDX-License-Identifier: Apache-2.0
"""report.html of an identification by rollouts: one self-contained page made from result.json and series.npz."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from sysid_nodes.reports import wording
from sysid_nodes.reports.page import NO_SCENE, template
from sysid_nodes.reports.sampling.plots import clips_plot, posterior_plot
from sysid_nodes.reports.sampling.stage_plots import stage_figures
from sysid_nodes.results.sampling import SamplingStatus

Array = npt.NDArray[np.float64]
Document = Mapping[str, Any]

_TONES = {
    SamplingStatus.IDENTIFIED: ("good", "Identified"),
    SamplingStatus.PARTIAL: ("wait", "Identified in part"),
    SamplingStatus.POINT: ("wait", "Values without errors"),
    SamplingStatus.UNTRUSTED: ("bad", "The simulations do not follow the motion"),
}
_GROUPS = (
    ("inertia", "Inertia of the body", "about its centre of mass, axes of the link"),
    ("motors", "Motors", "torque at which they saturate, or their linear gain"),
    ("drives", "Drives", "estimated with the rest, so that it is not taken for something else"),
    ("ground", "Ground", "likewise"),
    ("sensors", "Sensors", "likewise"),
)


def render_sampling_report(document: Document, series: Mapping[str, Array], scene: Markup = NO_SCENE) -> str:
    """The page as text.

    Args:
        document: a valid result.
        series: t (C, L); measured, nominal and identified (C, L, 7 + n), as in `ClipReplay`; and joints, (n,) names,
            unless the result is of an earlier version.
        scene: of `clips_scene`; empty for none.
    """
    status, stages = SamplingStatus[document["status"]], document.get("exploration")
    tone, label = _TONES[status]
    rows = document["parameters"]
    return template("sampling.html.j2").render(
        document=document,
        headline=headline(document),
        verdict={"tone": tone, "label": label, "sentences": [wording.sentence(status.message)]},
        facts=[
            ("robot", document["robot"]),
            ("method", document["method"].replace("_", "-")),
            ("data", f"{document['duration']:.1f} s, {document['clips']} clips"),
            ("simulation steps", f"{document['steps'] / 1e6:.2f} million"),
            ("time it took", f"{document['solve_time_s']:.1f} s"),
        ],
        groups=[
            {"name": name, "note": note, "rows": [row for row in rows if row["group"] == key]}
            for key, name, note in _GROUPS
            if any(row["group"] == key for row in rows)
        ],
        posterior=Markup(_posterior(document)),
        clips=[Markup(figure) for figure in _clips(series)],
        errors=replay_errors(series),
        scene=scene,
        stages=stages,
        figures={} if stages is None else {name: Markup(text) for name, text in stage_figures(stages).items()},
    )


def headline(document: Document) -> str:
    """The finding in a line."""
    asked = [row for row in document["parameters"] if row["group"] in ("inertia", "motors")]
    told = sum(row["identifiable"] for row in asked)
    mass = next((row for row in asked if row["name"].endswith("mass")), None)
    line = f"{told} of {len(asked)} parameters are identified"
    if mass is None or mass["estimate"] is None:
        return line
    if mass["sigma"] is None:
        return f"{line}; the body weighs {mass['estimate']:.2f} kg, nothing is said of the error"
    return f"{line}; the body weighs {mass['estimate']:.2f} kg, {mass['lower']:.2f} to {mass['upper']:.2f} kg with 95 %"


def replay_errors(series: Mapping[str, Array]) -> list[tuple[str, float, float]]:
    """Root mean square errors over all clips with the nominal and the identified robot: base [mm], joints [mrad]."""

    def error(name: str, columns: slice) -> float:
        return 1e3 * float(np.sqrt(np.mean((series[name] - series["measured"])[..., columns] ** 2)))

    base, joints = slice(0, 3), slice(7, None)
    return [
        ("position of the base, mm", error("nominal", base), error("identified", base)),
        ("joint positions, mrad", error("nominal", joints), error("identified", joints)),
    ]


def _posterior(document: Document) -> str:
    rows, levels = document["parameters"], document["levels"]
    chosen = [k for k, row in enumerate(rows) if row["group"] in ("inertia", "motors")]

    def table(key: str) -> Array:
        return np.array([[np.nan if level[key][k] is None else level[key][k] for k in chosen] for level in levels])

    names = [f"{rows[k]['name']} [{rows[k]['unit']}]" for k in chosen]
    nominal = np.array([rows[k]["nominal"] for k in chosen])
    return posterior_plot(names, nominal, table("estimates"), table("sigmas"), label="Estimates after each level")


def _clips(series: Mapping[str, Array]) -> list[str]:
    names = series.get("joints", [f"joint {k}" for k in range(1, 4)])
    shown = [(2, "base z [m]"), *((7 + k, f"{names[k].removesuffix('_joint')} [rad]") for k in (1, 2))]
    return [
        clips_plot(
            series["t"], *(series[n][..., k] for n in ("measured", "nominal", "identified")), label=unit, unit=unit
        )
        for k, unit in shown
    ]
