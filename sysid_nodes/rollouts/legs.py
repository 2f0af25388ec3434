# SPDX-License-Identifier: Apache-2.0
"""Legs of walking robots and the derivatives of their points by their own joints, for many states at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots import Robot

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Posed:
    """F legs of K joints in B states, in the base's axes.

    Attributes:
        origin: (B, F, K, 3) of the joints, and of the links that they move.
        axis: (B, F, K, 3) of the joints.
        turn: (B, F, K, 3, 3) rotations of the links.
    """

    origin: Array
    axis: Array
    turn: Array

    def points(self, link: Array) -> Array:
        """(B, F, ..., 3) of points (F, ..., 3) of the last links."""
        return np.asarray(self.origin[:, :, -1] + np.einsum("bfij,fj->bfi", self.turn[:, :, -1], link))


class Chains:
    """F chains of K revolute joints, each from the base to the link of a contact point.

    Args:
        ends: (F) joints that move the last links.
        shape: F and K.
        words: for them.

    Attributes:
        joints: (F, K) of the robot's.

    Raises:
        RobotError: they are not F separate legs of K joints.
    """

    def __init__(self, robot: Robot, ends: list[str], shape: tuple[int, int], words: str) -> None:
        chains = [_chain(robot, joint) for joint in ends]
        lengths, different = [len(chain) for chain in chains], len({k for chain in chains for k in chain})
        if lengths != [shape[1]] * shape[0] or different != shape[0] * shape[1]:
            raise RobotError(f"robot '{robot.name}' does not walk on {words}")
        places = robot.model.jointPlacements
        self.joints = np.array(chains) - 2
        self._offset = np.array([[places[k].translation for k in chain] for chain in chains])
        self._turn = np.array([[places[k].rotation for k in chain] for chain in chains])
        self._axis = np.array([[_axis(robot, k) for k in chain] for chain in chains])

    def pose(self, q: Array) -> Posed:
        """Of all joints' positions (B, n)."""
        angle = q[:, self.joints]
        rotation = np.broadcast_to(np.eye(3), (*angle.shape[:2], 3, 3))
        place, places, axes, turns = np.zeros((*angle.shape[:2], 3)), [], [], []
        for k in range(angle.shape[2]):
            place = place + np.einsum("bfij,fj->bfi", rotation, self._offset[:, k])
            rotation = rotation @ self._turn[:, k] @ _rodrigues(self._axis[:, k], angle[..., k])
            places.append(place)
            axes.append(np.einsum("bfij,fj->bfi", rotation, self._axis[:, k]))
            turns.append(rotation)
        return Posed(*(np.stack(parts, axis=2) for parts in (places, axes, turns)))


class Legs:
    """Four legs of a quadruped.

    Args:
        robot: its contact points are the feet, its joints those of the legs in the feet's order.

    Raises:
        RobotError: it has no such legs.
    """

    def __init__(self, robot: Robot) -> None:
        words = "four legs of three joints each"
        self._chains = Chains(robot, [point.joint for point in robot.contacts], (4, 3), words)
        if self._chains.joints.ravel().tolist() != list(range(robot.n)):
            raise RobotError(f"robot '{robot.name}' does not walk on {words}")
        self._foot = np.array([point.position for point in robot.contacts])
        self.radius = robot.contacts[0].radius

    def feet(self, q: Array) -> tuple[Array, Array]:
        """Centres of the feet (B, 4, 3) in the base's axes and Jacobians (B, 4, 3, 3), from joint positions (B, 12)."""
        posed = self._chains.pose(q)
        feet = posed.points(self._foot)
        return feet, np.swapaxes(np.cross(posed.axis, feet[:, :, None] - posed.origin), 2, 3)


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
