# SPDX-License-Identifier: Apache-2.0
"""Poses from one frame to another, where tf2 is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import Point, Pose, Quaternion
from rclpy.node import Node
from rclpy.time import Time

from sysid_nodes.exceptions import InputError
from sysid_nodes.robots.robot import Array

try:
    import tf2_ros
except ImportError:  # not among the PyPI wheels
    tf2_ros = None

try:
    from tf_transformations import quaternion_matrix, quaternion_multiply
except ImportError:  # a ROS package; this is what it stands on
    from transforms3d.quaternions import qmult, quat2mat

    def quaternion_multiply(first: Array, second: Array) -> Array:
        """Hamilton product of quaternions x, y, z, w."""
        return np.roll(qmult(np.roll(first, 1), np.roll(second, 1)), -1)

    def quaternion_matrix(quaternion: Array) -> Array:
        """(4, 4) rotation of a quaternion x, y, z, w."""
        found = np.eye(4)
        found[:3, :3] = quat2mat(np.roll(quaternion, 1))
        return found


class FrameLookup:
    """The newest transform between two frames.

    Args:
        node: that listens to /tf and /tf_static where tf2 is installed.
    """

    def __init__(self, node: Node) -> None:
        self._buffer = tf2_ros.Buffer() if tf2_ros is not None else None
        self._listener = tf2_ros.TransformListener(self._buffer, node) if tf2_ros is not None else None

    def transform(self, target: str, source: str) -> Any:
        """geometry_msgs/Transform that takes poses in one frame to another.

        Raises:
            InputError: tf2 is not installed, or does not know of it (yet).
        """
        if self._buffer is None:
            raise InputError(f"frame '{source}' is not '{target}', and tf2_ros, which would know the way, is missing")
        try:
            return self._buffer.lookup_transform(target, source, Time()).transform
        except tf2_ros.TransformException as error:
            raise InputError(f"no transform from '{source}' to '{target}': {error}") from None

    def destroy(self) -> None:
        """Ends listening."""
        if self._listener is not None:
            self._listener.unregister()


def rotation(transform: Any) -> Array:
    """(3, 3) from the transform's source frame to its target."""
    found: Array = quaternion_matrix([getattr(transform.rotation, axis) for axis in "xyzw"])[:3, :3]
    return found


def transform_pose(transform: Any, pose: Pose) -> Pose:
    """A pose in the transform's target frame."""
    shift = np.array([getattr(transform.translation, axis) for axis in "xyz"])
    position = rotation(transform) @ [getattr(pose.position, axis) for axis in "xyz"] + shift
    turns = [[getattr(turn, axis) for axis in "xyzw"] for turn in (transform.rotation, pose.orientation)]
    return Pose(
        position=Point(**dict(zip("xyz", map(float, position), strict=True))),
        orientation=Quaternion(**dict(zip("xyzw", map(float, quaternion_multiply(*turns)), strict=True))),
    )
