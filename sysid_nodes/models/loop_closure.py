# SPDX-License-Identifier: Apache-2.0
"""Closed kinematic loops of a fixed-base tree: pairs of frames, each fixed to a body, that are held together.

Every equality is a product u(q)'w(q) that is zero: of an axis of the first frame with the gap between the frames'
origins, g = p_first - p_second, or with another axis of the second frame. Axes of a frame, not of the base: a linkage
in a plane that the rest of the robot turns must not lose count of its equalities.

    point    g along all axes                                                     weld    point; x'y, y'z, z'x
    hinge    point; z'x and z'y: free to turn about z                             slider  g along x, y; x'y, y'z, z'x
    plane    g along z; z'x and z'y: free to slide across z and turn about it
    touch    g along z: a point in a plane

They are closed at the position level; forces (torques, where axes are held) lambda give the generalised force J'lambda.
With x_j the column of joint j of a vector that a body carries and w_i the axis of a revolute joint i between the base
and j (or j itself), d x_j / d q_i = w_i x x_j; a prismatic joint i moves the body and the axes beyond it together and
changes nothing.

Joints with parallel axes leave some equalities the same whatever q is. Only directions in which they can change are
kept; in the others the description must close the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.exceptions import RobotError
from sysid_nodes.kernel import reference
from sysid_nodes.models.chain import Chain
from sysid_nodes.robots import Robot
from sysid_nodes.robots.loops import HINGE, PLANE, POINT, SLIDER, TOUCH, WELD, Loop, LoopEnd

Array = npt.NDArray[np.float64]

_SAMPLES = 16  # configurations that show in which directions equalities can change
FIXED = 1e-9  # relative singular value of a direction in which they cannot
CLOSED = 1e-6  # [m], of axes [1], that the description's numbers may leave open there

_KEPT = 4
"""Sets of configurations of which the products are kept: one iteration asks for those of the same ones repeatedly."""

_ALONG = {POINT: (0, 1, 2), HINGE: (0, 1, 2), WELD: (0, 1, 2), PLANE: (2,), SLIDER: (0, 1), TOUCH: (2,)}
_SQUARE = {
    POINT: (),
    HINGE: ((2, 0), (2, 1)),
    PLANE: ((2, 0), (2, 1)),
    WELD: ((0, 1), (1, 2), (2, 0)),
    SLIDER: ((0, 1), (1, 2), (2, 0)),
    TOUCH: (),
}
_SAME = {POINT: (), HINGE: (2,), PLANE: (2,), WELD: (0, 1), SLIDER: (0, 1), TOUCH: ()}


@dataclass(frozen=True)
class BodyFrame:
    """A frame fixed to a body.

    Attributes:
        joint: that carries it; -1 for the base.
        place: (3,) of its origin in the joint's frame [m].
        axes: (3, 3) its axes there, as columns.
    """

    joint: int
    place: Array
    axes: Array


@dataclass(frozen=True)
class Closure:
    """A pair of frames and what holds them together."""

    first: BodyFrame
    second: BodyFrame
    kind: str


@dataclass(frozen=True)
class LoopClosures:
    """Closures of a chain, c equalities of R products.

    Attributes:
        closures: pairs of frames.
        directions: (c, R) orthonormal rows: the equalities are directions times the products.
    """

    chain: Chain
    closures: tuple[Closure, ...]
    directions: Array
    _kept: dict[bytes, list[tuple[_Vector, _Vector]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def count(self) -> int:
        """c."""
        return len(self.directions)

    def gaps(self, q: Array) -> Array:
        """(N, R) products that are to be zero [m], of axes [1], closure by closure, for q (N, n)."""
        return np.stack([_dot(u.value, w.value) for u, w in self._products(q)], axis=1)

    def value(self, q: Array) -> Array:
        """(N, c) of the equalities."""
        return np.asarray(self.gaps(q) @ self.directions.T)

    def linearise(self, q: Array) -> tuple[Array, Array]:
        """(N, c) values and (N, c, n) derivatives."""
        pairs = self._products(q)
        value = np.stack([_dot(u.value, w.value) for u, w in pairs], axis=1)
        slope = [
            np.einsum("nk,nkj->nj", u.value, w.columns) + np.einsum("nk,nkj->nj", w.value, u.columns) for u, w in pairs
        ]
        return np.asarray(value @ self.directions.T), np.asarray(self.directions @ np.stack(slope, axis=1))

    def force_jacobian(self, q: Array, multiplier: Array) -> Array:
        """(N, n, n) derivative of J(q)'lambda by q, for multipliers (N, c) [N or N m]; symmetric."""
        out = np.zeros((len(q), self.chain.n, self.chain.n))
        for (u, w), force in zip(self._products(q), (multiplier @ self.directions).T, strict=True):
            mixed = u.columns.swapaxes(1, 2) @ w.columns
            turned = u.second_derivative(w.value) + w.second_derivative(u.value)
            out += force[:, None, None] * (mixed + mixed.swapaxes(1, 2) + turned)
        return out

    def together_with(self, other: LoopClosures) -> LoopClosures:
        """These closures, then others of the chain; every equality stays what it is."""
        directions = np.zeros((self.count + other.count, self.directions.shape[1] + other.directions.shape[1]))
        directions[: self.count, : self.directions.shape[1]] = self.directions
        directions[self.count :, self.directions.shape[1] :] = other.directions
        return LoopClosures(self.chain, (*self.closures, *other.closures), directions)

    def has_turned_round(self, q: Array) -> bool:
        """Whether frames somewhere along q (N, n) are held by axes that point opposite ways: equalities hold there."""
        for closure, (first, second) in zip(self.closures, self._frames(q), strict=True):
            if any((_dot(first.axis(k).value, second.axis(k).value) < 0.0).any() for k in _SAME[closure.kind]):
                return True
        return False

    def _products(self, q: Array) -> list[tuple[_Vector, _Vector]]:
        """R pairs u, w."""
        key = q.tobytes()
        if key not in self._kept:
            while len(self._kept) >= _KEPT:
                self._kept.pop(next(iter(self._kept)), None)
            self._kept[key] = self._products_at(q)
        return self._kept[key]

    def _products_at(self, q: Array) -> list[tuple[_Vector, _Vector]]:
        pairs: list[tuple[_Vector, _Vector]] = []
        for closure, (first, second) in zip(self.closures, self._frames(q), strict=True):
            gap = first.origin.minus(second.origin)
            pairs += [(first.axis(k), gap) for k in _ALONG[closure.kind]]
            pairs += [(first.axis(k), second.axis(j)) for k, j in _SQUARE[closure.kind]]
        return pairs

    def _frames(self, q: Array) -> list[tuple[_Frame, _Frame]]:
        motion = reference.at_rest(self.chain.tree, q)
        return [
            (_Frame.of(self.chain, motion, closure.first), _Frame.of(self.chain, motion, closure.second))
            for closure in self.closures
        ]


