# SPDX-License-Identifier: Apache-2.0
"""Many runs as one document: each number over all runs, whether they agree, what drifts and who is out of line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.results.batch import BatchRun, Outcome
from sysid_nodes.results.quantity import Quantity
from sysid_nodes.solvers.agreement import Agreement, Slope, compare_estimates, compare_intervals, fit_slope

Array = npt.NDArray[np.float64]

PIPELINE = "batch"
SCHEMA = 1

_LEVEL = 0.01
"""Probability of calling anything in the whole table that is not there."""
_DAY = 86400.0  # [s]
_EXPLANATIONS = (("start", "time", _DAY, "day"), ("duration", "duration of the recording", 1.0, "s"))
"""Field of a run, what it is called, its unit in the table [SI], and the name of that."""


def build_batch(
    runs: Sequence[BatchRun], found: Mapping[str, Sequence[Quantity]], versions: Mapping[str, str]
) -> dict[str, Any]:
    """The document batch.json.

    Args:
        found: numbers of the runs that have some, by name of the run.
        versions: of the software that compared them.
    """
    rows = [run for run in runs if run.name in found]
    units = {item.name: item.unit for run in rows for item in found[run.name]}
    level = _LEVEL / max(len(units) * (1 + len(_EXPLANATIONS)), 1)
    by_name = {run.name: {item.name: item for item in found[run.name]} for run in rows}
    return {
        "schema": SCHEMA,
        "pipeline": PIPELINE,
        "runs": [asdict(run) | {"outcome": run.outcome.name} for run in runs],
        "quantities": [
            _quantity(name, unit, [(run, by_name[run.name].get(name)) for run in rows], level)
            for name, unit in units.items()
        ],
        "versions": dict(versions),
    }


def write_batch(path: Path, document: Mapping[str, Any]) -> None:
    """Writes the document whole or not at all, as strict JSON.

    Raises:
        InputError: it cannot be written.
    """
    write_atomically(path, json.dumps(document, indent=1, allow_nan=False) + "\n")


def read_batch(path: Path) -> list[BatchRun]:
    """The runs of a document.

    Raises:
        InputError: the file cannot be read or is none.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return [BatchRun(**run | {"outcome": Outcome[run["outcome"]]}) for run in document["runs"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"not the table of a batch ({type(error).__name__})", source=str(path)) from None


def _quantity(name: str, unit: str, values: Sequence[tuple[BatchRun, Quantity | None]], level: float) -> dict[str, Any]:
    """One number over all runs that have it."""
    told = [(run, item) for run, item in values if item is not None]
    agreement, slopes = _compare(told, level)
    names = [run.name for run, _ in told]
    return {
        "name": name,
        "unit": unit,
        "values": [
            {"run": run.name, "estimate": item.estimate, "lower": item.lower, "upper": item.upper, "sigma": item.sigma}
            for run, item in told
        ],
        "statistical": bool(told) and all(item.sigma is not None for _, item in told),
        "agree": None if agreement is None else agreement.agree,
        "p": None if agreement is None else agreement.p,
        "mean": _first(agreement, "mean"),
        "scatter": _first(agreement, "scatter"),
        "lower": None if agreement is None else agreement.lower,
        "upper": None if agreement is None else agreement.upper,
        "outliers": [] if agreement is None else [names[k] for k in agreement.outliers],
        "explained_by": [
            {"by": title, "per": per, "slope": scale * slope.slope, "sigma": scale * slope.sigma, "p": slope.p}
            for (_, title, scale, per), slope in zip(_EXPLANATIONS, slopes, strict=False)
            if slope is not None and slope.p < level
        ],
    }


def _compare(
    told: Sequence[tuple[BatchRun, Quantity]], level: float
) -> tuple[Agreement | None, Sequence[Slope | None]]:
    """Agreement of at least two runs, and what the number depends on where it has sigmas."""
    if len(told) < 2:
        return None, ()
    sigmas = [item.sigma for _, item in told if item.sigma is not None]
    if len(sigmas) < len(told):
        ends = np.array([(item.lower, item.upper) for _, item in told])
        return compare_intervals(ends[:, 0], ends[:, 1]), ()
    estimates, sigma = np.array([item.estimate for _, item in told]), np.array(sigmas)
    # A recording that was read has start and duration.
    against = [np.array([float(getattr(run, field)) for run, _ in told]) for field, *_ in _EXPLANATIONS]
    return compare_estimates(estimates, sigma, level), [fit_slope(x, estimates, sigma) for x in against]


def _first(agreement: Agreement | None, field: str) -> float | None:
    if agreement is None or agreement.common is None:
        return None
    values: Array = getattr(agreement.common, field)
    return float(values[0])
