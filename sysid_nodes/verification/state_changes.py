# SPDX-License-Identifier: Apache-2.0
"""Sizes of the torques of a motion, and what they change by where measured and aged states differ from the true one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.verification.chain import Chain
from sysid_nodes.verification.mechanics import Geometry, coefficients, motion
from sysid_nodes.verification.spread import Change
from sysid_nodes.verification.spread_chain import Turning

Array = npt.NDArray[np.float64]


def changes(
    chain: Chain,
    gravity: Array,
    theta: Array,
    sizes: tuple[Array, Array, Array],
    change: tuple[Array, Array, Array],
    turning: Turning | None = None,
) -> tuple[Array, Array]:
    """(P, n) sizes of the torques of qd, qd_a and qdd_a of these sizes, and changes for those of q, qd and qd_a.

    Args:
        sizes: (P, n) each.
        change: (P, n) each.
        turning: no body turns faster; None: than its joints together.
    """
    seen = [_seen_changes(chain, gravity, theta, sizes, change, turning, j) for j in range(len(chain.names))]
    size, moved = (np.stack(x, axis=1) for x in zip(*seen, strict=True))
    return size, moved


def _seen_changes(
    chain: Chain,
    gravity: Array,
    theta: Array,
    sizes: tuple[Array, Array, Array],
    change: tuple[Array, Array, Array],
    turning: Turning | None,
    j: int,
) -> tuple[Array, Array]:
    """(P,) of joint j, as its own body sees it, which has not turned."""
    n, count = len(chain.names), len(sizes[0])
    none, unit = Change(np.zeros(count), np.zeros(count)), np.ones(count)
    turned = [change[0][:, min(i, j) + 1 : max(i, j) + 1].sum(axis=1) for i in range(-1, n)]
    axis: list[Change] = []
    step: list[Change] = []
    w: list[Change] = []
    u: list[Change] = []
    rates: list[tuple[Change, Change, Change]] = []
    for i in range(n):
        length = float(np.sqrt((chain.place[i] ** 2).sum()))
        axis.append(Change(unit, np.minimum(turned[i], turned[i + 1])))  # fixed in both bodies that it joins
        step.append(Change(length * unit, length * turned[i]))
        qd, qd_a = Change(sizes[0][:, i], change[1][:, i]), Change(sizes[1][:, i], change[2][:, i])
        rates.append((qd, qd_a, Change(sizes[2][:, i], 0.0 * unit)))
        w.append((w[-1] if w else none) + axis[i].times(qd))
        u.append((u[-1] if u else none) + axis[i].times(qd_a))
        if turning is not None:
            w[-1], u[-1] = (x.at_most(most[:, i]) for x, most in zip((w[-1], u[-1]), turning, strict=True))
    weight = float(np.sqrt((gravity**2).sum()))
    place = Geometry(axis, step)
    moves = motion(place, w, u, rates, Change(weight * unit, weight * turned[0]), none)
    size, moved = np.zeros((2, count))
    for i in range(j, n):
        own = Change(unit, turned[i + 1])
        weights = [Change(unit * x, 0.0 * unit) for x in (abs(theta[i, 0]), np.sqrt((theta[i, 1:4] ** 2).sum()))]
        inertia = Change(unit * _frobenius(theta[i, 4:]), 0.0 * unit)
        found = coefficients(place, moves, j, i, none)
        torque = found.mass.times(weights[0]) + found.first.dot(own).times(weights[1])
        for one, two in found.second:
            torque = torque + one.dot(own).times(inertia).times(own).dot(two)
        size, moved = size + torque.size, moved + torque.change
    return size, moved


def _frobenius(inertia: Array) -> float:
    """Norm of a tensor of entries xx, xy, yy, xz, yz, zz, no less than that of what it does to a vector."""
    return float(np.sqrt((np.array([1.0, 2.0, 1.0, 2.0, 2.0, 1.0]) * inertia**2).sum()))
