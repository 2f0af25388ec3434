# SPDX-License-Identifier: Apache-2.0
"""Radii are what their formulas say, no more and no less: worked out joint by joint in plain loops, nothing left at 0.

Containment alone does not notice a bound that is twice what it has to be.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sysid_nodes.kernel.reference import TreeMotion
from sysid_nodes.kernel.tree import Tree
from sysid_nodes.systems.interval.error_radius import (
    MotionBounds,
    _slopes,
    body_coefficients,
    momentum_curvature,
    rate_curvature,
)
from sysid_nodes.systems.interval.reach import Levers, Reach

Array = np.ndarray

N = 4
RNG = np.random.default_rng(5)
LAM = np.triu(RNG.uniform(0.2, 1.0, (2, N, N)))  # joint l moves body i >= l
ALPHA = np.triu(np.ones((N, N))) * np.array([1.0, 1.0, 0.0, 1.0])[:, None]
NOWHERE = TreeMotion(*5 * (np.zeros(0),))
LEVERS = Levers(LAM, ALPHA, RNG.uniform(0.2, 1.0, (2, N, N, N, 3)), RNG.uniform(0.2, 1.0, (N, N, N, N, 3)), (), NOWHERE)
MOTION = MotionBounds(*(RNG.uniform(0.1, 1.0, s) for s in [(2,)] * 4 + [(2, N)] * 3 + [(N,)] * 2))


def cross(a: Array, b: Array) -> Array:
    return np.array([a[0] * b[1] + a[1] * b[0], a[1] * b[1]])


def inertial(motion: Array, velocity: Array) -> Array:
    """|motion' I velocity| by mass, first moment and inertia."""
    (a, b), (c, d) = motion, velocity
    return np.array([a * c, a * d + b * c, b * d])


def by_hand(w: int, k: int, i: int) -> Array:
    """(2, 3, 3) errors of row k for body i in window w, at its edges and between, by the docstring of error_radius."""
    j = [np.array([LAM[w, joint, i], ALPHA[joint, i]]) for joint in range(N)]
    speed, dq, dv, acceleration = MOTION.speed[w], MOTION.dq[w], MOTION.dv[w], MOTION.acceleration
    zero = np.zeros(2)
    v, error = (sum((j[b] * rate[b] for b in range(N)), zero) for rate in (speed, dv))
    w_ = [cross(sum((j[b] * speed[b] for b in range(joint)), zero), j[joint]) for joint in range(N)]
    position = np.zeros(3)
    for one in range(N):
        momentum = inertial(j[k], w_[one]) + (inertial(cross(j[k], j[one]), v) if one > k else 0.0)
        a, b = min(k, one), max(k, one)
        force = inertial(cross(w_[a], j[b]), v) + inertial(w_[k], w_[one]) + LEVERS.hessian[w, k, one, i]
        position = position + dq[one] * np.array([2.0 * momentum, MOTION.duration[w] * force])
    shaken = cross(sum((j[b] * dv[b] for b in range(k)), zero), j[k])
    velocity = 2.0 * inertial(j[k], error), MOTION.duration[w] * (inertial(shaken, v) + inertial(w_[k], error))
    bend = sum(acceleration[b] * LEVERS.hessian[w, k, b, i] for b in range(N))
    bend = bend + sum(speed[b] * speed[c] * LEVERS.third[k, b, c, i] for b in range(N) for c in range(N))
    unit = LEVERS.lam, np.broadcast_to(ALPHA, LAM.shape)
    rates = (np.broadcast_to(x, MOTION.speed.shape) for x in (MOTION.speed, acceleration, MOTION.jerk))
    slope, curvature = (x[w, k, i] for x in _slopes(unit, *rates))
    smooth = MOTION.smooth[w] / 12.0 * curvature + MOTION.cube[w] / 12.0 * bend
    sampling = np.zeros(3), MOTION.rough[w] / 4.0 * slope + smooth
    return np.swapaxes([position, velocity, sampling], 0, 1)


def test_errors_of_the_motion() -> None:
    found = body_coefficients(LEVERS, MOTION)
    for w, k, i in np.ndindex(2, N, N):
        np.testing.assert_allclose(found[:, :, w, k, i], by_hand(w, k, i), rtol=1e-12)


