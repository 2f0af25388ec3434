# SPDX-License-Identifier: Apache-2.0
"""Markers of an estimated body: how its mass is probably spread, where its centre is, how much it weighs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.data.inertia import is_consistent, parameters_to_com
from sysid_nodes.messages.geometry import Fields, vector
from sysid_nodes.messages.markers import GREY, ORANGE, SPHERE, TEXT, WHITE, Colour, marker, pose_fields

Array = npt.NDArray[np.float64]

_SIGMAS = 2.7955  # radius that holds 95 % of a normal distribution in space
_SMALLEST = 0.001  # semi-axis of a region that can still be seen [m]
_LETTERS, _ABOVE = 0.03, 0.08  # height of the text, and where it stands above the centre of mass [m]


def body_markers(frame: str, index: int, link: str, theta: Array, covariance: Array) -> Iterator[Fields]:
    """Fields of visualization_msgs/Markers, a kind a namespace; nothing of a body that is none.

    Args:
        frame: that the parameters are expressed in.
        index: that tells the body's markers from those of others.
        link: its name, for people.
        theta: (10,) estimate.
        covariance: (10, 10) of it; the region is of first order, and not shown where this is not finite.
    """
    head = {"frame_id": frame}
    if (solid := ellipsoid_marker(head, "inertia", index, theta)) is None:
        return
    yield solid
    mass, centre, _ = parameters_to_com(theta)
    slopes = np.column_stack([-centre, np.eye(3)]) / mass
    spread = slopes @ covariance[:4, :4] @ slopes.T
    if np.isfinite(spread).all():
        variances, axes = np.linalg.eigh(spread)
        axes[:, 2] *= np.sign(np.linalg.det(axes))
        radii = np.maximum(_SIGMAS * np.sqrt(np.maximum(variances, 0.0)), _SMALLEST)
        yield _ellipsoid(head, "centre_of_mass_95_percent", index, (centre, axes, radii), ORANGE, 0.9)
    sigma = float(np.sqrt(np.maximum(covariance[0, 0], 0.0)))
    words = f"{link} {mass:.2f} kg" + (f", σ {sigma:.2g} kg" if sigma > 0.0 else "")
    place, scale = pose_fields(centre + np.array([0.0, 0.0, _ABOVE])), vector(np.full(3, _LETTERS))
    yield marker(head, "mass", index, TEXT, WHITE, 1.0, pose=place, scale=scale, text=words)


def ellipsoid_marker(head: Fields, namespace: str, index: int, theta: Array) -> Fields | None:
    """The homogeneous ellipsoid of inertial parameters theta (10,); None where they are not physically consistent."""
    solid = solid_ellipsoid(theta)
    return None if solid is None else _ellipsoid(head, namespace, index, solid, GREY, 0.4)


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


def _ellipsoid(
    head: Fields, namespace: str, index: int, solid: tuple[Array, Array, Array], colour: Colour, alpha: float
) -> Fields:
    centre, axes, radii = solid
    pose = pose_fields(centre, pinocchio.Quaternion(axes).coeffs())
    return marker(head, namespace, index, SPHERE, colour, alpha, pose=pose, scale=vector(2.0 * radii))
