# SPDX-License-Identifier: Apache-2.0
"""The closure of a contact while it lasts: a point of a link held to a plane, or to a place on it."""

from __future__ import annotations

import numpy as np

from sysid_nodes.exceptions import RobotError
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.loop_closure import CLOSED, FIXED, Closure, LoopClosures, body_frame, find_changes
from sysid_nodes.robots import Robot
from sysid_nodes.robots.loops import TOUCH, Contact


def build_contact(robot: Robot, chain: Chain, contact: Contact) -> LoopClosures:
    """Equalities of a contact: the point's height over the plane [m], then its place along it where it sticks.

    Forces on the point count as the plane's axes do: one that pushes it off the plane is positive. Directions in which
    joints cannot move it are left out.

    Raises:
        RobotError: a link is unknown, the point cannot leave the plane, or cannot reach where it is to stick.
    """
    loop = contact.loop
    held = Closure(body_frame(robot, loop.first), body_frame(robot, loop.second), loop.kind)
    rows = 1 if loop.kind == TOUCH else 3
    every = LoopClosures(chain, (held,), -np.eye(rows)[::-1])  # the gap is the plane's origin less the point
    changes, open_by = find_changes(every)
    kept = list[int]()
    for row in range(rows):
        if np.linalg.matrix_rank(changes[:, [*kept, row]], tol=FIXED) > len(kept):
            kept.append(row)
    name = f"{loop.second.link}:{loop.first.link}"
    if 0 not in kept:
        raise RobotError(f"the point of a contact keeps its height whatever the joints do: {name}")
    if open_by > CLOSED:
        raise RobotError(f"a contact stays open by {1e3 * open_by:.3g} mm whatever the joints do: {name}")
    return LoopClosures(chain, (held,), every.directions[kept])
