# SPDX-License-Identifier: Apache-2.0
"""Forward kinematics and torque coefficients of a serial or branched arm in affine arithmetic.

The recursion is that of models/passivity.py. For a body with inertial parameters (m, c, I) and a joint k whose unit
rate gives the body's frame the velocity (v, o) (linear, angular, body axes), the torque of M qdd_a + C qd_a + g at k
is

    m v.s + c.(v x alpha + (v x u) x w + s x o) + <I, o alpha' - o (w x u)' / 2 + (o x w) u' / 2 + (o x u) w' / 2>,

linear in the ten parameters, and (M)_kk has the same form with twice the kinetic energy's terms.

The compiled kernel does the same (kernel/affine_dynamics.cpp); recursion.py takes one or the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.intervals import Affine, concatenate, cross, matvec, stack
from sysid_nodes.kernel.tree import Tree
from sysid_nodes.robots.robot import Array

Indices = npt.NDArray[np.intp]


class Links(NamedTuple):
    """Each joint's frame in its parent's, over T intervals; affine.

    Attributes:
        local: n rotations (T, 3, 3), joint frame to its parent's.
        shift: n places (T, 3) of a joint's origin in its parent's frame [m].
    """

    local: tuple[Affine, ...]
    shift: tuple[Affine, ...]


def links(tree: Tree, q: Affine) -> Links:
    """Frames of all joints in their parents' for positions q (T, n)."""
    symbols, count = q.symbols, q.shape[0]
    local, shift = [], []
    sine, cosine = q.sin_cos()
    for i in range(len(tree.parents)):
        fixed, axis, offset = tree.rotation[i], tree.axis[i], tree.translation[i]
        if tree.revolute[i]:
            skew = _skew(axis)
            twice = Affine.constant(skew[None], symbols=symbols) @ skew
            local.append(fixed @ (np.eye(3) + twice + skew * _column(sine, i) - twice * _column(cosine, i)))
            shift.append(Affine.constant(np.broadcast_to(offset, (count, 3)).copy(), symbols=symbols))
        else:
            local.append(Affine.constant(np.broadcast_to(fixed, (count, 3, 3)).copy(), symbols=symbols))
            shift.append(q[:, i].reshape(count, 1) * (fixed @ axis) + offset)
    return Links(tuple(local), tuple(shift))


def frames(tree: Tree, found: Links) -> tuple[tuple[Affine, ...], tuple[Affine, ...]]:
    """Rotations (T, 3, 3), joint frame to base, and origins (T, 3) in the base frame [m], n each."""
    rotation: list[Affine] = []
    origin: list[Affine] = []
    for parent, local, shift in zip(tree.parents, *found, strict=True):
        if parent < 0:
            rotation.append(local)
            origin.append(shift)
        else:
            rotation.append(rotation[parent] @ local)
            origin.append(origin[parent] + matvec(rotation[parent], shift))
    return tuple(rotation), tuple(origin)


@dataclass(frozen=True)
class BodyMotion:
    """Variables of one body's wrench, in its own axes; affine.

    Attributes:
        w, u, alpha, s: (T, 3), as in models/passivity.py.
        joints: indices of the K joints that move the body.
        linear, angular: (T, K, 3) velocity of the body's frame per unit rate of each of them.
    """

    w: Affine
    u: Affine
    alpha: Affine
    s: Affine
    joints: tuple[int, ...]
    linear: Affine
    angular: Affine


def move(tree: Tree, found: Links, qd: Affine, qd_a: Affine, qdd_a: Affine, gravity: Array) -> list[BodyMotion]:
    """The recursion of models/passivity.py for velocities and accelerations (T, n).

    Args:
        tree: the robot.
        found: its frames.
        qd, qd_a, qdd_a: velocity and the auxiliary velocity and acceleration.
        gravity: (3,) in the base frame [m/s2]; zeros for inertial terms alone.
    """
    count, symbols = qd.shape[0], qd.symbols
    zero = Affine.constant(np.zeros((count, 3)), symbols=symbols)
    ground = (zero, zero, zero, Affine.constant(np.broadcast_to(-gravity, (count, 3)).copy(), symbols=symbols))
    out: list[BodyMotion] = []
    for i, parent in enumerate(tree.parents):
        before = out[parent] if parent >= 0 else None
        w, u, alpha, s = (before.w, before.u, before.alpha, before.s) if before else ground
        r, back, axis = found.shift[i], found.local[i].transpose(), tree.axis[i]
        if before:
            s = s + cross(alpha, r) + cross(u, cross(w, r))
        w, u, alpha, s = _split(stack([w, u, alpha, s], axis=-1), back)
        rate, rate_a, slope = (x[:, i].reshape(count, 1) for x in (qd, qd_a, qdd_a))
        swing = cross(w, axis)
        if tree.revolute[i]:
            w, u, alpha = w + axis * rate, u + axis * rate_a, alpha + axis * slope + swing * rate_a
        else:
            s = s + axis * slope + swing * rate_a + cross(u, axis) * rate
        linear, angular = _carry(before, r, back, axis, bool(tree.revolute[i]), count, symbols)
        joints = (*(before.joints if before else ()), i)
        out.append(BodyMotion(w, u, alpha, s, joints, linear, angular))
    return out


@dataclass(frozen=True)
class Levers:
    """Motion of every body with every joint that moves it: P pairs (body, joint), side by side.

    Attributes:
        body, joint: (P,) of each pair.
        linear, angular: (T, P, 3) velocity of the body's frame per unit rate of the joint; affine.
    """

    body: Indices
    joint: Indices
    linear: Affine
    angular: Affine


