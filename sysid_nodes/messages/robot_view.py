# SPDX-License-Identifier: Apache-2.0
"""A robot in a recording, for RViz and Foxglove: its description, and the transforms of its links."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio

from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.logs.storage import absolute
from sysid_nodes.logs.writer import BagWriter, stamp_fields
from sysid_nodes.models.loop_motion import LinkagePosture
from sysid_nodes.robots.links import base_frame, base_link
from sysid_nodes.robots.loops import Loop
from sysid_nodes.robots.robot import Array, Robot
from sysid_nodes.robots.visuals import visible_urdf

DESCRIPTION, TRANSFORMS = "robot_description", "tf"
TYPES = {DESCRIPTION: "std_msgs/msg/String", TRANSFORMS: "tf2_msgs/msg/TFMessage"}

_PERIOD = 1.0 / 30.0  # of the robot's time between two poses [s]


class RobotView:
    """Writes what is needed to see a robot.

    Args:
        bag: open writer; the topics are declared here.
        robot: whose links.
        prefix: goes before their names.
        loops: that its description leaves open; joints that nobody reads are then where these close.

    Attributes:
        shown: times [s] and configurations (nq,) of the poses written.
    """

    def __init__(self, bag: BagWriter, robot: Robot, prefix: str = "", loops: Sequence[Loop] = ()) -> None:
        self._bag, self._robot, self._prefix = bag, robot, prefix
        self._data = robot.model.createData()
        self._root = base_link(robot) if robot.floating_base else base_frame(robot)
        frames = [frame for frame in robot.model.frames if frame.type == pinocchio.FrameType.BODY]
        self._links = [str(frame.name) for frame in frames if frame.name not in ("universe", self._root)]
        self._last = -math.inf
        self._order = JointOrder(robot.joint_names)
        self._linkage = LinkagePosture(robot, loops) if loops else None
        self._base, self._world = np.zeros(0), ""
        self.shown: list[tuple[float, Array]] = []
        bag.add_topic(absolute(DESCRIPTION), TYPES[DESCRIPTION], latched=True)
        bag.add_topic(absolute(TRANSFORMS), TYPES[TRANSFORMS])

    def due(self, t: float) -> bool:
        """Whether a pose of this time [s] would be written: they need not be dense; time may start over."""
        return not self._last <= t < self._last + _PERIOD

    def place(self, pose: Array, world: str) -> None:
        """Takes where a floating base is, for the poses to come.

        Args:
            pose: (7,) position and quaternion x, y, z, w [m].
            world: frame that it is in.
        """
        self._base, self._world = np.asarray(pose, dtype=np.float64), world

    def hold(self) -> None:
        """Takes that a floating base does not move: the poses to come begin at it."""
        self.place(pinocchio.neutral(self._robot.model)[: self._robot.model.nq - len(self._robot.joint_names)], "")

    def follow(
        self,
        log_time: int,
        t: float,
        names: Sequence[str],
        position: Sequence[float] | Array,
        unit: float | Array = 1.0,
    ) -> None:
        """Writes a pose where one is due and a joint state tells it; of a floating base, once it has been placed.

        Args:
            log_time, t: as for `show`.
            names, position: of the joint state.
            unit: of its positions, one or (n,) in the order of the robot [rad]; with loops they are in rad.
        """
        joints = self._joints(names, position, unit) if self.due(t) else None
        if joints is None:
            return
        q = np.concatenate([self._base, joints])
        if len(q) == self._robot.model.nq and np.isfinite(q).all():
            self.show(log_time, t, q, self._world)

    def _joints(self, names: Sequence[str], position: Sequence[float] | Array, unit: float | Array) -> Array | None:
        """(n,) in the order of the robot [rad]; None where the message does not tell them."""
        if self._linkage is not None:
            return self._linkage.complete(names, position)
        columns = self._order.columns(names)
        if columns is None or len(position) <= max(columns):
            return None
        return np.asarray(unit * np.asarray(position, dtype=np.float64)[columns])

    def show(self, log_time: int, t: float, q: Array, world: str = "") -> None:
        """Writes a pose.

        Args:
            log_time: of the messages [ns].
            t: stamp [s].
            q: of the model.
            world: frame that a floating base moves in; empty for a fixed one.
        """
        if self._last == -math.inf:
            self._bag.write(absolute(DESCRIPTION), log_time, {"data": visible_urdf(self._robot)})
        self._last = t
        self.shown.append((t, np.array(q)))
        pinocchio.framesForwardKinematics(self._robot.model, self._data, np.asarray(q, dtype=np.float64))
        root = self._place(self._root)
        head = {"stamp": stamp_fields(t), "frame_id": self._prefix + self._root}
        poses = [(head, link, root.actInv(self._place(link))) for link in self._links]
        if world:
            poses.insert(0, ({"stamp": stamp_fields(t), "frame_id": world}, self._root, root))
        transforms = [_transform(header, self._prefix + name, pose) for header, name, pose in poses]
        self._bag.write(absolute(TRANSFORMS), log_time, {"transforms": transforms})

    def _place(self, link: str) -> pinocchio.SE3:
        return self._data.oMf[self._robot.model.getFrameId(link, pinocchio.FrameType.BODY)]


def _transform(header: dict[str, Any], child: str, pose: pinocchio.SE3) -> dict[str, Any]:
    turn = pinocchio.Quaternion(pose.rotation).coeffs()
    moved = {
        "translation": dict(zip("xyz", map(float, pose.translation), strict=True)),
        "rotation": dict(zip("xyzw", map(float, turn), strict=True)),
    }
    return {"header": header, "child_frame_id": child, "transform": moved}
