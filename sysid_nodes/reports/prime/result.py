# SPDX-License-Identifier: Apache-2.0
"""result.json of PRIME."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from sysid_nodes.data import PARAMETER_NAMES, PARAMETER_UNITS
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.reports.files import result_target
from sysid_nodes.reports.json_text import number
from sysid_nodes.reports.prime.schema import PIPELINE
from sysid_nodes.results.prime import BodyEstimate
from sysid_nodes.results.prime_status import PrimeStatus
from sysid_nodes.sessions.prime.session import PrimeSession
from sysid_nodes.systems.prime.assumptions import assumptions


def prime_document(session: PrimeSession) -> dict[str, Any]:
    """A session's findings so far, as plain values."""
    estimate = session.estimate
    bodies = () if estimate is None else estimate.bodies
    return {
        "schema": 1,
        "pipeline": PIPELINE,
        "robot": session.robot.name,
        "status": session.whole_status.name,
        "message": _message(session),
        "stretches": [
            {"status": s.status.name, "start": s.start, "end": s.end, "why": s.why} for s in session.stretches
        ],
        "findings": [finding.message for finding in session.judgement.findings],
        "assumptions": list(assumptions(session.config.prime)),
        "t": None if estimate is None else float(estimate.t[-1]),
        "bodies": [_body(body, np.sqrt(session.judgement.inflation)) for body in bodies],
        "constants": [] if estimate is None else _constants(session),
        "samples": {"used": session.received, "rejected": session.rejected, "unusable": dict(session.unusable)},
        "steps_skipped": session.skipped,
        "solves": session.solves,
        "solve_time_s": 0.0 if estimate is None else float(estimate.solve_time),
        "history": [
            {"t": entry.t, "estimate": _plain(entry.values), "sigma": _plain(entry.sigma)} for entry in session.history
        ],
        "config": session.settings(),
    }


def save_prime(path: str, session: PrimeSession) -> Path:
    """Writes the result into a .json file, or as result.json into a folder; makes missing folders.

    Raises:
        InputError: the path is empty, or the file cannot be written.
    """
    target, _ = result_target(path)
    write_atomically(target, json.dumps(prime_document(session), indent=1, allow_nan=False) + "\n")
    return target


def _message(session: PrimeSession) -> str:
    """Status and findings, then what the data do not tell, then the stretches that are not good."""
    estimate, parts = session.estimate, [session.judgement.sentence]
    for body in () if estimate is None else estimate.bodies:
        if body.unobserved:
            parts.append(f"not observed of {body.link}: {', '.join(body.unobserved)}")
    if estimate is not None and not estimate.contacts.observed:
        parts.append("forces are not observed")
    parts += [stretch.sentence for stretch in session.stretches if stretch.status > PrimeStatus.GOOD]
    return "; ".join(parts)


def _body(body: BodyEstimate, raised: float) -> dict[str, Any]:
    """Sigmas times what residuals in excess of their noise raise those in messages by."""
    sigma = raised * np.sqrt(np.diag(body.covariance))
    entries = zip(PARAMETER_NAMES, PARAMETER_UNITS, body.nominal, body.parameters, sigma, body.observed, strict=True)
    return {
        "link": body.link,
        "parameters": [
            {
                "name": name,
                "unit": unit,
                "nominal": float(nominal),
                "observed": bool(seen),
                "estimate": number(value) if seen else None,
                "sigma": number(s) if seen else None,
            }
            for name, unit, nominal, value, s, seen in entries
        ],
        "centre_of_mass": _plain(np.where(body.com_observed, body.com, np.nan)),
        "centre_of_mass_sigma": _plain(np.where(body.com_observed, raised * body.com_sigma, np.nan)),
    }


def _constants(session: PrimeSession) -> list[dict[str, Any]]:
    estimate = session.estimate
    assert estimate is not None
    sigma = np.sqrt(session.judgement.inflation * np.diag(estimate.parameter_covariance))
    told = sigma <= session.config.prime.inertia.observed * estimate.prior_sigma
    rows = zip(estimate.parameter_names, estimate.parameter_units, estimate.parameters, sigma, told, strict=True)
    return [
        {"name": name, "unit": unit, "estimate": number(value), "sigma": number(s), "observed": bool(seen)}
        for name, unit, value, s, seen in rows
    ]


def _plain(values: Any) -> Any:
    if isinstance(values, np.ndarray):
        return [_plain(value) for value in values]
    return number(values)
