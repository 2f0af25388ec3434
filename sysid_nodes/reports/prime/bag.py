# SPDX-License-Identifier: Apache-2.0
"""result.mcap of a motion: what the live node would have published, stage by stage; RViz and Foxglove open it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import TracebackType

import numpy as np

from sysid_nodes.logs import BagWriter
from sysid_nodes.logs.writer import to_nanoseconds
from sysid_nodes.messages.geometry import Fields
from sysid_nodes.messages.prime.contact_markers import contact_marker_fields
from sysid_nodes.messages.prime.estimate import (
    CONTACT_FORCES,
    INERTIA,
    MARKERS,
    ODOMETRY,
    SMOOTHED,
    TYPES,
    WRENCH_TYPE,
    contact_forces_fields,
    inertia_fields,
    joint_state_fields,
    odometry_fields,
    wrench_fields,
)
from sysid_nodes.messages.robot_view import RobotView
from sysid_nodes.robots import Robot
from sysid_nodes.robots.links import base_link
from sysid_nodes.sessions.prime.update import PrimeUpdate

_MARKER_PERIOD, _INERTIA_PERIOD = 0.05, 0.5  # the live node's [s]


class PrimeBag:
    """Context manager; the file appears when the block ends without an error.

    Args:
        robot: what is estimated.
        normal: of the ground in the world.
        prefix: of the robot's frames.
    """

    def __init__(self, path: Path, robot: Robot, normal: tuple[float, ...], prefix: str = "") -> None:
        self._writer = BagWriter(path)
        self._robot, self._base, self._normal = robot, base_link(robot), np.array(normal)
        self._now, self._prefix = 0, prefix
        self._last: dict[str, float] = {}
        self._asked: set[str] = set()

    def __enter__(self) -> PrimeBag:
        self._writer.__enter__()
        for topic, kind in TYPES.items():
            self._writer.add_topic(topic, kind, latched=topic == INERTIA)
        self._view = RobotView(self._writer, self._robot, self._prefix)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.__exit__(kind, error, trace)

    def write(self, update: PrimeUpdate) -> None:
        """Writes the stages of an update that are published."""
        for k in update.stages:
            t = float(update.estimate.t[k])
            # Stamps may start over, the order of messages may not.
            self._now = max(self._now + 1, to_nanoseconds(t))
            self._put(CONTACT_FORCES, contact_forces_fields(update, k))
            self._put(ODOMETRY, odometry_fields(update, k, self._base))
            self._put(SMOOTHED, joint_state_fields(update, k, self._robot.joint_names))
            for topic, fields in wrench_fields(update, k, self._base).items():
                if topic not in self._asked:
                    self._writer.add_topic(topic, WRENCH_TYPE)
                    self._asked.add(topic)
                self._put(topic, fields)
            if self._view.due(t):
                self._view.show(self._now, t, update.estimate.q[k], update.frames.world)
            if self._due(MARKERS, t, _MARKER_PERIOD):
                self._put(MARKERS, contact_marker_fields(replace(update, stages=range(k, k + 1)), self._normal))
        if update.estimate.bodies and self._due(INERTIA, update.t, _INERTIA_PERIOD):
            self._put(INERTIA, inertia_fields(update, self._robot))

    def _put(self, topic: str, fields: Fields) -> None:
        self._writer.write(topic, self._now, fields)

    def _due(self, topic: str, t: float, period: float) -> bool:
        last = self._last.get(topic, -math.inf)
        if last <= t < last + period - 1e-6:
            return False
        self._last[topic] = t
        return True
