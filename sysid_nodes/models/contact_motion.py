# SPDX-License-Identifier: Apache-2.0
"""Gap and sliding velocity of contact spheres over a plane along a discrete trajectory, with derivatives.

A sphere touches at its lowest point (towards the plane), not at its centre. The gap is that point's distance from the
plane. The sliding velocity over an interval is the mean tangential velocity of the body's material at that point:
displacement of the centre plus rotation of the body times the arm, both divided by dt, so that a rolling foot does not
slide. At stage k, both intervals are averaged: friction then belongs to the force that dynamics see there, which is an
average over both (discrete_motion).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.contact import ContactPlane
from sysid_nodes.models.floating_base import ContactKinematics
from sysid_nodes.models.rotations import matrix_log, right_log_jacobian, skew

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ContactMotion:
    """Contact spheres along N configurations; K = N - 2 inner stages.

    Attributes:
        gap: (N, nc) distance of the lowest point from the plane [m].
        gap_jacobian: (N, nc, nv), empty unless asked for.
        slip: (K, nc, 2) tangential velocity of the lowest point along the plane's two tangents [m/s].
        slip_jacobian: (K, nc, 2, 3, nv) by the tangents of stages k-1, k, k+1, empty unless asked for.
    """

    gap: Array
    gap_jacobian: Array
    slip: Array
    slip_jacobian: Array


def contact_arms(plane: ContactPlane, radii: Array) -> Array:
    """(nc, 3) from each sphere's centre to its lowest point, in the world [m]."""
    return np.asarray(-radii[:, None] * plane.axes[0])


def contact_gaps(centre: Array, radii: Array, plane: ContactPlane, height: float) -> Array:
    """(N, nc) distances of the lowest points of spheres at centres (N, nc, 3) from the plane raised by a height [m]."""
    return np.asarray(centre @ plane.axes[0] - radii - plane.height - height)


def contact_motion(
    kinematics: ContactKinematics, radii: Array, plane: ContactPlane, height: float, dt: float, *, derivatives: bool
) -> ContactMotion:
    """Gap and slip of N configurations spaced by dt [s], over the plane raised by a further `height` [m]."""
    axes, arms = plane.axes, contact_arms(plane, radii)
    tangents = axes[1:]
    gap = contact_gaps(kinematics.centre, radii, plane, height)
    rotation = kinematics.rotation
    turn = matrix_log(rotation[1:] @ rotation[:-1].swapaxes(-1, -2))
    lever = -(tangents @ skew(arms)) / dt  # turn -> tangential velocity of the arm's end
    along = kinematics.centre @ tangents.T
    rolled = np.einsum("ctj,kcj->kct", lever, turn)
    slip = (along[2:] - along[:-2]) / (2.0 * dt) + 0.5 * (rolled[1:] + rolled[:-1])
    if not derivatives:
        return ContactMotion(gap, np.zeros(0), slip, np.zeros(0))
    gap_jacobian = np.einsum("i,kciv->kcv", axes[0], kinematics.linear)
    moved = (tangents / (2.0 * dt)) @ kinematics.linear
    half = 0.5 * right_log_jacobian(turn)
    by_first = -(lever @ half) @ kinematics.angular[:-1]
    by_last = (lever @ half.swapaxes(-1, -2)) @ kinematics.angular[1:]
    jacobian = np.empty((*slip.shape, 3, kinematics.linear.shape[-1]))
    jacobian[..., 0, :] = by_first[:-1] - moved[:-2]
    jacobian[..., 1, :] = by_last[:-1] + by_first[1:]
    jacobian[..., 2, :] = by_last[1:] + moved[2:]
    return ContactMotion(gap, gap_jacobian, slip, jacobian)
