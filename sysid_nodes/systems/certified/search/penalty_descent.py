# SPDX-License-Identifier: Apache-2.0
"""Minimises a smooth cost plus the penalty on linearised limits, in a box.

The penalty is stiff and known exactly, kinks included, the cost costs far more than a few products of small matrices:
so each step minimises the penalty as it is and a quadratic model of the cost, with the curvature that its gradients
have shown so far (BFGS, damped as by M. J. D. Powell, 1978). A general quasi-Newton method takes the penalty's kinks
for curvature, and needs five times as many values of the cost to come less far.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.robots.robot import Array
from sysid_nodes.systems.certified.search.costs import Cost
from sysid_nodes.systems.certified.search.limit_rows import PENALTY, Rows

_ENOUGH = 3e-3
"""A decrease not worth another value of the cost, whose logarithms of ten widths are of order one."""

_SHARE = 3e-4
"""Nor is a decrease by this share, where the cost is small: squared distances to a goal."""

_NEWTON = 25
"""Most steps of Newton's method in a model; it takes about four."""


@dataclass(frozen=True)
class _Model:
    """Of the cost about a point, g d + d C d / 2, and slacks left + S d, for steps d between two bounds (n,)."""

    gradient: Array
    curvature: Array
    left: Array
    slope: Array
    lower: Array
    upper: Array

    def value(self, d: Array) -> float:
        """The cost's change and the penalty."""
        missing = np.minimum(self.left + self.slope @ d, 0.0)
        return float((self.gradient + 0.5 * self.curvature @ d) @ d + PENALTY * (missing @ missing))

    def minimum(self, enough: float) -> tuple[Array, float]:
        """The best step (n,) and its value, to so much: a convex problem, by Newton's method on the rows short."""
        d = np.clip(np.zeros_like(self.gradient), self.lower, self.upper)
        value = self.value(d)
        for _ in range(_NEWTON):
            slack = self.left + self.slope @ d
            short = self.slope[slack < 0.0]
            gradient = self.gradient + self.curvature @ d + 2.0 * PENALTY * (np.minimum(slack, 0.0) @ self.slope)
            step = self._free_step(d, gradient, self.curvature + 2.0 * PENALTY * (short.T @ short))
            promised = -float(gradient @ step)
            if promised <= 0.3 * enough:
                break
            after = np.clip(d + step, self.lower, self.upper)
            found = self.value(after)
            if found > value - 0.3 * promised:  # rows became short on the way, or bounds bent it
                before = np.clip(d + self._share(d, step, slack) * step, self.lower, self.upper)
                after, found = min((after, found), (before, self.value(before)), key=lambda one: one[1])
            if not found < value:
                break
            d, value = after, found
        return d, value

    def _free_step(self, d: Array, gradient: Array, curvature: Array) -> Array:
        """(n,) Newton's step of those variables that do not press against a bound."""
        low, high = d <= self.lower, d >= self.upper
        free = ~((low & (gradient >= 0.0)) | (high & (gradient <= 0.0)))
        step = np.zeros_like(d)
        for _ in range(len(d)):
            mask = np.where(free[:, None] & free, curvature, np.eye(len(d)))
            step = -np.linalg.solve(mask, np.where(free, gradient, 0.0))
            stuck = free & ((low & (step < 0.0)) | (high & (step > 0.0)))
            if not stuck.any():
                return step
            free &= ~stuck
        return np.zeros_like(d)

    def _share(self, d: Array, step: Array, slack: Array) -> float:
        """The best share of a step, up to the first bound: the derivative along it is piecewise affine."""
        rate = self.slope @ step
        moves = step != 0.0
        room = (np.where(step > 0.0, self.upper - d, self.lower - d)[moves] / step[moves]).min(initial=1.0)
        turns = rate != 0.0
        at = -slack[turns] / rate[turns]
        at = np.sort(np.concatenate([[0.0], at[(at > 0.0) & (at < room)], [room]]))
        bent = self.curvature @ step
        slope = (self.gradient @ step + bent @ d) + at * (bent @ step)
        slope = slope + 2.0 * PENALTY * (np.minimum(slack + at[:, None] * rate, 0.0) @ rate)
        beyond = np.flatnonzero(slope > 0.0)
        if not beyond.size:
            return float(room)
        if (i := int(beyond[0])) == 0:
            return 0.0
        return float(at[i - 1] + (at[i] - at[i - 1]) * slope[i - 1] / (slope[i - 1] - slope[i]))


def descend(cost: Cost, rows: Rows, k: Array, lower: Array, upper: Array, steps: int) -> Array:
    """(n,) a minimum of cost and penalty near k, between two bounds (n,), by so many values of the cost at most."""
    x = np.clip(k, lower, upper)
    slack = rows.slack(x)
    concern = slack < np.abs(rows.slope) @ np.maximum(upper - x, x - lower)
    left, slope = slack[concern], rows.slope[concern]  # no other is short anywhere between the bounds
    value, gradient = cost(x)
    total = value + _penalty(left)
    # At first, as bent as to be least about where the bounds are.
    widest = max(float((upper - lower).max()), 1e-9)
    curvature = max(float(np.linalg.norm(gradient)) / widest, 1e-6) * np.eye(len(x))
    for _ in range(steps):
        enough = min(_ENOUGH, _SHARE * abs(total))
        d, expected = _Model(gradient, curvature, left, slope, lower - x, upper - x).minimum(enough)
        if total - value - expected <= enough:
            break
        found, there = cost(x + d)
        after = left + slope @ d
        curvature = _update_curvature(curvature, d, there - gradient)
        if (reached := found + _penalty(after)) < total:
            gained = total - reached
            x, value, gradient, left, total = x + d, found, there, after, reached
            if gained < enough:
                break
        else:  # at least as bent along this step as it has turned out
            missing = 2.0 * float(found - value - gradient @ d) / float(d @ d)
            curvature = curvature + max(missing, 0.0) * np.outer(d, d) / (d @ d)
    return np.asarray(x)


def _penalty(left: Array) -> float:
    missing = np.minimum(left, 0.0)
    return PENALTY * float(missing @ missing)


def _update_curvature(curvature: Array, d: Array, change: Array) -> Array:
    """The curvature (n, n), brought up to date with the gradient's change over a step, and kept positive definite."""
    along = curvature @ d
    old, new = d @ along, d @ change
    if new < 0.2 * old:
        share = 0.8 * old / (old - new)
        change = share * change + (1.0 - share) * along
        new = d @ change
    return np.asarray(curvature - np.outer(along, along) / old + np.outer(change, change) / new)
