# SPDX-License-Identifier: Apache-2.0
"""report.html of an interval identification: one self-contained page made from result.json and series.npz."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from sysid_nodes.data.config import options
from sysid_nodes.reports import wording
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.reports.drawing import plots
from sysid_nodes.reports.page import NO_SCENE, template
from sysid_nodes.results import Status
from sysid_nodes.sessions.interval.run import TorqueSeries
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

# Of a torque curve, each drawn as its extremes; fewer for many joints, or the page of a humanoid gets heavy.
_POINTS = 400

# A share in a width that would be printed as 0.0 %.
_NEGLIGIBLE = 5e-4

Array = npt.NDArray[np.float64]
Document = wording.Document


def render_report(document: Document, torques: TorqueSeries | None = None, scene: Markup = NO_SCENE) -> str:
    """The page as text.

    Args:
        document: a valid document of schema 1 (``build_document`` or ``read_result``).
        torques: measured and predicted torques; without them the page says that they are missing.
        scene: of `body_scene`; empty for none.
    """
    return template("interval.html.j2").render(**page_values(document, torques), scene=scene)


def page_values(document: Document, torques: TorqueSeries | None) -> dict[str, Any]:
    """Values that fill the page and those that extend it; arguments as for `render_report`."""
    return {
        "document": document,
        "verdict": wording.verdict(document),
        "facts": _facts(document),
        "parameters": _parameter_rows(document),
        "histories": _histories(document),
        "has_radius": torques is not None and torques.radius is not None,
        "joints": _joints(torques, wording.origin(document)),
        "excitation": _excitation(document),
        "costs": _costs(document),
        "settings": _settings(document),
        "origin": wording.origin(document),
        "inconsistent": document["status"] == Status.INCONSISTENT.name,
    }


def write_report(path: Path, document: Document, torques: TorqueSeries | None = None, scene: Markup = NO_SCENE) -> None:
    """Renders and writes the page atomically.

    Raises:
        InputError: the file cannot be written.
    """
    write_atomically(path, render_report(document, torques, scene))


def _facts(document: Document) -> list[tuple[str, str]]:
    samples = document["samples"]
    times = [step["t"] for step in document["history"] if step["t"] is not None]
    span = f"{times[-1] - times[0]:.1f} s" if len(times) > 1 else wording.DASH
    return [
        ("robot", document["robot"]),
        ("body", document["body"] or wording.DASH),
        ("method", wording.words(document["method"])),
        ("data", span),
        ("samples used", f"{samples['used']:,}".replace(",", "\u2009")),
        ("samples rejected", f"{sum(samples['rejected'].values()):,}".replace(",", "\u2009")),
        ("condition number", wording.number_text(document["condition_number"], 3)),
        ("solve time", f"{document['solve_time_s']:.2f} s"),
    ]


def _parameter_rows(document: Document) -> list[dict[str, Any]]:
    truths = document["truth"] or [None] * len(document["parameters"])
    outside = wording.missed_truths(document)
    rows = []
    for row, truth, factor in zip(document["parameters"], truths, wording.narrowing_factors(document), strict=True):
        text = wording.IntervalText.of(row["nominal"], row["lower"], row["upper"])
        likely = wording.likely_text(row, text)
        rows.append(
            {
                "symbol": Markup(wording.symbol(row["name"])),
                "unit": row["unit"],
                "text": text,
                "likely": wording.DASH if likely is None else f"{likely.lower} to {likely.upper}",
                "factor": wording.DASH if factor is None else f"{factor:.3g}×",
                "truth": wording.number_text(truth, 5),
                "inside": None if row["lower"] is None else row["name"] not in outside,
            }
        )
    return rows


def _histories(document: Document) -> list[dict[str, Any]]:
    steps = [step for step in document["history"] if step["t"] is not None]
    if not steps:
        return []
    t = _array([step["t"] for step in steps]) - wording.origin(document)
    withdrawn = document["status"] == Status.INCONSISTENT.name
    truths = document["truth"] or [None] * len(document["parameters"])
    figures = []
    for k, row in enumerate(document["parameters"]):
        lower, upper, nominal = (_array([step[key][k] for step in steps]) for key in ("lower", "upper", "nominal"))
        figures.append(
            {
                "unit": row["unit"],
                "symbol": Markup(wording.symbol(row["name"])),
                "interval": Markup(
                    plots.interval_plot(
                        t, lower, upper, nominal, truth=truths[k], withdrawn=withdrawn,
                        label=f"Interval of {row['name']} over time",
                    )
                ),
                "width": Markup(
                    plots.width_plot(
                        t, lower, upper, withdrawn=withdrawn, label=f"Half-width of {row['name']} over time"
                    )
                ),
            }
        )  # fmt: skip
    return figures


def _joints(torques: TorqueSeries | None, zero: float) -> list[dict[str, Any]]:
    if torques is None or not torques.t.size:
        return []
    rows = []
    points = min(_POINTS, _POINTS * 8 // len(torques.joint_names))
    spread = np.sqrt(np.mean(torques.measured**2, axis=0))
    for k, (name, rms) in enumerate(zip(torques.joint_names, torques.rms(), strict=True)):
        residual = np.abs(torques.residual[:, k])
        residual = residual[np.isfinite(residual)]
        rows.append(
            {
                "name": name,
                "rms": wording.number_text(float(rms), 3, zeros=True),
                "largest": wording.number_text(float(residual.max()) if residual.size else None, 3, zeros=True),
                "measured": wording.number_text(float(spread[k]), 3, zeros=True),
                "share": f"{100.0 * rms / spread[k]:.1f} %" if spread[k] > 0.0 and np.isfinite(rms) else wording.DASH,
                "figure": Markup(
                    plots.torque_plot(
                        torques.t - zero, torques.measured[:, k], torques.predicted[:, k],
                        None if torques.radius is None else torques.radius[:, k],
                        label=f"Measured and predicted torque of {name}", points=points,
                    )
                ),
            }
        )  # fmt: skip
    return rows


def _excitation(document: Document) -> dict[str, Any]:
    values = _array(document["excitation"]["singular_values"])
    steps = [step for step in document["history"] if step["t"] is not None]
    figures = []
    if values.any():
        figure = plots.singular_values_plot(values, label="Singular values of the scaled regressor")
        figures.append(("Singular values, columns scaled by the prior's half-widths", Markup(figure)))
    if len(steps) > 1:
        condition = _array([step["condition_number"] for step in steps])
        t = _array([step["t"] for step in steps]) - wording.origin(document)
        figure = plots.condition_plot(t, condition, label="Condition number over time")
        figures.append(("Condition number over time", Markup(figure)))
    return {"figures": figures, "blind": document["excitation"]["blind"]}


def _costs(document: Document) -> dict[str, Any]:
    """Shares in the sum of what the assumptions add, which may be more than the width."""
    shares = {name: _array(share) for name, share in document["costs"].items()}
    if not shares or document["status"] == Status.WAITING.name:
        return {"figure": None, "rows": []}
    names = [row["name"] for row in document["parameters"]]
    widths = {name: share[0] for name, share in shares.items()}
    total = np.sum(list(shares.values()), axis=0)
    shares = {
        name: np.divide(share, total, out=np.zeros_like(share), where=total > 0.0) for name, share in shares.items()
    }
    shares = {name: share for name, share in shares.items() if share.max() >= _NEGLIGIBLE}
    rows = [
        {
            "name": name,
            "width": wording.number_text(float(widths[name]) if share[0] >= _NEGLIGIBLE else 0.0, 3, zeros=True),
            "mass": f"{100.0 * share[0]:.1f} %",
            "mean": f"{100.0 * share.mean():.1f} %",
        }
        for name, share in sorted(shares.items(), key=lambda item: -float(item[1][0]))
    ]
    figure = plots.cost_plot(names, shares, label="Share of each assumption in the width of each interval")
    return {"figure": Markup(figure), "rows": rows}


def _settings(document: Document) -> list[dict[str, str]]:
    known = {item.name: item for item in options(IntervalIdentifierConfig)}
    rows = []
    for name, value in document["config"].items():
        item = known.get(name)
        rows.append(
            {
                "name": name,
                "value": _setting_text(value),
                "unit": item.unit if item else "",
                "doc": item.doc if item else "",
            }
        )
    return rows


def _setting_text(value: Any) -> str:
    if isinstance(value, list):
        return "  ".join(map(_setting_text, value)) or wording.DASH
    if isinstance(value, float):
        return wording.number_text(value, 6)
    return str(value) if value not in ("", None) else wording.DASH


def _array(values: list[float | None]) -> Array:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
