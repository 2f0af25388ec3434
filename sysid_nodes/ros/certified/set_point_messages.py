"""Set-points out of JointTrajectory messages."""

from __future__ import annotations

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.robots.robot import Array


def set_points(message: JointTrajectory, names: tuple[str, ...]) -> tuple[Array, Array, Array | None]:
    """Times from the message's beginning (k,) [s], positions and velocities (k, n) in joint order, None for none.

    Raises:
        SamplesError: there are no points, a joint is missing, or a point has not one number a joint.
    """
    points, count = message.points, len(message.joint_names)
    if not points:
        raise SamplesError("the trajectory has no points")
    missing = [name for name in names if name not in message.joint_names]
    if missing:
        raise SamplesError(f"the trajectory has no joint '{missing[0]}'")
    if any(len(point.positions) != count for point in points):
        raise SamplesError("a point of the trajectory has not one position a joint")
    columns = [list(message.joint_names).index(name) for name in names]
    t = np.array([point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec for point in points])
    q = np.array([point.positions for point in points])[:, columns]
    if any(len(point.velocities) != count for point in points):
        return t, q, None
    return t, q, np.array([point.velocities for point in points])[:, columns]
