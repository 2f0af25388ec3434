# SPDX-License-Identifier: Apache-2.0
"""A body's estimate in RViz: where its mass can be, how it is probably spread, how much it weighs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pinocchio
from geometry_msgs.msg import Point, Quaternion, Vector3
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from sysid_nodes.data.inertia import is_consistent, parameters_to_com
from sysid_nodes.reports.wording import IntervalText
from sysid_nodes.results import IdentificationResult, Status

Array = npt.NDArray[np.float64]

_REGION, _CENTRE, _ELLIPSOID, _TEXT = range(4)

_BALL = 0.02  # diameter of the mark at the centre of mass [m]
_LETTERS = 0.04  # height of the text [m]
_ABOVE = 0.15  # the text stands this far above the frame, along its x axis [m]

_BLUE, _ORANGE, _GREY, _WHITE = (0.2, 0.5, 1.0), (1.0, 0.5, 0.1), (0.8, 0.8, 0.8), (1.0, 1.0, 1.0)


def marker_array(result: IdentificationResult, frame: str) -> MarkerArray:
    """Four markers in the body's frame; what is not known, or contradicted, is deleted.

    Args:
        result: state of knowledge.
        frame: link whose moving joint's frame the parameters are expressed in.
    """
    shapes = {} if result.status is Status.INCONSISTENT else _shapes(result)
    shapes[_TEXT] = _text(result)
    markers = [shapes.get(index) or Marker(action=Marker.DELETE) for index in range(_TEXT + 1)]
    for index, marker in enumerate(markers):
        marker.ns, marker.id = "body", index
        # Without a stamp and locked, RViz shows it at the link's newest pose, also to who joins later.
        marker.header.frame_id, marker.frame_locked = frame, True
    return MarkerArray(markers=markers)


def centre_region(lower: Array, upper: Array) -> tuple[Array, Array] | None:
    """Box (3,), (3,) [m] that holds the centre of mass of every body within bounds (10,), rounded outward.

    Interval division of the first moments by the mass; None where the mass may be zero.
    """
    if not lower[0] > 0.0:
        return None
    corners = np.array([moment / mass for moment in (lower[1:4], upper[1:4]) for mass in (lower[0], upper[0])])
    return np.nextafter(corners.min(axis=0), -np.inf), np.nextafter(corners.max(axis=0), np.inf)


def solid_ellipsoid(theta: Array) -> tuple[Array, Array, Array] | None:
    """The homogeneous ellipsoid that has the inertial parameters theta (10,).

    Returns:
        Centre (3,) [m], axes as the columns of a rotation (3, 3), and semi-axes (3,) [m]; None where theta is not
        physically consistent.
    """
    if not is_consistent(theta):
        return None
    mass, centre, inertia = parameters_to_com(theta)
    # The second moment of mass along a principal axis is m a^2 / 5.
    second = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    moments, axes = np.linalg.eigh(second)
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    return centre, axes, np.sqrt(5.0 * np.maximum(moments, 0.0) / mass)


def _shapes(result: IdentificationResult) -> dict[int, Marker]:
    found: dict[int, Marker] = {}
    if (box := centre_region(result.lower, result.upper)) is not None:
        found[_REGION] = _marker(Marker.CUBE, 0.5 * (box[0] + box[1]), box[1] - box[0], _BLUE, 0.25)
    if result.nominal[0] > 0.0:
        found[_CENTRE] = _marker(
            Marker.SPHERE, result.nominal[1:4] / result.nominal[0], np.full(3, _BALL), _ORANGE, 1.0
        )
    if (ellipsoid := solid_ellipsoid(result.nominal)) is not None:
        centre, axes, radii = ellipsoid
        found[_ELLIPSOID] = _marker(Marker.SPHERE, centre, 2.0 * radii, _GREY, 0.4)
        x, y, z, w = pinocchio.Quaternion(axes).coeffs().tolist()
        found[_ELLIPSOID].pose.orientation = Quaternion(x=x, y=y, z=z, w=w)
    return found


def _text(result: IdentificationResult) -> Marker:
    line = result.status.name
    if result.status is not Status.INCONSISTENT:
        mass = IntervalText.of(result.nominal[0], result.lower[0], result.upper[0], digits=2)
        line = f"{mass.lower} to {mass.upper} kg\n{line}"
    marker = _marker(Marker.TEXT_VIEW_FACING, np.array([_ABOVE, 0.0, 0.0]), np.full(3, _LETTERS), _WHITE, 1.0)
    marker.text = line
    return marker


def _marker(kind: int, position: Array, size: Array, colour: tuple[float, float, float], alpha: float) -> Marker:
    marker = Marker(type=kind, action=Marker.ADD, color=ColorRGBA(r=colour[0], g=colour[1], b=colour[2], a=alpha))
    marker.pose.position = Point(**dict(zip("xyz", map(float, position), strict=True)))
    marker.scale = Vector3(**dict(zip("xyz", map(float, size), strict=True)))
    return marker
