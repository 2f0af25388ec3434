# SPDX-License-Identifier: Apache-2.0
"""Fields of what an identification by rollouts is published as, as plain values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sysid_nodes.data import PARAMETER_NAMES
from sysid_nodes.data.digest import digest
from sysid_nodes.messages.geometry import header
from sysid_nodes.messages.sampling.posterior import posterior_fields
from sysid_nodes.results.prime_status import PrimeStatus
from sysid_nodes.results.sampling import SamplingEstimate, SamplingStatus
from sysid_nodes.robots import Robot
from sysid_nodes.sessions.sampling.online import SamplingUpdate

Fields = dict[str, Any]

INERTIA, MODELS, POSTERIOR = (
    f"/spi_identifier/{name}" for name in ("inertial_estimate", "actuator_models", "posterior")
)
"""Topics."""

WAITING = "WAITING"
"""Status before anything is identified."""


def status(update: SamplingUpdate) -> tuple[str, str]:
    """Name of the status, and one sentence."""
    if update.result is None:
        return WAITING, f"nothing is identified: {update.fault or 'waiting for a motion that ends'}"
    return update.result.status.name, update.result.status.message


def inertia_fields(update: SamplingUpdate, robot: Robot) -> Fields:
    """online_sysid/InertialEstimate of the first body; numbers that are not claimed are NaN."""
    fields: Fields = {"header": header(update.t), "robot": update.robot, "message": status(update)[1]}
    fields |= {"names": list(PARAMETER_NAMES), "status": int(_quality(update)), "body": robot.body}
    fields["nominal"] = robot.inertial_parameters()[robot.body_index()].tolist()
    unknown = [math.nan] * len(PARAMETER_NAMES)
    result = update.result
    if result is None or result.status is SamplingStatus.UNTRUSTED:
        return fields | {"estimate": unknown, "sigma": unknown}
    theta, covariance = result.inertia[0], result.covariance[0]
    rows = {row.name.rpartition(".")[2]: row for row in result.parameters if row.group == "inertia"}
    centre = [rows[f"centre_{axis}"] for axis in "xyz"]
    return fields | {
        "body": result.bodies[0],
        "estimate": theta.tolist(),
        "sigma": np.sqrt(np.maximum(np.diag(covariance), 0.0)).tolist(),
        "centre_of_mass": {axis: float(x) for axis, x in zip("xyz", theta[1:4] / theta[0], strict=True)},
        "centre_of_mass_sigma": {axis: _number(row.sigma) for axis, row in zip("xyz", centre, strict=True)},
    }


def models_fields(update: SamplingUpdate, robot: Robot) -> Fields:
    """online_sysid/ActuatorModels: the motor parameters of every joint."""
    name, sentence = status(update)
    result = update.result
    told: Fields = {"robot": update.robot, "config_id": update.config_id, "status": name, "message": sentence}
    told["findings"] = list(result.findings) if result is not None else []
    rows = [] if result is None else [row for row in result.parameters if row.group == "motors"]
    told["models"] = [{"joint": joint, "parameters": _of_joint(rows, joint)} for joint in robot.joint_names if rows]
    told["duration"] = 0.0 if result is None else result.duration
    return {"header": header(update.t), "id": digest(str(told)), "window": update.number - 1, **told}


def posterior_message_fields(update: SamplingUpdate) -> Fields:
    """online_sysid/SamplingPosterior."""
    name, sentence = status(update)
    fields: Fields = {"header": header(update.t), "robot": update.robot, "config_id": update.config_id}
    fields |= {"number": update.number, "status": name, "message": sentence}
    result = update.result
    trusted = result is not None and result.status is not SamplingStatus.UNTRUSTED
    if result is None or result.posterior is None or not trusted:
        return fields
    return fields | posterior_fields(result.posterior)


def _quality(update: SamplingUpdate) -> PrimeStatus:
    if update.result is None:
        return PrimeStatus.STARTING
    return PrimeStatus.DOUBTFUL if update.result.status is SamplingStatus.UNTRUSTED else PrimeStatus.GOOD


def _of_joint(rows: list[SamplingEstimate], joint: str) -> list[Fields]:
    """Of the kind that a joint is of, of the joint itself, or of all motors."""
    own = [row for row in rows if row.name.partition(".")[2] in joint or row.name.endswith(".motors")]
    return [
        {
            "name": row.name.partition(".")[0],
            "unit": row.unit,
            "identifiable": row.identifiable,
            "estimate": _number(row.estimate),
            "sigma": _number(row.sigma),
            "lower": _number(row.lower),
            "upper": _number(row.upper),
            "reason": row.reason,
        }
        for row in own
    ]


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