def test_curvatures_along_a_line_are_second_differences() -> None:
    """Of p_k and f_k of one body, all motions in the same direction, so that magnitudes are derivatives."""
    unit, (speed, dq, dv) = RNG.uniform(0.2, 1.0, (N, 2)), RNG.uniform(0.2, 1.0, (3, N))

    def turned(j: Array) -> Array:
        return np.array([cross(sum((j[b] * dq[b] for b in range(k + 1, N)), np.zeros(2)), j[k]) for k in range(N)])

    def at(s: float) -> tuple[Array, Array]:
        j, steps = unit.copy(), 8
        for _ in range(steps):
            h = s / steps
            one = turned(j)
            two = turned(j + 0.5 * h * one)
            three = turned(j + 0.5 * h * two)
            j = j + h / 6.0 * (one + 2.0 * two + 2.0 * three + turned(j + h * three))
        u = j * (speed + s * dv)[:, None]
        before = np.cumsum(u, axis=0) - u
        momentum = np.array([inertial(j[k], u.sum(axis=0)) for k in range(N)])
        return momentum, np.array([inertial(cross(before[k], j[k]), u.sum(axis=0)) for k in range(N)])

    line = (unit[None, :, 0, None], unit[None, :, 1, None]), speed[None], dq[None], dv[None]
    found = momentum_curvature(*line), rate_curvature(*line)
    h = 2e-3
    for k in range(2):
        expected = (at(h)[k] - 2.0 * at(0.0)[k] + at(-h)[k]) / h**2
        np.testing.assert_allclose(found[k][0, :, 0], expected, rtol=1e-4)


class Planar:
    """Three joints about y in a line along x, 0.5 m and 0.3 m apart, after one about the vertical."""

    n = 4
    lengths = np.array([0.0, 0.2, 0.5, 0.3])
    tree = Tree(
        np.array([-1, 0, 1, 2]), np.tile(np.eye(3), (4, 1, 1)), np.outer(lengths, [1.0, 0.0, 0.0]),
        np.array([[0.0, 0.0, 1.0]] + [[0.0, 1.0, 0.0]] * 3), np.ones(4, dtype=bool), np.array([0.0, 0.0, -9.0]),
    )  # fmt: skip

    def supports(self) -> Any:
        return np.triu(np.ones((4, 4), dtype=bool))


def levers(q: Array, speed: float = 0.0, dq: float = 0.0) -> Levers:
    t = 0.008 * np.arange(3.0)
    edges, still = np.array([[0, 2]], dtype=np.intp), np.ones((1, 4))
    return Reach(Planar(), np.zeros(4)).levers(t, np.tile(q, (3, 1)), edges, speed * still, dq * still)  # type: ignore[arg-type]


def test_levers_of_an_arm_at_its_longest() -> None:
    found, x, g = levers(np.zeros(4)), np.cumsum(Planar.lengths), 9.0
    for k, j, i in np.ndindex(4, 4, 4):
        a, b = min(k, j), max(k, j)
        reach = x[i] - x[b] if b <= i else 0.0
        assert found.lam[0, b, i] == pytest.approx(reach, abs=1e-9)
        load = g if a > 0 and b <= i else 0.0
        assert found.hessian[0, k, j, i] == pytest.approx([load * reach, load, 0.0], abs=2e-8)
        for s in range(4):
            first, last = min(a, s), max(b, s)
            load = g if first > 0 and k <= i else 0.0
            reach = x[i] - x[last] if last <= i else 0.0
            turns = float(last <= i)
            assert found.third[k, j, s, i] == pytest.approx([load * reach, load * turns, 0.0], abs=2e-8)


def test_levers_of_a_folded_arm_grow_by_what_joints_may_have_moved() -> None:
    """Half a pause of 8 ms at 1 rad/s and 0.01 rad: 0.014 rad a joint beyond, times how far each reaches at most."""
    folded = np.array([0.0, 0.0, np.pi, 0.0])
    still, moved = levers(folded).lam[0], levers(folded, 1.0, 0.01).lam[0]
    x, step = np.cumsum(Planar.lengths), 0.5 * 1.0 * 0.008 + 0.01
    assert still[1, 3] == pytest.approx(0.2) and still[0, 3] == pytest.approx(0.4)
    for joint, body in ((0, 3), (1, 3), (0, 2)):
        beyond = sum(step * (x[body] - x[b]) for b in range(joint + 1, body + 1))
        most = x[body] - x[joint]
        assert moved[joint, body] == pytest.approx(min(still[joint, body] + beyond, most))
    # A vertical axis that may have tilted is loaded by that much of gravity, but for the one on the base.
    upright = Planar()
    upright.tree = Planar.tree._replace(axis=np.tile([0.0, 0.0, 1.0], (4, 1)))
    spread = np.full((1, 4), step), np.zeros((1, 4))
    reach = Reach(upright, np.zeros(4))  # type: ignore[arg-type]
    found = reach.levers(np.zeros(2), np.zeros((2, 4)), np.array([[0, 1]]), spread[1], spread[0])
    for joint in range(4):
        assert found.hessian[0, joint, joint, 3, 1] == pytest.approx(9.0 * step * joint, abs=1e-8)
    assert (found.hessian >= 0.0).all()  # roundings of an axis that is all but upright are allowed for
