# SPDX-License-Identifier: Apache-2.0
"""Errors where a trajectory begins: at rest, or where the certificate of the former one leaves them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.verification.chain import Chain
from sysid_nodes.verification.delayed import Begun, metric
from sysid_nodes.verification.demand import Law
from sysid_nodes.verification.desired import control_points
from sysid_nodes.verification.document import Document
from sysid_nodes.verification.errors import Errors
from sysid_nodes.verification.models import Models
from sysid_nodes.verification.tracking import Start

Array = npt.NDArray[np.float64]


def start(document: Document, models: Models, law: Law, former: Settled | None) -> tuple[Start, Begun]:
    """Bounds that hold until the first torque of this trajectory acts, one age after its start at the latest.

    The motions desired before and after agree in position, velocity and acceleration where they meet, and part by their
    jerks.

    Args:
        former: what follows of the trajectory before, where that one's errors are proven with the delay of commands.

    Returns:
        errors for the proof by energies, and for that of delayed loops.
    """
    heavy, root = heaviest(document.chain, models), metric(law, models).root
    entry, jerk = _rest(document, models, law, heavy) if document.former is None else _former(document, models, root)
    (energy, late), h, gain = entry, law.age, law.gain
    apart = jerk + _first_jerk(document)
    quick, far = apart * (h**2 / 2.0 + gain * h**3 / 6.0), apart * h**3 / 6.0

    def norm(x: Array) -> float:
        return float(np.sqrt((heavy * x**2).sum()))

    speed, passed = energy.speed + norm(apart * (h + gain * h**2 / 2.0)), h * energy.speed
    level, least = float(energy.level), np.sqrt(models.least_armature)
    if former is not None:
        level = 0.5 * former.weight * float(late.reference.norm[0]) ** 2
        energy = Start(level, np.sqrt(former.weight) * energy.position, energy.speed)
    grown = np.sqrt(2.0 * level) + passed + norm(quick)
    by_energy = Start(0.5 * grown**2, energy.position + h * grown + norm(far), speed)

    size = float(late.reference.norm[0]) + passed + norm(quick)
    each = late.reference.each + passed / least + quick
    reference = Errors(np.array([size]), each, root)
    further = Errors(late.position.norm + h * size + norm(far), late.position.each + h * each + far, root)
    unknown = Errors(np.array([np.inf]), np.full((1, document.n), np.inf), root)
    z, jump = (unknown, np.zeros(document.n)) if former is None else (former.apart, former.jump)
    return by_energy, Begun(reference, further, speed, z, jump)


@dataclass(frozen=True)
class Settled:
    """Consequences of a former trajectory at the takeover, if its errors are as it claims.

    Attributes:
        apart: z = r - r_bar.
        weight: M is at most that many times the metric.
        jump: (n,) change of the torque that r_bar answers to, by the nominal model's [N m].
    """

    apart: Errors
    weight: float
    jump: Array


_Entry = tuple[tuple[Start, Begun], Array]


def _rest(document: Document, models: Models, law: Law, heavy: Array) -> _Entry:
    """Of a robot no faster than certifier.start_speed and no further off than start_distance and what encoders say."""
    config, root = document.premises["certifier"], metric(law, models).root
    off = 2.0 * law.position_error + config["start_distance"]
    creep = np.full(document.n, config["start_speed"])
    speed = max(float(law.gain * np.sqrt((heavy * creep**2).sum())), document["start_rate"])
    reference = law.gain * off + creep
    energy = Start(
        float(0.5 * (heavy * reference**2).sum()),
        float(np.sqrt((models.armature.sum(axis=1) * off**2).sum())),
        speed,
    )
    r, e = (Errors(np.sqrt(((root * x) ** 2).sum(keepdims=True)), x[None], root) for x in (reference, off))
    return (energy, Begun(r, e, speed, r, off)), np.zeros(document.n)


def _former(document: Document, models: Models, root: Array) -> _Entry:
    """Of the former record's claims at the time of the takeover; its torques act a little longer."""
    former = document.former
    assert former is not None
    last = len(former["edges"]) - 1
    i = former_interval(document)
    both = [i, min(i + 1, last)]
    points = control_points(Document(former, None, "", document.premises, document.chain))
    jerk = np.abs(np.diff(points, 3, axis=0)).max(axis=0) * 60.0 / former["duration"] ** 3
    level, norm, speed = former["error_energy"][i], former["error_norm"][i], float(former["error_rate"][both].max())
    size, least = np.array([np.sqrt(2.0 * level)]), np.sqrt(models.least_armature)
    each = (size / least, norm / least)
    if former["proof"] == "delayed":
        each = tuple(former[f"error_{name}"].reshape(-1, document.n)[i] for name in ("reference", "position"))
    r, e = Errors(size, each[0][None], root), Errors(np.array([norm]), each[1][None], root)
    return (Start(float(level), float(norm), speed), Begun(r, e, speed, r, 0.0 * jerk)), (
        jerk if i < last else 0.0 * jerk
    )


def former_interval(document: Document) -> int:
    """That of the former record in which this one takes over."""
    assert document.former is not None
    return int(np.searchsorted(document.former["edges"], document["previous_time"], side="right")) - 1


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
