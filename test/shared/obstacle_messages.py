# SPDX-License-Identifier: Apache-2.0
"""Obstacles as messages, as whoever sees them publishes them."""

from __future__ import annotations

from geometry_msgs.msg import Point, Pose, Quaternion
from online_sysid.msg import Obstacle as ObstacleMessage
from online_sysid.msg import Obstacles

from sysid_nodes.data.scene import Obstacle, Scene


def to_obstacles(scene: Scene, frame: str) -> Obstacles:
    """A scene in the robot's base frame as a message."""
    message = Obstacles(obstacles=[_from_obstacle(item) for item in scene.obstacles])
    message.header.frame_id = frame
    return message


def _from_obstacle(item: Obstacle) -> ObstacleMessage:
    pose = Pose(
        position=Point(**dict(zip("xyz", item.position, strict=True))),
        orientation=Quaternion(**dict(zip("xyzw", item.quaternion, strict=True))),
    )
    flat = [value for generator in item.generators for value in generator]
    return ObstacleMessage(name=item.name, kind=item.kind, pose=pose, size=list(item.size), generators=flat)