def build_closures(robot: Robot, chain: Chain, loops: Sequence[Loop]) -> LoopClosures:
    """Closures of a robot's loops.

    Raises:
        RobotError: a link is unknown, or a loop is open in a direction in which nothing can close it.
    """
    if not loops:
        return LoopClosures(chain, (), np.zeros((0, 0)))
    held = tuple(Closure(body_frame(robot, loop.first), body_frame(robot, loop.second), loop.kind) for loop in loops)
    rows = sum(len(_ALONG[loop.kind]) + len(_SQUARE[loop.kind]) for loop in loops)
    every = LoopClosures(chain, held, np.eye(rows))
    directions, open_by = find_changes(every)
    if len(directions) > chain.n:
        raise RobotError(f"{len(directions)} equalities close the loops of {chain.n} joints: nothing can move")
    if open_by > CLOSED:
        names = ", ".join(f"{loop.first.link}:{loop.second.link}" for loop in loops)
        raise RobotError(f"a loop stays open by {1e3 * open_by:.3g} mm or mrad whatever the joints do: {names}")
    return LoopClosures(chain, held, directions)


def find_changes(every: LoopClosures) -> tuple[Array, float]:
    """(r, c) orthonormal rows: directions in which c equalities change with q; and how far they are open in the others.

    The others stay the same whatever q is: nothing can close them.
    """
    value, jacobian = every.linearise(np.random.default_rng(0).uniform(-1.0, 1.0, (_SAMPLES, every.chain.n)))
    left, singular, _ = np.linalg.svd(jacobian.swapaxes(0, 1).reshape(every.count, -1), full_matrices=True)
    rank = int(np.count_nonzero(singular > FIXED * singular[0]))
    return np.ascontiguousarray(left[:, :rank].T), float(np.abs(value @ left[:, rank:]).max(initial=0.0))


