# SPDX-License-Identifier: Apache-2.0
"""Identified bodies on the page of a motion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from sysid_nodes.reports import wording
from sysid_nodes.reports.prime import plots as prime_plots
from sysid_nodes.reports.prime.series import PrimeSeries

Array = npt.NDArray[np.float64]

_SHOWN = 400  # of the solves' history
_AXES = ("x", "y", "z")


def body_values(t: Array, document: Mapping[str, Any], series: PrimeSeries) -> list[dict[str, Any]]:
    """Table and figures of each body.

    Args:
        t: (M,) of the series' solves, as they are to be drawn [s].
        document: a valid result of a whole run.
        series: of the same run.
    """
    truths = document["run"]["truth"]["bodies"] if document["run"]["truth"] else []
    rows = np.unique(np.linspace(0, len(t) - 1, min(len(t), _SHOWN)).astype(int))
    shown = []
    for k, body in enumerate(document["bodies"]):
        true = truths[k] if truths else None
        curves = [("m", "kg", series.theta[:, k, 0], series.theta_sigma[:, k, 0], true and true["parameters"][0])]
        for axis in range(3):
            values = 1e3 * series.com[:, k, axis], 1e3 * series.com_sigma[:, k, axis]
            curves.append((f"c{_AXES[axis]}", "mm", *values, true and 1e3 * true["centre_of_mass"][axis]))
        for row in range(4, 10):
            parameter, values = body["parameters"][row], (series.theta[:, k, row], series.theta_sigma[:, k, row])
            curves.append((parameter["name"], parameter["unit"], *values, true and true["parameters"][row]))
        figures = [
            {
                "symbol": Markup(wording.symbol(name)),
                "unit": unit,
                "figure": Markup(
                    prime_plots.parameter_plot(
                        t[rows], value[rows], sigma[rows], truth, label=f"{body['link']}: {name} over time"
                    )
                ),
            }
            for name, unit, value, sigma, truth in curves
        ]
        shown.append({"link": body["link"], "rows": _parameter_rows(body, true), "figures": figures})
    return shown


def _parameter_rows(body: Mapping[str, Any], true: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    rows = []
    for k, row in enumerate(body["parameters"]):
        truth = None if true is None else true["parameters"][k]
        rows.append(_row(row["name"], row["unit"], row["nominal"], row["estimate"], row["sigma"], truth))
        if k == 0:
            centre = zip(_AXES, body["centre_of_mass"], body["centre_of_mass_sigma"], range(3), strict=True)
            rows += [
                _row(f"c{axis}", "m", None, value, sigma, None if true is None else true["centre_of_mass"][i])
                for axis, value, sigma, i in centre
            ]
    return rows


def _row(
    name: str, unit: str, nominal: float | None, value: float | None, sigma: float | None, truth: float | None
) -> dict[str, Any]:
    off = None if truth is None or value is None or not sigma else abs(value - truth) / sigma
    return {
        "symbol": Markup(wording.symbol(name)),
        "unit": unit,
        "nominal": wording.number_text(nominal if nominal is None or abs(nominal) > 1e-12 else 0.0, 4),
        "estimate": wording.number_text(value, 4, zeros=True),
        "sigma": wording.number_text(sigma, 2),
        "truth": wording.number_text(truth, 4, zeros=True),
        "off": wording.DASH if off is None else f"{off:.1f}",
    }
