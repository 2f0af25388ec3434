"""Which pairs of a robot's shapes have to be kept apart, and where shapes are for given joint positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.exceptions import RobotError
from sysid_nodes.models.separation import distances
from sysid_nodes.models.solids import Solids, from_primitive, stack
from sysid_nodes.robots.robot import Primitive, Robot

Array = npt.NDArray[np.float64]

SAMPLES = 500
SHARE = 0.5


class Reason(Enum):
    """Why a pair of shapes is not compared."""

    SAME_BODY = "they are parts of one body"
    NEIGHBOURS = "one joint between them, they meet by design"
    OVERLAPPING = "they overlap at zero and in most postures: their bodies are closer than the shapes are true"


@dataclass(frozen=True)
class SkippedPair:
    """A pair that is not compared."""

    first: int
    second: int
    reason: Reason


@dataclass(frozen=True)
class SelfCollisionPairs:
    """The pairs of S shapes.

    Attributes:
        shapes: what the indices count.
        kept: (P, 2) indices of pairs to keep apart, the one nearer to the base first.
        skipped: all others, with the reason. That two of them do not collide is an assumption: the robot's own joint
            limits have to see to it.
    """

    shapes: tuple[Primitive, ...]
    kept: npt.NDArray[np.intp]
    skipped: tuple[SkippedPair, ...]


def self_collision_pairs(
    robot: Robot, shapes: Sequence[Primitive] | None = None, *, samples: int = SAMPLES, seed: int = 0
) -> SelfCollisionPairs:
    """Sorts all pairs of shapes into those to keep apart and those to leave alone.

    A pair is left alone where both shapes are on one body, where their bodies have a single joint between them, or
    where they overlap with all joints at zero and in at least half of ``samples`` random postures within the joint
    limits (a whole turn where there are none). The generator is seeded: the same robot always gives the same pairs.

    Args:
        robot: gives model and limits.
        shapes: of the robot and of what it carries; the robot's own geometry where None.
        samples, seed: of the random postures.

    Raises:
        RobotError: a shape is on a joint that the robot does not have.
    """
    chosen = tuple(robot.geometry if shapes is None else shapes)
    joints = joints_of(robot, chosen)
    parents = list(robot.model.parents)
    skipped, rest = [], []
    for second in range(len(chosen)):
        for first in range(second):
            i, j = (first, second) if joints[first] <= joints[second] else (second, first)
            if joints[i] == joints[j]:
                skipped.append(SkippedPair(i, j, Reason.SAME_BODY))
            elif parents[joints[j]] == joints[i]:
                skipped.append(SkippedPair(i, j, Reason.NEIGHBOURS))
            else:
                rest.append((i, j))
    pairs = np.array(rest, dtype=np.intp).reshape(-1, 2)
    if not len(pairs):
        return SelfCollisionPairs(chosen, pairs, tuple(skipped))
    limits, rng = robot.limits, np.random.default_rng(seed)
    lower, upper = np.maximum(limits.position_lower, -np.pi), np.minimum(limits.position_upper, np.pi)
    q = np.vstack([np.zeros(robot.n), rng.uniform(lower, upper, (samples, robot.n))])
    placed = place(robot, chosen, q)
    overlap = distances(placed, placed, pairs, beyond=0.0).distance <= 0.0
    never = overlap[0] & (overlap[1:].mean(axis=0) >= SHARE)
    skipped += [SkippedPair(int(i), int(j), Reason.OVERLAPPING) for i, j in pairs[never]]
    return SelfCollisionPairs(chosen, pairs[~never], tuple(skipped))


def joints_of(robot: Robot, shapes: Sequence[Primitive]) -> npt.NDArray[np.intp]:
    """(S,) pinocchio index of the joint that carries each shape, 0 for the base.

    Raises:
        RobotError: the robot has no such joint.
    """
    names = list(robot.model.names)
    for shape in shapes:
        if shape.frame not in names:
            raise RobotError(f"robot '{robot.name}' has no joint '{shape.frame}' to carry a shape")
    return np.array([names.index(shape.frame) for shape in shapes], dtype=np.intp)


def place(robot: Robot, shapes: Sequence[Primitive], q: Array) -> Solids:
    """Shapes in the base frame, in plain floating point; a floating base is at its neutral pose.

    Args:
        robot: gives the kinematics.
        shapes: S of them.
        q: (N, n) [rad or m].

    Raises:
        RobotError: a shape is on a joint that the robot does not have.
    """
    joints = joints_of(robot, shapes)
    model, data = robot.model, robot.model.createData()
    posture = pinocchio.neutral(model)
    rotation, position = np.empty((len(q), len(joints), 3, 3)), np.empty((len(q), len(joints), 3))
    for k, row in enumerate(q):
        posture[model.nq - robot.n :] = row
        pinocchio.forwardKinematics(model, data, posture)
        for s, joint in enumerate(joints):
            rotation[k, s], position[k, s] = data.oMi[int(joint)].rotation, data.oMi[int(joint)].translation
    return stack([from_primitive(shape) for shape in shapes]).place(rotation, position)
