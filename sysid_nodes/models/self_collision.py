# SPDX-License-Identifier: Apache-2.0
"""Pairs of a robot's shapes that have to be kept apart, and places of shapes for given joint positions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
Indices = npt.NDArray[np.intp]

_SAMPLES = 500
_SHARE = 0.5


class Reason(Enum):
    """Reasons not to keep a pair of shapes apart."""

    SAME_BODY = "they are parts of one body, or carried by it"
    BY_DESIGN = "the robot's description lists their bodies as meeting by design"
    NEIGHBOURS = "one joint between them, and the robot's description lists no pairs that meet by design"


@dataclass(frozen=True)
class SkippedPair:
    """A pair that is not kept apart."""

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
    kept: Indices
    skipped: tuple[SkippedPair, ...]


def self_collision_pairs(robot: Robot, shapes: Sequence[Primitive] | None = None) -> SelfCollisionPairs:
    """Sorts all pairs of shapes into those to keep apart and those to leave alone.

    A pair is left alone where both shapes are on one body, or where the robot's description lists their bodies; for a
    robot without such a list, where their bodies have a single joint between them. The shapes' sizes do not matter, so
    that larger ones never leave fewer pairs, and a load is left alone with nothing but the body that carries it.

    Args:
        robot: gives the model and the list.
        shapes: of the robot and of what it carries; the robot's own geometry where None.

    Raises:
        RobotError: a shape, or an entry of the list, is on a joint that the robot does not have.
    """
    chosen = tuple(robot.geometry if shapes is None else shapes)
    joints, parents = joints_of(robot, chosen), list(robot.model.parents)
    listed = None if robot.may_overlap is None else {frozenset(_indices(robot, pair)) for pair in robot.may_overlap}
    skipped, kept = [], []
    for second in range(len(chosen)):
        for first in range(second):
            i, j = (first, second) if joints[first] <= joints[second] else (second, first)
            one, two, load = int(joints[i]), int(joints[j]), chosen[i].load or chosen[j].load
            if one == two:
                skipped.append(SkippedPair(i, j, Reason.SAME_BODY))
            elif not load and listed is None and parents[two] == one:
                skipped.append(SkippedPair(i, j, Reason.NEIGHBOURS))
            elif not load and listed is not None and frozenset((one, two)) in listed:
                skipped.append(SkippedPair(i, j, Reason.BY_DESIGN))
            else:
                kept.append((i, j))
    return SelfCollisionPairs(chosen, np.array(kept, dtype=np.intp).reshape(-1, 2), tuple(skipped))


def mostly_overlapping(robot: Robot, pairs: SelfCollisionPairs) -> Indices:
    """(M, 2) those of the pairs to keep apart that overlap at zero and in half of 500 random postures (a fixed seed).

    Hardly any motion can be certified with them: the shapes are wider than the bodies, or the bodies meet by design and
    the robot's description does not say so.
    """
    if not len(pairs.kept):
        return pairs.kept
    limits, rng = robot.limits, np.random.default_rng(0)
    lower, upper = np.maximum(limits.position_lower, -np.pi), np.minimum(limits.position_upper, np.pi)
    q = np.vstack([np.zeros(robot.n), rng.uniform(lower, upper, (_SAMPLES, robot.n))])
    placed = place(robot, pairs.shapes, q)
    overlap = distances(placed, placed, pairs.kept, beyond=0.0).distance <= 0.0
    mostly = overlap[0] & (overlap[1:].mean(axis=0) >= _SHARE)
    return np.asarray(pairs.kept[mostly])


def self_collision_words(robot: Robot, shapes: Sequence[Primitive]) -> str:
    """One line on the robot's parts among each other: which pairs certificates assume not to collide."""
    pairs = self_collision_pairs(robot, shapes)

    def name_pairs(indices: Iterable[tuple[int, int]]) -> str:
        found = [tuple("the base" if x.frame == "universe" else x.frame for x in _of(pairs, pair)) for pair in indices]
        return ", ".join(f"{one} and {two}" for one, two in dict.fromkeys(found))

    aside = [pair for pair in pairs.skipped if pair.reason is not Reason.SAME_BODY]
    words = "certificates keep all parts of the robot and its load apart"
    if aside:
        words += f" but what moves with {name_pairs((pair.first, pair.second) for pair in aside)}: "
        words += "meeting by design, as the robot's description says" if robot.may_overlap is not None else "neighbours"
    if len(tight := mostly_overlapping(robot, pairs)):
        words += f"; hardly any motion can be certified, as these overlap in most postures: {name_pairs(tight)}"
    return words


def _of(pairs: SelfCollisionPairs, pair: tuple[int, int]) -> tuple[Primitive, Primitive]:
    return pairs.shapes[pair[0]], pairs.shapes[pair[1]]


def joints_of(robot: Robot, shapes: Sequence[Primitive]) -> npt.NDArray[np.intp]:
    """(S,) pinocchio index of the joint that carries each shape, 0 for the base.

    Raises:
        RobotError: the robot has no such joint.
    """
    return np.array(_indices(robot, [shape.frame for shape in shapes]), dtype=np.intp)


def _indices(robot: Robot, joints: Sequence[str]) -> list[int]:
    names = list(robot.model.names)
    for joint in joints:
        if joint not in names:
            raise RobotError(f"robot '{robot.name}' has no joint '{joint}' to carry a shape")
    return [names.index(joint) for joint in joints]


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