def levers(bodies: Sequence[BodyMotion]) -> Levers:
    """All pairs of bodies and joints that move them, body by body."""
    return Levers(
        np.repeat(np.arange(len(bodies)), [len(body.joints) for body in bodies]),
        np.array([joint for body in bodies for joint in body.joints]),
        concatenate([body.linear for body in bodies], axis=1),
        concatenate([body.angular for body in bodies], axis=1),
    )


def torque_coefficients(bodies: Sequence[BodyMotion], pairs: Levers) -> Affine:
    """(T, P, 10): torque at each pair's joint per inertial parameter of its body."""
    w, u, alpha, s = (stack([getattr(body, name) for body in bodies], axis=1) for name in ("w", "u", "alpha", "s"))
    turning = alpha - 0.5 * cross(w, u)
    v, o = pairs.linear, pairs.angular
    w, u, alpha, s, turning = (x[:, pairs.body] for x in (w, u, alpha, s, turning))
    mass = (v * s).sum(axis=-1)
    first = cross(v, alpha) + cross(cross(v, u), w) + cross(s, o)
    second = _form(o, turning) + 0.5 * (_form(cross(o, w), u) + _form(cross(o, u), w))
    return concatenate([mass.reshape(*mass.shape, 1), first, second], axis=-1)


class InertiaCoefficients(NamedTuple):
    """Entries M_jk that bodies add, per inertial parameter of the body, for Q triplets (body, j, k) with j <= k.

    Attributes:
        body, first, second: (Q,) the triplets.
        centre, radius: (T, Q, 10) |coefficient - centre| <= radius.
    """

    body: Indices
    first: Indices
    second: Indices
    centre: Array
    radius: Array


def inertia_coefficients(pairs: Levers, centres: Sequence[Array], radii: Sequence[Array]) -> InertiaCoefficients:
    """Entries of the mass matrix, from middles and deviations alone.

    Args:
        pairs: which body and joint each lever belongs to.
        centres, radii: (T, P, 3) of its linear and angular part: |value - centre| <= radius.
    """
    ends = np.array([
        (a, b)
        for a in range(len(pairs.body))
        for b in range(a, len(pairs.body))
        if pairs.body[a] == pairs.body[b]
    ])  # fmt: skip
    one, two = ends.T
    (v, o), (dv, do) = centres, radii
    size_v, size_o = np.abs(v), np.abs(o)
    centre = _inertia_rows(v[:, one], o[:, one], v[:, two], o[:, two], -1.0)
    radius = _inertia_rows(size_v[:, one], size_o[:, one], dv[:, two], do[:, two], 1.0)
    radius += _inertia_rows(dv[:, one], do[:, one], (size_v + dv)[:, two], (size_o + do)[:, two], 1.0)
    # A few roundings of products that may cancel.
    radius += 1e-14 * _inertia_rows(size_v[:, one], size_o[:, one], size_v[:, two], size_o[:, two], 1.0)
    return InertiaCoefficients(pairs.body[one], pairs.joint[one], pairs.joint[two], centre, radius)


def _inertia_rows(v: Array, o: Array, w: Array, p: Array, sign: float) -> Array:
    """(T, Q, 10) of m v.w + c.(v x p + w x o) + <I, o p'>; with sign 1 every difference is a sum."""
    out = np.empty((*v.shape[:-1], 10))
    out[..., 0] = (v * w).sum(axis=-1)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[..., 1 + i] = v[..., j] * p[..., k] + w[..., j] * o[..., k]
        out[..., 1 + i] += sign * (v[..., k] * p[..., j] + w[..., k] * o[..., j])
    for column, (i, j) in enumerate(((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))):
        out[..., 4 + column] = o[..., i] * p[..., j] + (o[..., j] * p[..., i] if i != j else 0.0)
    return out


def _carry(
    before: BodyMotion | None, r: Affine, back: Affine, axis: Array, revolute: bool, count: int, symbols: int
) -> tuple[Affine, Affine]:
    """Velocity of a body's frame per unit rate of each joint below it, from its parent's."""
    own = Affine.constant(np.broadcast_to(axis, (count, 1, 3)).copy(), symbols=symbols)
    none = Affine.constant(np.zeros((count, 1, 3)), symbols=symbols)
    mine = (none, own) if revolute else (own, none)
    if before is None:
        return mine
    linear = before.linear + cross(before.angular, r.reshape(count, 1, 3))
    turned = [part @ back.transpose() for part in (linear, before.angular)]  # rows: (R' x)' = x' R
    return concatenate([turned[0], mine[0]], axis=1), concatenate([turned[1], mine[1]], axis=1)


def _form(a: Affine, b: Affine) -> Affine:
    """(..., 6) coefficients of a' I b in Ixx, Ixy, Iyy, Ixz, Iyz, Izz."""
    a0, a1, a2 = (a[..., k] for k in range(3))
    b0, b1, b2 = (b[..., k] for k in range(3))
    return stack([a0 * b0, a0 * b1 + a1 * b0, a1 * b1, a0 * b2 + a2 * b0, a1 * b2 + a2 * b1, a2 * b2], axis=-1)


def _split(columns: Affine, back: Affine) -> tuple[Affine, Affine, Affine, Affine]:
    """The four columns of (T, 3, 4), turned."""
    turned = back @ columns
    return turned[..., 0], turned[..., 1], turned[..., 2], turned[..., 3]


def _column(x: Affine, i: int) -> Affine:
    return x[:, i].reshape(x.shape[0], 1, 1)


def _skew(axis: Array) -> Array:
    x, y, z = axis
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
