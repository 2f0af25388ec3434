# SPDX-License-Identifier: Apache-2.0
"""The trajectory over short parts of time: where it is in the middle of each, and how far from there it gets.

A Bezier curve of degree 5 and its derivatives lie in the hulls of their control points, which are those of the curve's
differences (Farouki, *The Bernstein polynomial basis*, 2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import comb

import numpy as np
import numpy.typing as npt

from sysid_nodes.verification.document import Document

Array = npt.NDArray[np.float64]

_LOST = 1e-12
"""Of a number of order one is lost to rounding at most."""

_TURN = 0.008
"""In a part, by the control points [rad]."""


@dataclass(frozen=True)
class Parts:
    """The trajectory over P parts of time, the last one for ever at rest; arrays (P, n).

    Attributes:
        interval: (P,) which interval of the record each part belongs to.
        begin, length: (P,) [s]; the last has no end.
        q, qd, qdd: in the middle.
        q_off, qd_off, qdd_off: how far from there anywhere in the part.
        jerk: largest magnitude.
    """

    interval: npt.NDArray[np.intp]
    begin: Array
    length: Array
    q: Array
    qd: Array
    qdd: Array
    q_off: Array
    qd_off: Array
    qdd_off: Array
    jerk: Array


def parts(document: Document, age: float) -> Parts:
    """Every interval of the record cut into parts in which no joint turns far, longer than a torque acts (age [s])."""
    edges, duration = document["edges"], document["duration"]
    points = control_points(document)
    orders = [points]
    for order in range(3):
        orders.append((5 - order) / duration * np.diff(orders[-1], axis=0))
    jerk = np.abs(orders[3]).max(axis=0)
    middle, half = 0.5 * (edges[1:] + edges[:-1]) / duration, 0.5 * np.diff(edges)
    fastest = np.abs(_at(orders[1], middle)) + half[:, None] * (np.abs(_at(orders[2], middle)) + half[:, None] * jerk)
    # At least two, no further than _TURN each, and longer than a torque acts.
    wanted = np.maximum(2.0, np.ceil(2.0 * half * fastest.max(axis=1) / _TURN))
    fineness = np.minimum(wanted, np.maximum(1.0, np.floor(2.0 * half / (1.01 * age)))).astype(int)
    pieces = [np.linspace(a, b, count, endpoint=False) for (a, b), count in zip(pairwise(edges), fineness, strict=True)]
    cuts = np.concatenate([*pieces, [duration]])
    middle, half = 0.5 * (cuts[1:] + cuts[:-1]), 0.5 * np.diff(cuts)[:, None]
    q, qd, qdd = (_at(points, middle / duration) for points in orders[:3])
    jerk = np.broadcast_to(jerk, q.shape)
    size = np.abs(points).max(axis=0) + 1.0
    qdd_off = half * jerk * (1.0 + _LOST) + _LOST * size * 400.0 / duration**2
    qd_off = half * (np.abs(qdd) + qdd_off) * (1.0 + _LOST) + _LOST * size * 20.0 / duration
    q_off = half * (np.abs(qd) + qd_off) * (1.0 + _LOST) + _LOST * size

    def append_rest(moving: Array, still: Array) -> Array:
        return np.vstack([moving, still])

    zero, lost = np.zeros(document.n), _LOST * size
    return Parts(
        interval=np.append(np.repeat(np.arange(len(edges) - 1), fineness), len(edges) - 1),
        begin=cuts,
        length=np.append(np.diff(cuts), np.inf),
        q=append_rest(q, points[-1]),
        qd=append_rest(qd, zero),
        qdd=append_rest(qdd, zero),
        q_off=append_rest(q_off, lost),
        qd_off=append_rest(qd_off, zero),
        qdd_off=append_rest(qdd_off, zero),
        jerk=append_rest(jerk, zero),
    )


def control_points(document: Document) -> Array:
    """(6, n): the first three make position, velocity and acceleration at the start, the last three the rest."""
    q0, qd0, qdd0, duration = (document[name] for name in ("q0", "qd0", "qdd0", "duration"))
    end = q0 + document["k"]
    second = q0 + duration / 5.0 * qd0
    return np.array([q0, second, duration**2 / 20.0 * qdd0 + 2.0 * second - q0, end, end, end])


def at(points: Array, time: float, duration: float, order: int) -> Array:
    """(n,) position, velocity or acceleration (order 0, 1, 2) at a time [s] into a curve of control points (6, n)."""
    for step in range(order):
        points = (5 - step) / duration * np.diff(points, axis=0)
    return np.asarray(_at(points, np.array([time / duration]))[0])


def _at(points: Array, x: Array) -> Array:
    """(P, n) values at x (P,) in [0, 1], by Bernstein's polynomials."""
    degree = len(points) - 1
    weights = np.array([comb(degree, k) * x**k * (1.0 - x) ** (degree - k) for k in range(degree + 1)])
    return np.asarray(weights.T @ points)