@dataclass(frozen=True)
class _Vector:
    """A vector in the base's axes, N samples: (N, 3), its derivative (N, 3, n), and what its second one comes from.

    Attributes:
        value, columns: the vector and its derivative by q.
        terms: axes (N, n, 3) of the joints that carry a part of it, with that part's derivative.
    """

    value: Array
    columns: Array
    terms: tuple[tuple[Array, Array], ...]

    def minus(self, other: _Vector) -> _Vector:
        less = tuple((axes, -columns) for axes, columns in other.terms)
        return _Vector(self.value - other.value, self.columns - other.columns, (*self.terms, *less))

    def second_derivative(self, along: Array) -> Array:
        """(N, n, n) of the vector's component along (N, 3)."""
        out = np.zeros((*self.columns.shape[::2], self.columns.shape[2]))
        for axes, columns in self.terms:
            upper = np.triu(_cross(along[:, None], axes) @ columns)
            out += upper + np.triu(upper, 1).swapaxes(1, 2)
        return out


@dataclass(frozen=True)
class _Frame:
    """A frame that moves: its origin, and the base's axes of what carries it."""

    origin: _Vector
    turn: Array
    about: Array

    @staticmethod
    def of(chain: Chain, motion: reference.TreeMotion, frame: BodyFrame) -> _Frame:
        count, n = motion.origin.shape[-1], chain.n
        about, columns = np.zeros((count, n, 3)), np.zeros((count, 3, n))
        if frame.joint < 0:
            place, turn = np.broadcast_to(frame.place, (count, 3)), np.broadcast_to(frame.axes, (count, 3, 3))
            return _Frame(_Vector(place, columns, ()), turn, about)
        rotation = motion.rotation[frame.joint].transpose(2, 0, 1)
        place = motion.origin[frame.joint].T + rotation @ frame.place
        (path,) = np.nonzero(chain.supports()[:, frame.joint])
        about[:, path] = motion.jacobian[path, 3:].transpose(2, 0, 1)
        moved = motion.jacobian[path, :3].transpose(2, 0, 1) + _cross(about[:, path], place[:, None])
        columns[:, :, path] = moved.swapaxes(1, 2)
        return _Frame(_Vector(place, columns, ((about, columns),)), rotation @ frame.axes, about)

    def axis(self, k: int) -> _Vector:
        """The frame's axis x, y or z."""
        value = self.turn[:, :, k]
        columns = _cross(self.about, value[:, None]).swapaxes(1, 2)
        return _Vector(value, columns, ((self.about, columns),))


def body_frame(robot: Robot, end: LoopEnd) -> BodyFrame:
    """The frame of a loop's end.

    Raises:
        RobotError: its link is unknown.
    """
    frames = {frame.name: frame for frame in robot.model.frames}
    if end.link not in frames:
        raise RobotError(f"robot '{robot.name}' has no link '{end.link}', which is to close a loop")
    frame = frames[end.link]
    x, y, z, w = end.turn
    inside = frame.placement * pinocchio.SE3(pinocchio.Quaternion(w, x, y, z).matrix(), np.array(end.place))
    return BodyFrame(int(frame.parentJoint) - 1, np.array(inside.translation), np.array(inside.rotation))


def _cross(a: Array, b: Array) -> Array:
    """(..., 3) products; NumPy's own takes thrice as long."""
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    for x, y, z in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[..., x] = a[..., y] * b[..., z] - a[..., z] * b[..., y]
    return out


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(np.einsum("nk,nk->n", a, b))
