# SPDX-License-Identifier: Apache-2.0
"""report.html of an estimated motion: one self-contained page made from result.json and series.npz."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio
from markupsafe import Markup

from sysid_nodes.data.config import options
from sysid_nodes.reports import wording
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.reports.drawing.plots import GREY
from sysid_nodes.reports.page import template
from sysid_nodes.reports.prime import plots as prime_plots
from sysid_nodes.reports.prime.parameters import body_values
from sysid_nodes.reports.prime.picture import contact_picture
from sysid_nodes.reports.prime.scene import prime_scene
from sysid_nodes.reports.prime.series import PrimeSeries
from sysid_nodes.reports.prime.truth import ON_GROUND, PrimeTruth, feet, sum_by_foot
from sysid_nodes.results.prime_status import PrimeStatus
from sysid_nodes.robots import Robot
from sysid_nodes.sessions.prime.config import PrimeSessionConfig

Array = npt.NDArray[np.float64]
Document = Mapping[str, Any]

_TONES = {
    PrimeStatus.GOOD: ("good", "All streams agree"),
    PrimeStatus.DEGRADED: ("wait", "Degraded"),
    PrimeStatus.DOUBTFUL: ("bad", "Not to be relied on"),
    PrimeStatus.LOST: ("bad", "Lost"),
    PrimeStatus.STARTING: ("wait", "No estimate"),
}
_EARLY = 60.0  # a larger stamp [s] says that stamps do not count from the start of the run


def write_prime_report(
    path: Path, document: Document, series: PrimeSeries, truth: PrimeTruth | None, robot: Robot
) -> None:
    """Renders and writes the page atomically.

    Raises:
        InputError: the file cannot be written.
    """
    write_atomically(path, render_prime_report(document, series, truth, robot))


def render_prime_report(document: Document, series: PrimeSeries, truth: PrimeTruth | None, robot: Robot) -> str:
    """The page as text.

    Args:
        document: a valid result of a whole run.
        series: what is drawn.
        truth: where it is known.
    """
    zero = float(np.floor(series.t[0])) if series.t[0] > _EARLY else 0.0
    t, names, index = series.t - zero, *feet(robot)
    forces = _forces(t, names, index, series, truth)
    colours = tuple(prime_plots.FEET[k % len(prime_plots.FEET)] for k in range(len(names)))
    picture = contact_picture(series, index, colours, label="The robot's way, its contacts and forces")
    run = document["run"]
    return template("prime.html.j2").render(
        document=document,
        run=run,
        headline=_headline(document),
        verdict=_verdict(document, series),
        facts=_facts(document),
        zero=zero,
        single=len(names) == len(index),
        forces=forces,
        told=series.tells_forces,
        feet=_feet_rows(document),
        checked=any(row["sensor"] for row in run["feet"]),
        keys=list(zip(names, colours, strict=True)),
        timing=Markup(_draw_timing(t, names, index, series, truth)),
        scene=prime_scene(t, series, truth, robot, index, colours).markup(),
        picture=Markup(picture),
        bodies=body_values(series.solved - zero, document, series),
        motion=_motion(t, series, truth),
        sensors=_sensor_rows(document),
        fit=Markup(_fit(series.solved - zero, document, series)),
        settings=_settings(document),
        colours={status.name.lower(): colour for status, colour in prime_plots.STATUS.items()},
    )


def _headline(document: Document) -> str:
    """The finding in a line."""
    if not document["bodies"]:
        return "Motion and contact forces; no body was to be identified"
    body = document["bodies"][0]
    mass = body["parameters"][0]
    if mass["estimate"] is None:
        return f"The mass of '{body['link']}' is not observed"
    sigma = "" if mass["sigma"] is None else f" (one standard deviation: {wording.decimal_text(mass['sigma'], 3)} kg)"
    return f"The {body['link']} weighs {wording.decimal_text(mass['estimate'], 3)} kg with all that it carries{sigma}"


def _verdict(document: Document, series: PrimeSeries) -> dict[str, Any]:
    status = PrimeStatus[document["status"]]
    tone, label = _TONES[status]
    sentences = [wording.sentence(status.message)]
    trusted = np.array([PrimeStatus(int(value)).trusted for value in series.status])
    if not trusted.all() and document["run"]["mode"] == "horizon":
        sentences.append(f"{100.0 * (1.0 - trusted.mean()):.1f} % of the stages were published as not to be relied on.")
    if truth := document["run"]["truth"]:
        sentences += _against_truth(truth)
    return {"tone": tone, "label": f"{label} in the end", "sentences": sentences}


def _against_truth(truth: Mapping[str, Any]) -> list[str]:
    parts = []
    if truth["bodies"]:
        body = truth["bodies"][0]
        off = 1e3 * body["centre_of_mass_error"]
        parts.append(f"mass {100.0 * abs(body['mass_error']):.2f} % and centre of mass {off:.1f} mm off")
    if truth["force_error"] is not None:
        parts.append(f"contact forces {100.0 * truth['force_error']:.1f} % off, contact F1 {truth['contact_f1']:.3f}")
    if truth["position_rms"] is not None:
        parts.append(f"base {1e3 * truth['position_rms']:.1f} mm off (RMS)")
    return ["Against the known truth: " + "; ".join(parts) + "."] if parts else []


def _facts(document: Document) -> list[tuple[str, str]]:
    run, samples = document["run"], document["samples"]
    rejected = sum(sum(reasons.values()) for reasons in samples["rejected"].values())
    mode = {"batch": "full information, the whole log", "horizon": "moving horizon, as live"}[run["mode"]]
    return [
        ("robot", document["robot"]),
        ("estimation", mode),
        ("data", f"{run['end'] - run['start']:.1f} s, {run['stages']} stages"),
        ("messages", _count(samples["used"])),
        ("readings not taken", _count(rejected + sum(samples["unusable"].values()))),
        ("solves", _count(document["solves"])),
        ("time it took", f"{run['wall_time_s']:.1f} s"),
    ]


def _forces(
    t: Array, names: tuple[str, ...], index: npt.NDArray[np.int64], series: PrimeSeries, truth: PrimeTruth | None
) -> list[dict[str, Any]]:
    found = sum_by_foot(series.force, index)
    true = None if truth is None else sum_by_foot(truth.force, index)
    rows = []
    for k, name in enumerate(names if series.tells_forces else ()):
        points = np.flatnonzero(index == k)
        # The shares of a foot's points are uncertain in opposite ways: their variances do not add up to the sum's.
        sigma = series.force_sigma[:, points[0]] if len(points) == 1 else None
        figure = prime_plots.force_plot(
            t, found[:, k], sigma, None if true is None else true[:, k],
            colour=prime_plots.FEET[k % len(prime_plots.FEET)], label=f"Contact force of {name}",
        )  # fmt: skip
        rows.append({"name": name, "figure": Markup(figure)})
    if series.outside.shape[1]:
        figure = prime_plots.force_plot(
            t, series.outside[:, :3], series.outside_sigma[:, :3], None,
            colour=GREY, label="Force on the base from outside",
        )  # fmt: skip
        rows.append({"name": "the base, from outside, in its own axes", "figure": Markup(figure)})
    return rows


def _draw_timing(
    t: Array, names: tuple[str, ...], index: npt.NDArray[np.int64], series: PrimeSeries, truth: PrimeTruth | None
) -> str:
    found = np.stack([series.on_ground[:, index == k].any(axis=1) for k in range(len(names))], axis=1)
    true = None if truth is None else sum_by_foot(np.nan_to_num(truth.force), index)[..., 2] > ON_GROUND
    return prime_plots.timing_plot(t, names, found, true, series.status, label="When each foot is on the ground")


def _feet_rows(document: Document) -> list[dict[str, str]]:
    return [
        {
            "name": row["name"],
            "on_ground": wording.DASH if row["on_ground"] is None else f"{100.0 * row['on_ground']:.0f} %",
            "touchdowns": str(row["touchdowns"]),
            "mean": wording.number_text(row["mean_force"], 3),
            "peak": wording.number_text(row["peak_force"], 3),
            "sensor": _sensor_words(row["sensor"]),
        }
        for row in document["run"]["feet"]
    ]


def _sensor_words(sensor: Mapping[str, Any] | None) -> str:
    """How well contacts agree with the foot's own sensor; empty where it has none."""
    if sensor is None:
        return ""
    return "cannot tell contact from swing" if sensor["f1"] is None else f"F1 {sensor['f1']:.3f}"


