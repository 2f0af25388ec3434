# SPDX-License-Identifier: Apache-2.0
"""A humanoid as its walking controller sees it: two legs, soles, and one stiff body above them, in many states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.robots import Robot
from sysid_nodes.rollouts.legs import Chains
from sysid_nodes.rollouts.rotations import matrix

Array = npt.NDArray[np.float64]

GRAVITY = 9.81


@dataclass(frozen=True)
class Seen:
    """B robots with two legs of six joints, in the world.

    Attributes:
        turn: (B, 3, 3) of the base.
        centre, velocity: (B, 3) of the whole robot's mass.
        origin, axis: (B, 2, 6, 3) of the legs' joints.
        sole, flat: (B, 2, 3), (B, 2, 3, 3) middles and rotations of the soles.
        weight: (B, 2, 6) torques that hold the legs' own links [N m].
    """

    turn: Array
    centre: Array
    velocity: Array
    origin: Array
    axis: Array
    sole: Array
    flat: Array
    weight: Array

    def jacobian(self, points: Array) -> Array:
        """(B, 2, 6, 6) of the last links' motion at points (B, 2, 3) of them, linear and angular, by the joints."""
        linear = np.cross(self.axis, points[:, :, None] - self.origin)
        return np.swapaxes(np.concatenate([linear, self.axis], axis=-1), 2, 3)


class BipedBody:
    """Nominal masses and kinematics.

    Args:
        robot: two legs of six joints end in its contact points' links.
        posture: (n,) in which everything else stays [rad].

    Attributes:
        mass: of all [kg].
        joints: (2, 6) of the legs, left one first.
        sole: (3,) middle of a sole, in the link that the ankle moves [m].
        reach: (2,) of a sole from its middle, ahead or back and aside [m].

    Raises:
        RobotError: it does not walk on two legs of six joints each.
    """

    def __init__(self, robot: Robot, posture: Array) -> None:
        ends = list(dict.fromkeys(point.joint for point in robot.contacts))
        self._chains = Chains(robot, ends, (2, 6), "two legs of six joints each")
        self.joints = self._chains.joints
        bodies = robot.model.inertias.tolist()[1:]
        links = [[bodies[k + 1] for k in chain] for chain in self.joints]
        self.mass = float(sum(body.mass for body in bodies))
        self._masses = np.array([[body.mass for body in chain] for chain in links])
        self._levers = np.array([[body.lever for body in chain] for chain in links])
        data, q = robot.model.createData(), pinocchio.neutral(robot.model)
        q[7:] = posture
        pinocchio.forwardKinematics(robot.model, data, q)
        others = [k for k in range(len(bodies)) if k - 1 not in self.joints]
        moment = sum(bodies[k].mass * data.oMi[k + 1].act(bodies[k].lever) for k in others)
        self._above = float(sum(bodies[k].mass for k in others))
        self._above_centre = np.asarray(moment) / self._above
        points = np.array([point.position for point in robot.contacts if point.joint == ends[0]])
        most, least = points.max(axis=0), points.min(axis=0)
        self.reach = 0.5 * (most - least)[:2]
        self.sole = 0.5 * (most + least) - robot.contacts[0].radius * np.eye(3)[2]

    def see(self, state: Array) -> Seen:
        """Of MuJoCo's states (B, nq + nv)."""
        n = (state.shape[1] - 13) // 2
        turn, rate, w = matrix(state[:, 3:7]), state[:, 10 + n : 13 + n], state[:, 13 + n :][:, self.joints]
        posed = self._chains.pose(state[:, 7 : 7 + n])
        base, towards = state[:, :3], np.broadcast_to(turn[:, None, None], posed.turn.shape)

        def outside(vectors: Array) -> Array:
            return np.asarray(np.einsum("bfkij,bfkj->bfki", towards, vectors))

        origin, axis = base[:, None, None] + outside(posed.origin), outside(posed.axis)
        turns = towards @ posed.turn
        centres = origin + np.einsum("bfkij,fkj->bfki", turns, self._levers)
        # Of each joint: mass and first moment of all links that it moves.
        moments = np.flip(np.cumsum(np.flip(self._masses[..., None] * centres, axis=2), axis=2), axis=2)
        masses = np.flip(np.cumsum(np.flip(self._masses, axis=1), axis=1), axis=1)
        by_joint = np.cross(axis, moments - masses[..., None] * origin)
        above = base + np.einsum("bij,j->bi", turn, self._above_centre)
        centre = (self._above * above + moments[:, :, 0].sum(axis=1)) / self.mass
        velocity = state[:, 7 + n : 10 + n] + np.cross(np.einsum("bij,bj->bi", turn, rate), centre - base)
        velocity += np.einsum("bfki,bfk->bi", by_joint, w) / self.mass
        flat = turns[:, :, -1]
        sole = origin[:, :, -1] + np.einsum("bfij,j->bfi", flat, self.sole)
        return Seen(turn, centre, velocity, origin, axis, sole, flat, GRAVITY * by_joint[..., 2])
