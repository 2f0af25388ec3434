# SPDX-License-Identifier: Apache-2.0
"""Readings that are stuck: encoders that stand and then jump, torques that stay the same while their joint moves.

An encoder whose readings flicker does so where its joint stands, too: one that reads exactly the same for some time is
stuck. One that is coarse, and changes by counts, reads the same wherever its joint is slow.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import LogError
from sysid_nodes.systems.bayesian.log import MechanismLog

Array = npt.NDArray[np.float64]

MOVES = 1e-3
"""Way that a joint has to move at least [rad]."""

_STOOD = 10  # stages
_LEAST_JUMP, _COUNTS = 0.01, 20.0  # that a jump has at least, [rad] and in smallest steps of the reading
_ORDER, _SPREAD = 4, 1.4826 / np.sqrt(70.0)  # of differences that show noise; of its deviation from their median size
_SLOW, _LEAST_SLOW = 6.0, 5  # noise's deviations that a slow joint moves a stage; such stages that tell its encoder
_JUMP = 3  # changes in a row that are more than half of the largest, at most


def refuse_stuck_readings(log: MechanismLog, joints: Sequence[str], motors: Sequence[bool]) -> None:
    """Raises where readings cannot be those of the joint.

    Args:
        log: readings.
        joints: (n,) names.
        motors: (n,) which of them have a motor.

    Raises:
        LogError: an encoder or a torque was stuck.
    """
    for j in np.flatnonzero(np.isfinite(log.position).any(axis=0)).tolist():
        if since := stuck_until_it_jumps(log.position[:, j]):
            raise LogError(
                f"'{joints[j]}' reads the same for {since * log.step:.2g} s and then jumps: stuck?",
                kind=f"'{joints[j]}' reads the same and then jumps",
            )
        if since := stops_dead(log.position[:, j]):
            raise LogError(
                f"'{joints[j]}' stops dead and reads the same for the last {since * log.step:.2g} s: stuck?",
                kind=f"'{joints[j]}' stops dead",
            )
    _refuse_still_readings(log, joints)
    for torque, j in zip(log.torque.T, np.flatnonzero(motors).tolist(), strict=True):
        told, way = torque[np.isfinite(torque)], log.position[:, j][np.isfinite(log.position[:, j])]
        if len(told) and np.ptp(told) == 0.0 and len(way) and np.ptp(way) > MOVES:
            raise LogError(
                f"the torque of '{joints[j]}' reads {told[0]:.3g} throughout while it moves: stuck?",
                kind=f"the torque of '{joints[j]}' reads the same throughout",
            )


def _refuse_still_readings(log: MechanismLog, joints: Sequence[str]) -> None:
    """Raises where an encoder reads the same though it is not one that stands still."""
    there = np.flatnonzero(np.isfinite(log.position).all(axis=0)).tolist()
    longest = {j: same_stages(log.position[:, j]) for j in there}
    counts = np.zeros(len(joints)) if log.counts is None else log.counts
    slow = {j: slow_stages(log.position[:, j], *longest[j], float(counts[j])) for j in there}
    moving = [j for j in there if np.ptp(log.position[:, j]) > 0.0]
    for j in moving:
        stood = longest[j][1] - longest[j][0]
        if slow[j] >= _LEAST_SLOW and stood >= _STOOD:
            raise LogError(
                f"'{joints[j]}' reads the same for {stood * log.step:.2g} s, at other times it flickers: stuck?",
                kind=f"'{joints[j]}' reads the same, at other times it flickers",
            )
    if min((slow[j] for j in moving), default=-1) < 0 or sum(slow[j] for j in moving) < _LEAST_SLOW:
        return
    for j in there:
        if j not in moving:
            raise LogError(
                f"'{joints[j]}' reads the same throughout, others flicker: stuck? if locked, fix it in the URDF",
                kind=f"'{joints[j]}' reads the same throughout",
            )


def same_stages(position: Array) -> tuple[int, int]:
    """First and last but one of the most stages (N,) in a row that read exactly the same."""
    edges = np.flatnonzero(np.diff(position, prepend=np.nan, append=np.nan) != 0.0)
    k = int(np.argmax(np.diff(edges)))
    return int(edges[k]), int(edges[k + 1])


def slow_stages(position: Array, first: int, last: int, count: float = 0.0) -> int:
    """Stages, but for first..last - 1, at which a joint (N,) moves by no more than its noise.

    -1 where its readings repeat as those of a coarse encoder do: at another stage, or for noise below its count.
    """
    change, quick = np.abs(np.diff(position)), np.abs(np.diff(position, _ORDER))
    noise = _SPREAD * float(np.median(quick[quick > 0.0])) if quick.any() else 0.0
    others = np.delete(change, slice(first, last - 1))
    return int(np.count_nonzero(others < _SLOW * noise)) if noise > count and np.all(others > 0.0) else -1


def stuck_until_it_jumps(position: Array) -> int:
    """Stages for which a joint (N,) reads exactly the same before a change twice as large as any other; 0 if never.

    A joint that sets out from rest, or whose encoder counts one on, makes no such jump; at the end of the readings
    nothing tells the one from the other.
    """
    if len(position) < 2 * _STOOD:
        return 0
    change = np.abs(np.nan_to_num(position[2:] - position[:-2]))  # of two stages: readings are means over one
    at = int(np.argmax(change))
    others = np.delete(change, slice(max(at - 3, 0), at + 4))
    steps = np.abs(np.delete(np.diff(position), slice(max(at - 3, 0), at + 5)))
    step = float(min(steps[steps > 0.0], default=0.0))
    least = max(2.0 * others.max(initial=0.0), _COUNTS * step, _LEAST_JUMP)
    if not change[at] > least or at + 4 >= len(change) or np.count_nonzero(change > 0.5 * change[at]) > _JUMP:
        return 0
    stood = 0
    # A jump bends its neighbours where they are brought to their stages' time.
    for last in range(max(at - 3, 0), at + 2):
        moved = np.flatnonzero(position[: last + 1] != position[last])
        stood = max(stood, last - (int(moved[-1]) if len(moved) else -1))
    return stood if stood >= _STOOD else 0


def stops_dead(position: Array) -> int:
    """Last stages for which a joint (N,) reads exactly the same after a stop twice as hard as any other; 0 if none.

    A joint that comes to rest slows down before, at least half as hard as at the end of it.
    """
    bends = np.abs(np.diff(position, 2))
    moved = np.flatnonzero(position != position[-1])
    first = int(moved[-1]) + 1 if len(moved) else 0
    stood = len(position) - first
    if stood < _STOOD or first < 2 * _STOOD or not np.isfinite(bends).all():
        return 0
    # Stage k bends at k - 1; where readings are brought to their stages' time, neighbours bend with it.
    before, hardest = bends[: first - 4], float(bends[first - 4 :].max())
    steps = np.abs(np.diff(position[: first - 2]))
    step = float(min(steps[steps > 0.0], default=0.0))
    return stood if hardest > max(2.0 * float(before.max()), _COUNTS * step, MOVES) else 0
