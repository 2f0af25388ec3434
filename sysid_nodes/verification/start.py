# SPDX-License-Identifier: Apache-2.0
"""Errors where a trajectory begins: at rest, or where the certificate of the former one leaves them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.verification.chain import Chain
from sysid_nodes.verification.demand import Law
from sysid_nodes.verification.desired import control_points
from sysid_nodes.verification.document import Document
from sysid_nodes.verification.models import Models
from sysid_nodes.verification.tracking import Start

Array = npt.NDArray[np.float64]


def start(document: Document, models: Models, law: Law) -> Start:
    """Bounds that hold until the first torque of this trajectory acts, one age after its start at the latest.

    The motions desired before and after agree in position, velocity and acceleration where they meet, and part by their
    jerks.
    """
    heavy = heaviest(document.chain, models)
    entry, jerk = _rest(document, models, law, heavy) if document.former is None else _former(document)
    h, gain = law.age, law.gain
    apart = jerk + _first_jerk(document)

    def norm(x: Array) -> float:
        return float(np.sqrt((heavy * x**2).sum()))

    grown = np.sqrt(2.0 * entry.level) + h * entry.speed + norm(apart * (h**2 / 2.0 + gain * h**3 / 6.0))
    return Start(
        0.5 * grown**2,
        entry.position + h * grown + norm(apart * h**3 / 6.0),
        entry.speed + norm(apart * (h + gain * h**2 / 2.0)),
    )


def _rest(document: Document, models: Models, law: Law, heavy: Array) -> tuple[Start, Array]:
    """Of a robot no faster than certifier.start_speed and no further off than start_distance and what encoders say."""
    config = document.premises["certifier"]
    off = 2.0 * law.position_error + config["start_distance"]
    creep = np.full(document.n, config["start_speed"])
    speed = law.gain * np.sqrt((heavy * creep**2).sum())
    return Start(
        float(0.5 * (heavy * (law.gain * off + creep) ** 2).sum()),
        float(np.sqrt((models.armature.sum(axis=1) * off**2).sum())),
        max(float(speed), document["start_rate"]),
    ), np.zeros(document.n)


def _former(document: Document) -> tuple[Start, Array]:
    """Of the former record's claims at the time of the takeover; its torques act a little longer."""
    former = document.former
    assert former is not None
    last = len(former["edges"]) - 1
    i = int(np.searchsorted(former["edges"], document["previous_time"], side="right")) - 1
    both = [i, min(i + 1, last)]
    points = control_points(Document(former, None, "", document.premises, document.chain))
    jerk = np.abs(np.diff(points, 3, axis=0)).max(axis=0) * 60.0 / former["duration"] ** 3
    return Start(
        float(former["error_energy"][i]), float(former["error_norm"][i]), float(former["error_rate"][both].max())
    ), jerk if i < last else 0.0 * jerk


def _first_jerk(document: Document) -> Array:
    """(n,) bound on the jerk within the first interval."""
    points, duration = control_points(document), document["duration"]
    third, fourth, fifth = (np.abs(np.diff(points, k, axis=0)) for k in (3, 4, 5))
    x = document["edges"][1] / duration if len(document["edges"]) > 1 else 1.0
    # Third derivative at the start, and what the higher ones make of it meanwhile.
    size = third[0] + 2.0 * x * fourth[0] + x**2 * fifth[0]
    return np.asarray(60.0 / duration**3 * np.minimum(size, third.max(axis=0)) * (1.0 + 1e-9))


def heaviest(chain: Chain, models: Models) -> Array:
    """(n,) mu with M <= diag(mu) in any posture: every lever at its longest."""
    n = len(chain.names)
    theta = np.abs(models.theta) + models.theta_off
    length = np.sqrt((chain.place**2).sum(axis=1))
    total = np.zeros((n, n))
    for i in range(n):
        mass, first = theta[i, 0], np.sqrt((theta[i, 1:4] ** 2).sum())
        second = np.sqrt((theta[i, [4, 5, 7, 5, 6, 8, 7, 8, 9]] ** 2).sum())
        lever = np.array([length[j + 1 : i + 1].sum() for j in range(i + 1)])
        total[: i + 1, : i + 1] += mass * np.outer(lever, lever) + first * np.add.outer(lever, lever) + second
    return np.asarray(total.sum(axis=1) + models.armature.sum(axis=1))
