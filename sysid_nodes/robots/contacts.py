# SPDX-License-Identifier: Apache-2.0
"""Contacts of a robot with the ground: spheres fixed to its links, each touching at its lowest point.

A registered robot brings its own; any other URDF gets them from a configuration that names links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio

from sysid_nodes.data.config import option
from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots.robot import ContactPoint, Robot


@dataclass(frozen=True)
class ContactSpec:
    """A contact point as a user gives it: in a link's frame.

    Attributes:
        name: of the point, as in published forces.
        link: URDF link (or joint) whose frame `position` is in.
        position: centre of the sphere [m].
        radius: of the sphere [m]; 0 for a bare point.
    """

    name: str
    link: str
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    radius: float = 0.0


@dataclass(frozen=True)
class ContactsConfig:
    """Contact points of a robot that brings none, or others than it brings."""

    links: str = option(
        "", "links that touch the ground, separated by commas; empty for the robot's own contact points"
    )
    positions: tuple[float, ...] = option(
        (), "x, y, z of every sphere's centre in its link's frame, one after the other; empty for the origins", unit="m"
    )
    radii: tuple[float, ...] = option((), "radius of every sphere, or one for all; empty for bare points", unit="m")

    def specs(self) -> tuple[ContactSpec, ...]:
        """One a listed link, named after it; a link listed k times gives ``link_1`` to ``link_k``.

        Raises:
            RobotError: the numbers do not fit the links.
        """
        links = [link for entry in self.links.split(",") if (link := entry.strip())]
        count = len(links)
        positions = self.positions or (0.0,) * (3 * count)
        if len(positions) != 3 * count:
            raise RobotError(f"{count} contact links need {3 * count} position numbers, got {len(positions)}")
        radii = self.radii or (0.0,) * count
        radii = radii * count if len(radii) == 1 else radii
        if len(radii) != count:
            raise RobotError(f"{count} contact links need one radius or {count}, got {len(radii)}")
        names = [
            f"{link}_{links[: k + 1].count(link)}" if links.count(link) > 1 else link for k, link in enumerate(links)
        ]
        return tuple(
            ContactSpec(name, link, (positions[3 * k], positions[3 * k + 1], positions[3 * k + 2]), radii[k])
            for k, (name, link) in enumerate(zip(names, links, strict=True))
        )


def with_contacts(robot: Robot, specs: Sequence[ContactSpec]) -> Robot:
    """The robot with these contact points in place of its own.

    Raises:
        RobotError: a link is unknown or does not move, a name is given twice, a number is not finite or a radius is
            negative.
    """
    names = [spec.name for spec in specs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise RobotError(f"two contact points of robot '{robot.name}' are named '{twice}'")
    return replace(robot, contacts=tuple(_resolve(robot, spec) for spec in specs))


def _resolve(robot: Robot, spec: ContactSpec) -> ContactPoint:
    where = f"contact point '{spec.name}' of robot '{robot.name}'"
    position = np.array(spec.position, dtype=np.float64)
    if position.shape != (3,) or not np.isfinite(position).all():
        raise RobotError(f"{where}: the position must be three finite numbers, got {spec.position}")
    if not (np.isfinite(spec.radius) and spec.radius >= 0.0):
        raise RobotError(f"{where}: the radius must not be negative, got {spec.radius:g} m")
    # A link and the joint that moves it may share their name; both frames then coincide.
    frames = [frame for frame in robot.model.frames if frame.name == spec.link]
    if not frames:
        links = sorted(frame.name for frame in robot.model.frames if frame.type == pinocchio.FrameType.BODY)
        raise RobotError(f"{where}: no link '{spec.link}'; the robot has {', '.join(links)}")
    frame = frames[-1]
    if frame.parentJoint == 0:
        raise RobotError(f"{where}: link '{spec.link}' does not move")
    joint = str(robot.model.names[frame.parentJoint])
    return ContactPoint(spec.name, spec.link, joint, frame.placement.act(position), float(spec.radius))
