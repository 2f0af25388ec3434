# SPDX-License-Identifier: Apache-2.0
"""result.json and report.html of a predicted torque."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from markupsafe import Markup

from sysid_nodes.reports import wording
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.reports.drawing import plots
from sysid_nodes.reports.files import REPORT_NAME, RESULT_NAME
from sysid_nodes.reports.json_text import encode
from sysid_nodes.reports.page import template
from sysid_nodes.reports.schema import SCHEMA
from sysid_nodes.results.torque_comparison import TorqueComparison

PIPELINE = "prediction"
MODEL = "model"

_POINTS = 400


def prediction_document(
    found: TorqueComparison, *, robot: str, joints: tuple[str, ...], model: str, source: str, window: float
) -> dict[str, Any]:
    """The comparison as a JSON object; the rms is of mean torques over windows [N m]."""
    rms = {name: found.rms(name).tolist() for name in found.predicted}
    torque = (found.measured**2).mean(axis=0) ** 0.5
    return {
        "schema": SCHEMA,
        "pipeline": PIPELINE,
        "robot": robot,
        "joints": list(joints),
        "model": model,
        "source": source,
        "window_s": window,
        "windows": len(found.t),
        "torque_rms": torque.tolist(),
        "residual_rms": rms,
    }


def write_prediction(folder: Path, document: dict[str, Any], found: TorqueComparison) -> None:
    """Writes result.json and report.html into a folder.

    Raises:
        InputError: a file cannot be written.
    """
    zero = float(found.t[0])
    figures = [
        Markup(
            plots.torque_plot(
                found.t - zero, found.measured[:, k], found.predicted[MODEL][:, k], None,
                label=f"Measured and predicted torque of {name}", points=_POINTS,
            )
        )
        for k, name in enumerate(document["joints"])
    ]  # fmt: skip
    columns = list(document["residual_rms"])
    rows = [
        {
            "name": name,
            "torque": wording.number_text(document["torque_rms"][k], 3, zeros=True),
            "rms": [wording.number_text(document["residual_rms"][model][k], 3, zeros=True) for model in columns],
            "figure": figures[k],
        }
        for k, name in enumerate(document["joints"])
    ]
    page = template("prediction.html.j2").render(document=document, columns=columns, rows=rows)
    write_atomically(folder / REPORT_NAME, page)
    write_atomically(folder / RESULT_NAME, encode(document))
