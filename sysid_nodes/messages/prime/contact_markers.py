# SPDX-License-Identifier: Apache-2.0
"""Markers of contacts for RViz and Foxglove: forces, states and friction cones, coloured by trust."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sysid_nodes.messages.geometry import Fields, header, vector
from sysid_nodes.messages.markers import (
    ARROW,
    GREEN,
    GREY,
    ORANGE,
    RED,
    SPHERE,
    TEXT,
    TRIANGLES,
    WHITE,
    YELLOW,
    Colour,
    deletion,
    marker,
    pose_fields,
)  # fmt: skip
from sysid_nodes.results.prime_status import PrimeStatus
from sysid_nodes.sessions.prime.update import PrimeUpdate

Array = npt.NDArray[np.float64]

METRES_PER_NEWTON = 0.002
"""Length of a force's arrow."""

_SHAFT, _HEAD, _HEAD_LENGTH = 0.012, 0.03, 0.04  # of an arrow [m]
_BALL = 0.03  # diameter of the mark at a contact [m]
_SLOPE = 0.08  # slant height of a cone [m]
_FACETS = 8  # each costs more than a foot's force and state together
_LETTERS, _ABOVE = 0.06, 0.35  # height of the text, and where it stands above the base [m]

COLOURS: dict[PrimeStatus, Colour] = {
    PrimeStatus.STARTING: GREY,
    PrimeStatus.GOOD: GREEN,
    PrimeStatus.DEGRADED: YELLOW,
    PrimeStatus.DOUBTFUL: ORANGE,
    PrimeStatus.LOST: RED,
}
_AIR = GREY


def contact_marker_fields(update: PrimeUpdate, normal: Array) -> Fields:
    """visualization_msgs/MarkerArray: four markers a contact and a line of text; forces are green when trusted.

    Args:
        update: what is published.
        normal: (3,) unit normal of the ground in the world.
    """
    found, k = update.estimate.contacts, update.stage
    head = header(update.t, update.frames.world)
    colour = COLOURS[update.judgement.status]
    markers: list[Fields] = []
    cone = _cone_points(tuple(normal.tolist()), update.estimate.contacts.friction)
    for index in range(len(found.names)):
        point, force, touches = found.position[k, index], found.force[k, index], bool(found.on_ground[k, index])
        known = touches and bool(np.isfinite(force).all())
        markers.append(_state(head, index, point, colour if touches else _AIR))
        markers.append(_arrow(head, index, point, force, colour) if known else deletion(head, "force", index))
        markers.append(_cone(head, index, point, cone, colour) if known else deletion(head, "friction_cone", index))
    markers.append(_text(head, update))
    return {"markers": markers}


def cone_triangles(normal: Array, friction: float) -> Array:
    """(3 F, 3) corners of the facets of the friction cone that stands on the origin, its slant of fixed length."""
    angle = np.linspace(0.0, 2.0 * np.pi, _FACETS + 1)
    helper = np.eye(3)[int(np.argmin(np.abs(normal)))]
    first = np.cross(normal, helper)
    first /= np.linalg.norm(first)
    second = np.cross(normal, first)
    height = _SLOPE / np.hypot(1.0, friction)
    ring = height * (normal + friction * (np.outer(np.cos(angle), first) + np.outer(np.sin(angle), second)))
    return np.stack([np.zeros(ring[1:].shape), ring[:-1], ring[1:]], axis=1).reshape(-1, 3)


@lru_cache(4)
def _cone_points(normal: tuple[float, ...], friction: float) -> list[Fields]:
    """The same as points, which no update changes: a cone's place is its marker's."""
    return [vector(corner) for corner in cone_triangles(np.array(normal), friction)]


def _state(head: Fields, index: int, point: Array, colour: Colour) -> Fields:
    return marker(head, "contact", index, SPHERE, colour, 0.9, pose=pose_fields(point), scale=vector(np.full(3, _BALL)))


def _arrow(head: Fields, index: int, point: Array, force: Array, colour: Colour) -> Fields:
    points = [vector(point), vector(point + METRES_PER_NEWTON * force)]
    scale = vector(np.array([_SHAFT, _HEAD, _HEAD_LENGTH]))
    return marker(head, "force", index, ARROW, colour, 1.0, points=points, scale=scale)


def _cone(head: Fields, index: int, point: Array, cone: list[Fields], colour: Colour) -> Fields:
    pose, scale = pose_fields(point), vector(np.ones(3))
    return marker(head, "friction_cone", index, TRIANGLES, colour, 0.25, pose=pose, points=cone, scale=scale)


def _text(head: Fields, update: PrimeUpdate) -> Fields:
    place = update.estimate.q[update.stage, :3] + np.array([0.0, 0.0, _ABOVE])
    bodies = [f"{body.mass:.2f} kg, σ {body.mass_sigma:.2g} kg" for body in update.estimate.bodies]
    lines = [update.judgement.status.name, *bodies]
    scale = vector(np.full(3, _LETTERS))
    return marker(head, "status", 0, TEXT, WHITE, 1.0, pose=pose_fields(place), scale=scale, text="\n".join(lines))
