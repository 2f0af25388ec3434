# SPDX-License-Identifier: Apache-2.0
"""Conditions that a certificate must cover for its trajectory to be executed now: bounds, obstacles, permission."""

from __future__ import annotations

import numpy as np

from sysid_nodes.data.bounds import PARAMETER_NAMES, Bounds
from sysid_nodes.results.identification import Status
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.results.trajectory_record import TrajectoryRecord
from sysid_nodes.robots.robot import Array
from sysid_nodes.systems.certified.control.acceptance import Identity

CLAIMED = (Status.WAITING, Status.UNWEIGHED, Status.NOT_EXCITED, Status.PROVEN)
"""Status under which an identifier's bounds are proven, or the prior."""


def accepted_statuses(estimates: bool) -> tuple[Status, ...]:
    """Status of bounds that count: those that are proven, and estimates and doubtful ones where they are let in."""
    return (*CLAIMED, Status.ESTIMATED, Status.DOUBTFUL) if estimates else CLAIMED


class InForce:
    """The last usable bounds and obstacles, and what was wrong with later ones.

    Args:
        own: what bounds must be of.
        prior: bounds until others arrive.
        scene_id: obstacles at the beginning.
        counts: status of bounds that count.

    Attributes:
        requested: why somebody asked to execute nothing any more; NONE if nobody did.
        scene_id: None while it is unknown what is there.
    """

    def __init__(self, own: Identity, prior: Bounds, scene_id: str, counts: tuple[Status, ...] = CLAIMED) -> None:
        self._counts = counts
        self._own, self._bounds, self._fault = own, prior, StopReason.NONE
        self.scene_id: str | None = scene_id
        self.requested = StopReason.NONE

    def take_bounds(self, lower: Array, upper: Array, status: Status, body: str, target: str) -> StopReason:
        """Bounds that arrived; NONE, or why they are not in force and the former ones stay."""
        found = bounds_of(lower, upper) if status in self._counts else None
        named = body in ("", self._own.body) and target in ("", self._own.target)
        if status is Status.INCONSISTENT:
            self._fault = StopReason.BOUNDS_INCONSISTENT
        elif found is None or not named:
            self._fault = StopReason.BOUNDS_INVALID
        else:
            self._bounds, self._fault = found, StopReason.NONE
        return self._fault

    def block_reason(self) -> StopReason:
        """NONE, or why no trajectory at all is to be executed."""
        if self.requested or self._fault:
            return self.requested or self._fault
        return StopReason.SCENE_INVALID if self.scene_id is None else StopReason.NONE

    def is_covered_by(self, record: TrajectoryRecord) -> bool:
        """Whether a trajectory was certified for all models in the bounds."""
        return record.holds(self._bounds)

    def admits(self, record: TrajectoryRecord) -> StopReason:
        """NONE, or why a trajectory is not certified for what is in force."""
        if blocked := self.block_reason():
            return blocked
        if not self.is_covered_by(record):
            return StopReason.TRAJECTORY_OTHER_BOUNDS
        return StopReason.NONE if record.scene_id == self.scene_id else StopReason.TRAJECTORY_OTHER_SCENE


def bounds_of(lower: Array, upper: Array) -> Bounds | None:
    """Bounds that arrived, None where they are unusable."""
    pair = [np.asarray(x, dtype=np.float64) for x in (lower, upper)]
    if any(x.shape != (len(PARAMETER_NAMES),) or not np.isfinite(x).all() for x in pair) or (pair[0] > pair[1]).any():
        return None
    return Bounds(*pair)
