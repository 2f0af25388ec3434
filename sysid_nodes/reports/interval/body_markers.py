# SPDX-License-Identifier: Apache-2.0
"""Markers of a body's estimate: where its mass can be, how it is probably spread, how much it weighs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.messages.geometry import Fields, vector
from sysid_nodes.messages.inertia_markers import ellipsoid_marker
from sysid_nodes.messages.markers import BLUE, CUBE, ORANGE, SPHERE, TEXT, WHITE, deletion, marker, pose_fields
from sysid_nodes.reports.wording import IntervalText
from sysid_nodes.results import IdentificationResult, Status

Array = npt.NDArray[np.float64]

MARKERS = "/interval_identifier/markers"

_REGION, _CENTRE, _ELLIPSOID, _TEXT = range(4)

_BALL = 0.02  # diameter of the mark at the centre of mass [m]
_LETTERS = 0.04  # height of the text [m]
_ABOVE = 0.15  # the text stands this far above the frame, along its x axis [m]


def body_marker_fields(result: IdentificationResult, frame: str) -> Fields:
    """visualization_msgs/MarkerArray: four markers in the body's frame; what is not known, or contradicted, is deleted.

    Args:
        result: state of knowledge.
        frame: link whose moving joint's frame the parameters are expressed in.
    """
    # Without a stamp and locked, RViz shows it at the link's newest pose, also to who joins later.
    head = {"frame_id": frame}
    shapes = {} if result.status is Status.INCONSISTENT else _shapes(head, result)
    shapes[_TEXT] = _text(head, result)
    found = [shapes.get(index) or deletion(head, "body", index) for index in range(_TEXT + 1)]
    return {"markers": [fields | {"frame_locked": True} for fields in found]}


def centre_region(lower: Array, upper: Array) -> tuple[Array, Array] | None:
    """Box (3,), (3,) [m] that holds the centre of mass of every body within bounds (10,), rounded outward.

    Interval division of the first moments by the mass; None where the mass may be zero.
    """
    if not lower[0] > 0.0:
        return None
    corners = np.array([moment / mass for moment in (lower[1:4], upper[1:4]) for mass in (lower[0], upper[0])])
    return np.nextafter(corners.min(axis=0), -np.inf), np.nextafter(corners.max(axis=0), np.inf)


def _shapes(head: Fields, result: IdentificationResult) -> dict[int, Fields]:
    found: dict[int, Fields] = {}
    if (box := centre_region(result.lower, result.upper)) is not None:
        found[_REGION] = marker(
            head, "body", _REGION, CUBE, BLUE, 0.25,
            pose=pose_fields(0.5 * (box[0] + box[1])), scale=vector(box[1] - box[0]),
        )  # fmt: skip
    if result.nominal[0] > 0.0:
        found[_CENTRE] = marker(
            head, "body", _CENTRE, SPHERE, ORANGE, 1.0,
            pose=pose_fields(result.nominal[1:4] / result.nominal[0]), scale=vector(np.full(3, _BALL)),
        )  # fmt: skip
    if (ellipsoid := ellipsoid_marker(head, "body", _ELLIPSOID, result.nominal)) is not None:
        found[_ELLIPSOID] = ellipsoid
    return found


def _text(head: Fields, result: IdentificationResult) -> Fields:
    line = result.status.name
    if result.status is not Status.INCONSISTENT:
        mass = IntervalText.of(result.nominal[0], result.lower[0], result.upper[0], digits=2)
        line = f"{mass.lower} to {mass.upper} kg\n{line}"
    place, scale = pose_fields(np.array([_ABOVE, 0.0, 0.0])), vector(np.full(3, _LETTERS))
    return marker(head, "body", _TEXT, TEXT, WHITE, 1.0, pose=place, scale=scale, text=line)