def _motion(t: Array, series: PrimeSeries, truth: PrimeTruth | None) -> dict[str, Markup | None]:
    position = None if truth is None else truth.position
    path = prime_plots.path_plot(t, series.base[:, :3], position, label="The base from above, and its height")
    if truth is None:
        return {"path": Markup(path), "error": None}
    turns = [pinocchio.Quaternion(q).toRotationMatrix() for q in series.base[:, 3:]]
    error = np.einsum("nji,nj->ni", np.array(turns), series.base[:, :3] - truth.position)
    figure = prime_plots.position_error_plot(t, error, series.base_sigma, label="Error of the base's position")
    return {"path": Markup(path), "error": Markup(figure)}


def _sensor_rows(document: Document) -> list[dict[str, Any]]:
    limit = float(document["config"]["trust.misfit"])
    rows = []
    for row in document["run"]["sensors"]:
        rms = row["rms"]
        rows.append(
            {
                "name": wording.words(row["name"]),
                "residuals": _count(row["residuals"]),
                "rms": wording.number_text(rms, 3, zeros=True),
                "worst": wording.number_text(row["worst"], 3, zeros=True),
                "fine": rms is not None and rms <= limit,
                "empty": not row["residuals"],
            }
        )
    return rows


def _fit(t: Array, document: Document, series: PrimeSeries) -> str:
    fit = {name: series.fit[:, k] for k, name in enumerate(series.sensors)}
    if len(t) < 2 or not fit:
        return ""
    limit = float(document["config"]["trust.misfit"])
    return prime_plots.fit_plot(t, fit, limit, label="Residuals of each sensor over time")


def _settings(document: Document) -> list[dict[str, str]]:
    known = {item.name: item for item in options(PrimeSessionConfig)}
    return [
        {
            "name": name,
            "value": wording.number_text(value, 6) if isinstance(value, float) else _plain(value),
            "unit": known[name].unit if name in known else "",
            "doc": known[name].doc if name in known else "",
        }
        for name, value in document["config"].items()
    ]


def _plain(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "  ".join(wording.number_text(x, 6) for x in value) or wording.DASH
    return str(value) if value not in ("", None) else wording.DASH


def _count(number: int) -> str:
    return f"{number:,}".replace(",", "\u2009")
