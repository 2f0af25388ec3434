# SPDX-License-Identifier: Apache-2.0
"""Obstacles as messages."""

from __future__ import annotations

from typing import Any

import numpy as np
from online_sysid.msg import Obstacle as ObstacleMessage
from online_sysid.msg import Obstacles

from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.ros.frames import FrameLookup, rotation, transform_pose


def to_scene(message: Obstacles, base: str, frames: FrameLookup | None = None) -> Scene:
    """The scene that a message describes.

    Args:
        base: name of the robot's base frame; an empty one in the message is it, too.
        frames: knows the way from other frames; None: they are refused.

    Raises:
        InputError: an obstacle is unusable, or nothing is known of its frame.
    """
    frame = message.header.frame_id
    if frame in ("", base):
        return Scene(tuple(_to_obstacle(item) for item in message.obstacles))
    if frames is None:
        raise ConfigError(f"obstacles must be in the robot's base frame '{base}', got '{frame}'")
    moved = frames.transform(base, frame)
    return Scene(tuple(_to_obstacle(_transform(item, moved)) for item in message.obstacles))


def _transform(item: ObstacleMessage, transform: Any) -> ObstacleMessage:
    """An obstacle in the transform's target frame; what has no axes of its own keeps none."""
    pose = transform_pose(transform, item.pose)
    if item.kind not in ("box", "capsule"):
        pose.orientation = item.pose.orientation
    generators = np.array(item.generators)
    if len(generators) % 3 == 0:  # otherwise it is refused as it is
        generators = (generators.reshape(-1, 3) @ rotation(transform).T).ravel()
    return ObstacleMessage(name=item.name, kind=item.kind, pose=pose, size=item.size, generators=generators.tolist())


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
