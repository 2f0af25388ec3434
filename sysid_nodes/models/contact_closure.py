# SPDX-License-Identifier: Apache-2.0
"""The closure of a contact while it lasts: a point of a link held to a plane, or to a place on it."""

from __future__ import annotations

import numpy as np

from sysid_nodes.exceptions import RobotError
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.loop_closure import Closure, LoopClosures, body_frame
from sysid_nodes.robots import Robot
from sysid_nodes.robots.loops import TOUCH, Contact

_SAMPLES = 16  # configurations that show in which directions joints move the point
_FIXED = 1e-9  # relative singular value of a direction in which they do not
_CLOSED = 1e-6  # [m] that the description's numbers may leave open there


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
    value, jacobian = every.linearise(np.random.default_rng(0).uniform(-1.0, 1.0, (_SAMPLES, chain.n)))
    wide, kept = jacobian.swapaxes(0, 1).reshape(rows, -1), list[int]()
    for row in range(rows):
        if np.linalg.svd(wide[[*kept, row]], compute_uv=False)[-1] > _FIXED * np.linalg.norm(wide):
            kept.append(row)
    name = f"{loop.second.link}:{loop.first.link}"
    if 0 not in kept:
        raise RobotError(f"the point of a contact keeps its height whatever the joints do: {name}")
    along = np.linalg.lstsq(wide[kept].T, wide.T, rcond=None)[0]
    if (open_by := float(np.abs(value - value[:, kept] @ along).max())) > _CLOSED:
        raise RobotError(f"a contact stays open by {1e3 * open_by:.3g} mm whatever the joints do: {name}")
    return LoopClosures(chain, (held,), every.directions[kept])
