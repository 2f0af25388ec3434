# SPDX-License-Identifier: Apache-2.0
"""Set-points out of JointTrajectory messages."""

from __future__ import annotations

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.exceptions import SamplesError
from sysid_nodes.robots.robot import Array


def set_points(message: JointTrajectory, order: JointOrder) -> tuple[Array, Array, Array | None]:
    """Times from the message's beginning (k,) [s], positions and velocities (k, n) in the order wanted, None for none.

    Raises:
        SamplesError: there are no points, a joint is missing or there twice, or a point has not one number a joint.
    """
    points, count = message.points, len(message.joint_names)
    if not points:
        raise SamplesError("the trajectory has no points")
    columns = order.columns(message.joint_names)
    if columns is None:
        raise SamplesError(f"the trajectory has {order.fault(message.joint_names)}")
    if any(len(point.positions) != count for point in points):
        raise SamplesError("a point of the trajectory has not one position a joint")
    t = np.array([point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec for point in points])
    q = np.array([point.positions for point in points])[:, columns]
    if any(len(point.velocities) != count for point in points):
        return t, q, None
    return t, q, np.array([point.velocities for point in points])[:, columns]
