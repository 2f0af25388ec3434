# SPDX-License-Identifier: Apache-2.0
"""Obstacles as messages."""

from __future__ import annotations

from geometry_msgs.msg import Point, Pose, Quaternion
from online_sysid.msg import Obstacle as ObstacleMessage
from online_sysid.msg import Obstacles

from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.exceptions import ConfigError


def to_scene(message: Obstacles, frames: tuple[str, ...]) -> Scene:
    """The scene that a message describes.

    Args:
        message: as it came.
        frames: names of the robot's base frame; another frame is refused, an empty one passes.

    Raises:
        ConfigError: an obstacle is unusable, or the frame is not the robot's base.
    """
    frame = message.header.frame_id
    if frame and frame not in frames:
        raise ConfigError(f"obstacles must be in the robot's base frame '{frames[0]}', got '{frame}'")
    return Scene(tuple(_to_obstacle(item) for item in message.obstacles))


def to_obstacles(scene: Scene, frame: str) -> Obstacles:
    """A scene in the robot's base frame as a message."""
    message = Obstacles(obstacles=[_from_obstacle(item) for item in scene.obstacles])
    message.header.frame_id = frame
    return message


def _to_obstacle(item: ObstacleMessage) -> Obstacle:
    place, turn = item.pose.position, item.pose.orientation
    flat = [float(value) for value in item.generators]
    if len(flat) % 3:
        raise ConfigError(f"obstacle '{item.name}': generators come in threes, got {len(flat)} numbers")
    generators = tuple(tuple(flat[k : k + 3]) for k in range(0, len(flat), 3))
    return Obstacle(
        item.name,
        item.kind,
        (place.x, place.y, place.z),
        tuple(float(value) for value in item.size),
        (turn.x, turn.y, turn.z, turn.w),
        generators,
    )


def _from_obstacle(item: Obstacle) -> ObstacleMessage:
    pose = Pose(
        position=Point(**dict(zip("xyz", item.position, strict=True))),
        orientation=Quaternion(**dict(zip("xyzw", item.quaternion, strict=True))),
    )
    flat = [value for generator in item.generators for value in generator]
    return ObstacleMessage(name=item.name, kind=item.kind, pose=pose, size=list(item.size), generators=flat)
