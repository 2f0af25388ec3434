# SPDX-License-Identifier: Apache-2.0
"""Frames, motions and torque coefficients of all bodies: compiled where that was built, else as bodies.py says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.intervals import Affine, stack
from sysid_nodes.kernel.affine_dynamics import Parts, affine_dynamics
from sysid_nodes.kernel.reference import supports
from sysid_nodes.kernel.tree import Tree
from sysid_nodes.systems.certified.certificate.bodies import Levers, frames, levers, links, move, torque_coefficients


@dataclass(frozen=True)
class Placement:
    """Joints' frames over T intervals; affine.

    Attributes:
        rotation: n rotations (T, 3, 3), joint frame to base.
        origin: n origins (T, 3) in the base frame [m].
        boxed: position errors fill a box, not an ellipsoid (motion.py).
        swept: the second errors' symbols are the ways of a stop, which fill a box (own_stop.py).
    """

    rotation: tuple[Affine, ...]
    origin: tuple[Affine, ...]
    boxed: bool = False
    swept: bool = False


@dataclass(frozen=True)
class Dynamics:
    """Variables of all bodies' wrenches, in their own axes; affine.

    Attributes:
        w, u, alpha, s: (T, n, 3), as in models/passivity.py.
        pairs: levers of P pairs of a body and a joint that moves it.
        torque: (T, P, 10) at each pair's joint per inertial parameter of its body.
    """

    w: Affine
    u: Affine
    alpha: Affine
    s: Affine
    pairs: Levers
    torque: Affine


def place(tree: Tree, q: Affine, *, boxed: bool = False) -> Placement:
    """Frames of all joints for positions q (T, n)."""
    compiled = affine_dynamics(tree, q.symbols)
    if compiled is None:
        rotation, origin = frames(tree, links(tree, q))
        return Placement(rotation, origin, boxed)
    turned, placed = compiled.frames(*(_parts(x) for x in q.sin_cos()))
    shape = (len(q), len(tree.parents))
    rotations, origins = Affine(*turned).reshape(*shape, 3, 3), Affine(*placed).reshape(*shape, 3)
    joints = range(len(tree.parents))
    return Placement(tuple(rotations[:, i] for i in joints), tuple(origins[:, i] for i in joints), boxed)


def dynamics(tree: Tree, q: Affine, qd: Affine, qd_a: Affine, qdd_a: Affine) -> Dynamics:
    """The recursion of models/passivity.py for positions, velocities and accelerations (T, n)."""
    compiled = affine_dynamics(tree, q.symbols)
    if compiled is None:
        bodies = move(tree, links(tree, q), qd, qd_a, qdd_a, tree.gravity)
        found = levers(bodies)
        w, u, alpha, s = (stack([getattr(body, name) for body in bodies], axis=1) for name in ("w", "u", "alpha", "s"))
        return Dynamics(w, u, alpha, s, found, torque_coefficients(bodies, found))
    forms = [_parts(x) for x in (*q.sin_cos(), qd, qd_a, qdd_a)]
    w, u, alpha, s, linear, angular, torque = (
        Affine(*x).reshape(len(q), -1, width)
        for x, width in zip(compiled.dynamics(*forms), (3, 3, 3, 3, 3, 3, 10), strict=True)
    )
    body, joint = np.nonzero(supports(tree).T)
    return Dynamics(w, u, alpha, s, Levers(body, joint, linear, angular), torque)


def _parts(x: Affine) -> Parts:
    return x.centre, x.terms, x.remainder
