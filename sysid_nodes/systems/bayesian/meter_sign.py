# SPDX-License-Identifier: Apache-2.0
"""Whether a power meter was read turned round: its current counted as positive while it gives power, or the other way.

Noise that is estimated takes power up that is turned round, and in a short log so do motion, losses and idle power: of
half a second to a second and a half of legs and pendulums with torques and a meter that was turned round, 13 of 15 were
FOUND. So power is compared either way, along the motion that positions show by themselves, and with the torques that
were read beside it (reading_evidence.py).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.systems.bayesian.problem import MechanismProblem
from sysid_nodes.systems.bayesian.reading_evidence import FINEST, Along, Evidence, Rows, evidence, readings_along
from sysid_nodes.systems.bayesian.torque_errors import TOGETHER, means, shares
from sysid_nodes.systems.bayesian.ways_of_reading import Way

Array = npt.NDArray[np.float64]

_TOLD = np.log(100.0)
"""Odds that an honest log has against it once in a hundred, for one way of reading."""

_ROUNDS = 3
"""In which losses follow the torques of the most probable constants."""


class Meter(NamedTuple):
    """Attributes: in words, that a log speaks for a meter that was turned round, or that it leaves that open; empty
    where it does not. Logarithm of the odds for it."""

    against: str = ""
    open: str = ""
    odds: float = -np.inf


def turned_meter(problem: MechanismProblem, read: Array) -> Meter:
    """Whether power was, as far as a log tells along positions (N, n) by the readings alone."""
    own, log = problem.mechanism.parameters, problem.log
    if problem.mechanism.contacts.touching or not np.isfinite(log.power).any() or not len(own.free):
        return Meter()
    if problem.reference is not None:  # what moves such an arm is mostly not read
        return Meter()
    along = Along.of(problem, read)
    torques = readings_along(problem, read, along)
    straight, turned = (_most_probable(problem, torques, along, sign) for sign in (1.0, -1.0))
    if straight is None or turned is None:
        return Meter(open="whether the power meter was turned round was not judged: no constants were found")
    lasts = np.minimum(straight.found.lasts, turned.found.lasts)
    again = [evidence(own, one.rows, one.way, lasts, one.found.x) for one in (straight, turned)]
    values = [np.nan if one is None else one.value for one in again]
    odds = values[1] - values[0]
    if odds > _TOLD:
        return Meter(
            "power is more probable turned round: is the sign of the meter's current right?",
            odds=odds,
        )
    if odds < -_TOLD:
        return Meter(odds=odds)
    return Meter(open="the log does not tell whether the power meter was turned round", odds=odds)


class _Way(NamedTuple):
    """Attributes: rows at the most probable constants of a way to read power; the way; how probable it is."""

    rows: Rows
    way: Way
    found: Evidence


def _most_probable(problem: MechanismProblem, torques: Rows, along: Along, sign: float) -> _Way | None:
    """A way to read power, linearised anew where it makes constants most probable: losses are of torques squared."""
    own, count = problem.mechanism.parameters, torques.read.shape[1] + 1
    way = Way("", np.arange(count), np.append(np.ones(count - 1), sign))
    rows, x, found = torques, own.mean, None
    for _ in range(_ROUNDS):
        rows = _with_power(problem, torques, along, x)
        if (found := evidence(own, rows, way, np.ones(count), x)) is None:
            return None
        x = found.x
    return None if found is None else _Way(rows, way, found)


def _with_power(problem: MechanismProblem, rows: Rows, along: Along, x: Array) -> Rows:
    """The torques' rows, and the power's as one column more, linearised at x (P,).

    Forces that only press parts of a mechanism against each other do no work.
    """
    mechanism, own, log = problem.mechanism, problem.mechanism.parameters, problem.log
    (motors,), phi = np.nonzero(own.motors), own.of_torques(x)
    torque = along.torque + along.by_phi @ (phi - own.of_torques(own.mean))
    loss = own.constants(x, "loss")[motors]
    gain, offset, unread = *(own.constants(x, name)[motors] for name in ("gain", "offset")), np.isnan(log.torque[1:-1])
    shown = np.where(unread, torque, (log.torque[1:-1] - offset) / gain)  # of which losses are
    value = mechanism.power(along.motion, torque, x) + (shown**2 - torque**2) @ loss
    by_torque = mechanism.of_motors(along.motion.v)[:, motors] + 2.0 * loss * torque * unread
    by_phi = np.einsum("km,kmp->kp", by_torque, along.by_phi)
    for k, j in enumerate(motors):
        by_phi[:, own.free == own.joint("loss").start + j] = shown[:, k, None] ** 2
    by_phi[:, own.free == own.idle] = 1.0
    used = np.isfinite(log.power[1:-1])
    slopes = mechanism.user_slopes(along.motion, x)[:, own.n, 3 * own.n :]
    by_phi[:, np.isin(own.free, np.arange(own.users.start, own.users.stop))] += slopes
    weight, told = shares(used[:, None])
    by_phi, rest = means(by_phi[:, None], weight), means((value - by_phi @ phi)[:, None], weight)
    scatter = log.power_scatter if np.isfinite(log.power_scatter) else 0.0
    return replace(
        rows,
        by_phi=np.concatenate([rows.by_phi, by_phi], axis=1),
        rest=np.concatenate([rows.rest, rest], axis=1),
        handed=np.pad(rows.handed, ((0, 0), (0, 1), (0, 0))),
        weight=np.concatenate([rows.weight, weight], axis=2),
        read=np.column_stack([rows.read, np.where(used, log.power[1:-1], 0.0)]),
        scatter=np.append(rows.scatter, max(scatter / np.sqrt(TOGETHER), FINEST)),
        used=np.column_stack([rows.used, told]),
    )
