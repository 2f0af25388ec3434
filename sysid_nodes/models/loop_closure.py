# SPDX-License-Identifier: Apache-2.0
"""Closed kinematic loops of a fixed-base tree: pairs of points, each fixed to a body, that coincide.

The gap c(q) = p_first(q) - p_second(q), in the base's axes, is closed at the position level; a force lambda on the
first body and its opposite on the second are the generalised force J'lambda. With J_j the column of joint j at the
point and w_i the axis of a revolute joint i between the base and j (or j itself), d J_j / d q_i = w_i x J_j; a
prismatic joint i moves the point and the axes beyond it together and changes nothing.

Joints with parallel axes leave one row of the gap the same whatever q is. Only directions in which the gap can change
are equalities; the others must be closed by the description.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import RobotError
from sysid_nodes.kernel import reference
from sysid_nodes.models.chain import Chain
from sysid_nodes.robots import Robot

Array = npt.NDArray[np.float64]

_SAMPLES = 16  # configurations that show in which directions a gap can change
_FIXED = 1e-9  # relative singular value of a direction in which it cannot
_CLOSED = 1e-6  # [m] that the description's numbers may leave open there


@dataclass(frozen=True)
class BodyPoint:
    """A point fixed to a body.

    Attributes:
        joint: that carries it; -1 for the base.
        position: (3,) in the joint's frame [m].
    """

    joint: int
    position: Array


@dataclass(frozen=True)
class LoopClosures:
    """L closures of a chain, c <= 3 L equalities.

    Attributes:
        chain: the tree.
        pairs: L pairs of points.
        directions: (c, 3 L) orthonormal rows: the equalities are directions times the stacked gaps.
    """

    chain: Chain
    pairs: tuple[tuple[BodyPoint, BodyPoint], ...]
    directions: Array

    @property
    def count(self) -> int:
        """c."""
        return len(self.directions)

    def gaps(self, q: Array) -> Array:
        """(N, L, 3) from each second point to its first, in the base's axes [m], for q (N, n)."""
        return _gaps(self.chain, self.pairs, q)[0]

    def value(self, q: Array) -> Array:
        """(N, c) of the equalities."""
        return np.asarray(self.gaps(q).reshape(len(q), -1) @ self.directions.T)

    def linearise(self, q: Array) -> tuple[Array, Array]:
        """(N, c) values and (N, c, n) derivatives."""
        gaps, jacobian = _gaps(self.chain, self.pairs, q)
        value = gaps.reshape(len(q), -1) @ self.directions.T
        return np.asarray(value), np.asarray(self.directions @ jacobian.reshape(len(q), -1, self.chain.n))

    def force_jacobian(self, q: Array, multiplier: Array) -> Array:
        """(N, n, n) derivative of J(q)'lambda by q, for multipliers (N, c) [N]; symmetric."""
        motion = reference.forward_kinematics(self.chain.tree, q, np.zeros_like(q))
        supports, revolute = self.chain.supports(), self.chain.tree.revolute
        force = (multiplier @ self.directions).reshape(len(q), len(self.pairs), 3)
        out = np.zeros((len(q), self.chain.n, self.chain.n))
        for loop, pair in enumerate(self.pairs):
            for sign, point in zip((1.0, -1.0), pair, strict=True):
                _, columns = _point(self.chain, motion, point)
                path = np.flatnonzero(supports[:, point.joint]).tolist() if point.joint >= 0 else []
                for at, i in enumerate(path):
                    if not revolute[i]:
                        continue
                    axis = motion.jacobian[i, 3:].T
                    for j in path[at:]:
                        change = sign * np.einsum("nk,nk->n", force[:, loop], np.cross(axis, columns[:, :, j]))
                        out[:, i, j] += change
                        if i != j:
                            out[:, j, i] += change
        return out


def build_closures(robot: Robot, chain: Chain, loops: Sequence[str]) -> LoopClosures:
    """Closures of a robot's loops, each "LINK:LINK": two links of the URDF whose origins coincide.

    Raises:
        RobotError: a link is unknown, or a gap is open in a direction in which nothing can close it.
    """
    pairs = []
    for loop in loops:
        names = [name.strip() for name in loop.split(":")]
        if len(names) != 2:
            raise RobotError(f"a loop is closed by two links, LINK:LINK, got '{loop}'")
        pairs.append((_body_point(robot, names[0]), _body_point(robot, names[1])))
    if not pairs:
        return LoopClosures(chain, (), np.zeros((0, 0)))
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (_SAMPLES, chain.n))
    gaps, jacobian = _gaps(chain, tuple(pairs), q)
    wide = jacobian.reshape(_SAMPLES, -1, chain.n).swapaxes(0, 1).reshape(3 * len(pairs), -1)
    left, singular, _ = np.linalg.svd(wide, full_matrices=True)
    rank = int(np.count_nonzero(singular > _FIXED * singular[0]))
    if rank > chain.n:
        raise RobotError(f"{rank} equalities close the loops of {chain.n} joints: nothing can move")
    open_by = float(np.abs(gaps.reshape(_SAMPLES, -1) @ left[:, rank:]).max(initial=0.0))
    if open_by > _CLOSED:
        raise RobotError(f"a loop stays open by {1e3 * open_by:.3g} mm whatever the joints do: {', '.join(loops)}")
    return LoopClosures(chain, tuple(pairs), np.ascontiguousarray(left[:, :rank].T))


def _body_point(robot: Robot, link: str) -> BodyPoint:
    frames = {frame.name: frame for frame in robot.model.frames}
    if link not in frames:
        raise RobotError(f"robot '{robot.name}' has no link '{link}', which is to close a loop")
    frame = frames[link]
    return BodyPoint(int(frame.parentJoint) - 1, np.array(frame.placement.translation))


def _point(chain: Chain, motion: reference.TreeMotion, point: BodyPoint) -> tuple[Array, Array]:
    """Place (N, 3) of a point in the base and its derivative (N, 3, n)."""
    samples = motion.origin.shape[-1]
    columns = np.zeros((samples, 3, chain.n))
    if point.joint < 0:
        return np.broadcast_to(point.position, (samples, 3)), columns
    place = motion.origin[point.joint] + np.einsum("abn,b->an", motion.rotation[point.joint], point.position)
    for j in np.flatnonzero(chain.supports()[:, point.joint]):
        moved = motion.jacobian[j, :3] + reference.cross(motion.jacobian[j, 3:], place)
        columns[:, :, j] = moved.T
    return place.T, columns


def _gaps(chain: Chain, pairs: tuple[tuple[BodyPoint, BodyPoint], ...], q: Array) -> tuple[Array, Array]:
    """(N, L, 3) gaps and (N, L, 3, n) derivatives."""
    motion = reference.forward_kinematics(chain.tree, q, np.zeros_like(q))
    gaps, jacobian = np.zeros((len(q), len(pairs), 3)), np.zeros((len(q), len(pairs), 3, chain.n))
    for loop, (first, second) in enumerate(pairs):
        (here, by_q), (there, by_q_there) = (_point(chain, motion, point) for point in (first, second))
        gaps[:, loop], jacobian[:, loop] = here - there, by_q - by_q_there
    return gaps, jacobian
