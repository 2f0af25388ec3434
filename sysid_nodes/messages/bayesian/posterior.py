# SPDX-License-Identifier: Apache-2.0
"""Fields of ParameterPosterior and JointFriction, as plain values: the node publishes and a replay logs the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from sysid_nodes.data.digest import digest
from sysid_nodes.messages.geometry import header
from sysid_nodes.sessions.bayesian.online import BayesianUpdate

Fields = dict[str, Any]

TYPE, FRICTION_TYPE = "online_sysid/msg/ParameterPosterior", "online_sysid/msg/JointFriction"
TOPIC, FRICTION_TOPIC = "/bayesian_identifier/posterior", "/bayesian_identifier/friction"

WAITING = "WAITING"
"""Status before any window tells anything."""


def status(update: BayesianUpdate) -> tuple[str, str]:
    """Name of the status, and one sentence."""
    result = update.result
    if result is None:
        return WAITING, f"nothing is identified: {update.fault or 'waiting for motion'}"
    return result.status.name, result.message


def posterior_fields(update: BayesianUpdate) -> Fields:
    """online_sysid/ParameterPosterior; without constants where nothing is claimed."""
    name, sentence = status(update)
    told: Fields = {
        "robot": update.robot,
        "config_id": update.config_id,
        "status": name,
        "message": sentence,
        "window": update.window,
        "used": update.used,
    }
    if (result := update.result) is not None:
        rows = result.parameters if result.status.trusted else ()
        told |= {
            "findings": [*([update.fault] if update.fault else []), *result.findings],
            "stages": result.stages,
            "names": [row.name for row in rows],
            "units": [row.unit for row in rows],
            "covariance": np.ravel(result.parameter_covariance).tolist() if rows else [],
            "verdict": [row.verdict for row in rows],
            "active": [row.active for row in rows],
            **{
                key: [float(getattr(row, key)) for row in rows]
                for key in ("prior_mean", "prior_sigma", "mean", "lower", "upper")
            },
            "blind": [
                {
                    "narrowing": direction.narrowing,
                    "names": [coordinate for coordinate, _ in direction.share],
                    "shares": [share for _, share in direction.share],
                }
                for direction in (result.blind if rows else ())
            ],
        }
    return {"header": header(update.t), "id": digest(told), **told}


def friction_fields(update: BayesianUpdate) -> Fields | None:
    """online_sysid/JointFriction; None where nothing is claimed."""
    result = update.result
    if result is None or not result.status.trusted:
        return None
    joints = [
        {
            "joint": curve.joint,
            "speed": curve.speed.tolist(),
            "median": curve.median.tolist(),
            "lower": curve.lower.tolist(),
            "upper": curve.upper.tolist(),
            "covered": list(curve.covered),
        }
        for curve in result.curves
    ]
    posterior = posterior_fields(update)["id"]
    return {"header": header(update.t), "robot": update.robot, "posterior": posterior, "joints": joints}
