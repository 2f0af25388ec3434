# SPDX-License-Identifier: Apache-2.0
"""One arm of a robot: the joints from the base to the body that is identified, all others locked in place."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pinocchio

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots.links import joint_link
from sysid_nodes.robots.robot import Robot


def joints_to(robot: Robot, link: str) -> tuple[str, ...]:
    """The joints that move a link, from the base outward; fixed base.

    Raises:
        RobotError: the robot has no such link, or it does not move.
    """
    joint = robot.body_index(link) + 1
    chain: list[str] = []
    while joint > 0:
        chain.append(robot.joint_names[joint - 1])
        joint = int(robot.model.parents[joint])
    return tuple(reversed(chain))


def hand_of(robot: Robot, logged: Collection[str] = ()) -> str:
    """The link to identify where none is named: the end of the longest chain, before it branches into fingers.

    Args:
        logged: joints of a log, which tell which one of two arms is meant.

    Raises:
        RobotError: two chains are as long, as of a robot with two arms, and the log has all of both, or not of one.
    """
    parents = [int(parent) for parent in robot.model.parents]
    depth = [0] * len(parents)
    for joint in range(1, len(parents)):
        depth[joint] = depth[parents[joint]] + 1
    branches = {joint: sum(parent == joint for parent in parents[1:]) for joint in range(1, len(parents))}
    ends = []
    for tip in (joint for joint, count in branches.items() if not count):
        # A hand's fingers hang on one joint; the arm ends there.
        joint = tip
        while parents[joint] and _is_finger(robot, joint, branches, parents):
            joint = parents[joint]
        ends.append(joint)
    longest = max(depth[joint] for joint in ends)
    found = sorted({joint for joint in ends if depth[joint] == longest})
    links = [joint_link(robot, joint) for joint in found]
    if len(found) > 1:
        if len(heard := [link for link in links if joints_to(robot, link)[-1] in logged]) == 1:
            return heard[0]
        raise RobotError(f"robot '{robot.name}' has {len(found)} arms; say which body: {', '.join(links)}")
    return links[0]


def _is_finger(robot: Robot, joint: int, branches: Mapping[int, int], parents: Sequence[int]) -> bool:
    """Whether a joint belongs to a hand: it branches off a joint that carries several, far from the base."""
    siblings, parent = branches[parents[joint]], parents[joint]
    name = robot.joint_names[joint - 1].lower()
    named = any(word in name for word in ("finger", "gripper", "knuckle", "hand_"))
    return named or (siblings > 1 and parents[parent] > 0 and parents[parents[parent]] > 0)


def lock_joints(robot: Robot, kept: Sequence[str], places: Mapping[str, float]) -> Robot:
    """The robot with all joints but some locked, each at its place [rad or m] or, where none is given, near 0.

    Raises:
        RobotError: it has no such joint.
    """
    if unknown := [name for name in (*kept, *places) if name not in robot.joint_names]:
        raise RobotError(f"robot '{robot.name}' has no joint '{unknown[0]}'")
    if set(kept) == set(robot.joint_names):
        return robot
    model, limits = robot.model, robot.limits
    place = np.clip(np.zeros(robot.n), limits.position_lower, limits.position_upper)
    for name, value in places.items():
        place[robot.joint_names.index(name)] = value
    locked = [model.getJointId(name) for name in robot.joint_names if name not in kept]
    reduced = pinocchio.buildReducedModel(model, locked, place)
    stay = np.array([name in kept for name in robot.joint_names])

    def shorter(columns: Any) -> Any:
        return type(columns)(**{item.name: getattr(columns, item.name)[stay] for item in fields(columns)})

    return replace(
        robot,
        model=reduced,
        joint_names=tuple(name for name in robot.joint_names if name in kept),
        wraps=robot.wraps[stay],
        limits=shorter(limits),
        motor=shorter(robot.motor),
        encoder_step=robot.encoder_step[stay],
    )
