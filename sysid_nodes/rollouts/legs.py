# SPDX-License-Identifier: Apache-2.0
"""Feet of a quadruped and their derivatives by the joints of their own leg, for many states at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots import Robot

Array = npt.NDArray[np.float64]


class Legs:
    """Four chains of three revolute joints from the base to a foot each.

    Args:
        robot: its contact points are the feet, its joints those of the legs in the feet's order.

    Raises:
        RobotError: it has no such legs.
    """

    def __init__(self, robot: Robot) -> None:
        chains = [_chain(robot, point.joint) for point in robot.contacts]
        if len(chains) != 4 or [k for chain in chains for k in chain] != list(range(2, robot.n + 2)) or robot.n != 12:
            raise RobotError(f"robot '{robot.name}' does not walk on four legs of three joints each")
        places = robot.model.jointPlacements
        shape = (4, 3)
        self._offset = np.array([places[k].translation for chain in chains for k in chain]).reshape(*shape, 3)
        self._turn = np.array([places[k].rotation for chain in chains for k in chain]).reshape(*shape, 3, 3)
        self._axis = np.array([_axis(robot, k) for chain in chains for k in chain]).reshape(*shape, 3)
        self._foot = np.array([point.position for point in robot.contacts])
        self.radius = robot.contacts[0].radius

    def feet(self, q: Array) -> tuple[Array, Array]:
        """Centres of the feet (B, 4, 3) in the base's axes and Jacobians (B, 4, 3, 3), from joint positions (B, 12)."""
        angle = q.reshape(-1, 4, 3)
        count = len(angle)
        rotation = np.broadcast_to(np.eye(3), (count, 4, 3, 3))
        place = np.zeros((count, 4, 3))
        axes, origins = [], []
        for k in range(3):
            place = place + np.einsum("bfij,fj->bfi", rotation, self._offset[:, k])
            rotation = rotation @ self._turn[:, k] @ _rodrigues(self._axis[:, k], angle[..., k])
            axes.append(np.einsum("bfij,fj->bfi", rotation, self._axis[:, k]))
            origins.append(place)
        feet = place + np.einsum("bfij,fj->bfi", rotation, self._foot)
        columns = [np.cross(axis, feet - origin) for axis, origin in zip(axes, origins, strict=True)]
        return feet, np.stack(columns, axis=-1)


def _chain(robot: Robot, joint: str) -> list[int]:
    """Joints from the base, itself left out, to a joint."""
    index, found = robot.model.getJointId(joint), []
    while index > 1:
        found.append(index)
        index = robot.model.parents[index]
    return found[::-1]


def _axis(robot: Robot, index: int) -> Array:
    joint = robot.model.joints[index]
    data = joint.createData()
    joint.calc(data, pinocchio.neutral(robot.model))
    return np.asarray(data.S, dtype=np.float64).reshape(6)[3:]


def _rodrigues(axis: Array, angle: Array) -> Array:
    """(B, F, 3, 3) rotations about unit axes (F, 3) by angles (B, F)."""
    cross = np.zeros((len(axis), 3, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        cross[:, j, i], cross[:, i, j] = axis[:, k], -axis[:, k]
    sine, versine = np.sin(angle)[..., None, None], 1.0 - np.cos(angle)[..., None, None]
    return np.asarray(np.eye(3) + sine * cross + versine * (cross @ cross))
