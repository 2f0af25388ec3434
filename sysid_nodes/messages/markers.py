# SPDX-License-Identifier: Apache-2.0
"""Fields of visualization_msgs/Marker, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.messages.geometry import Fields, quaternion, vector

Array = npt.NDArray[np.float64]
Colour = tuple[float, float, float]

ARRAY_TYPE = "visualization_msgs/msg/MarkerArray"

ARROW, CUBE, SPHERE, LINE, TEXT, TRIANGLES = 0, 1, 2, 4, 9, 11
ADD, DELETE, DELETE_ALL = 0, 2, 3
"""Values of visualization_msgs/Marker."""

GREEN, YELLOW, ORANGE, RED = (0.1, 0.8, 0.2), (0.95, 0.85, 0.1), (1.0, 0.5, 0.1), (0.9, 0.1, 0.1)
BLUE, GREY, WHITE = (0.2, 0.5, 1.0), (0.6, 0.6, 0.6), (1.0, 1.0, 1.0)

_UPRIGHT = (0.0, 0.0, 0.0, 1.0)


def marker(head: Fields, namespace: str, index: int, kind: int, colour: Colour, alpha: float, **fields: Any) -> Fields:
    """A marker at the frame's origin, unless fields say otherwise."""
    red, green, blue = colour
    return {
        "header": head,
        "ns": namespace,
        "id": index,
        "type": kind,
        "action": ADD,
        "pose": pose_fields(np.zeros(3)),
        "color": {"r": red, "g": green, "b": blue, "a": alpha},
        **fields,
    }


def deletion(head: Fields, namespace: str, index: int) -> Fields:
    """Takes a marker away."""
    return {"header": head, "ns": namespace, "id": index, "action": DELETE}


def fresh_array(frame: str, markers: Sequence[Fields]) -> Fields:
    """visualization_msgs/MarkerArray that begins with taking away all that was shown before.

    The markers move with their frames, also for who joins later: they are locked and have no stamp.
    """
    clearing = {"header": {"frame_id": frame}, "action": DELETE_ALL}
    return {"markers": [clearing, *(fields | {"frame_locked": True} for fields in markers)]}


def with_prefix(array: Fields, prefix: str) -> Fields:
    """A MarkerArray whose frames have names that begin with a prefix."""
    markers = [
        fields | {"header": fields["header"] | {"frame_id": prefix + fields["header"]["frame_id"]}}
        for fields in array["markers"]
    ]
    return {"markers": markers}


def pose_fields(point: Array, turn: Sequence[float] | Array = _UPRIGHT) -> Fields:
    """A geometry_msgs Pose from a place [m] and a quaternion x, y, z, w."""
    return {"position": vector(point), "orientation": quaternion(np.asarray(turn))}
