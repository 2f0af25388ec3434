# SPDX-License-Identifier: Apache-2.0
"""Contacts are one-sided and have their times: what an estimate says that no contact can do."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.systems.bayesian.contacts import WITHIN, Touching
from sysid_nodes.systems.bayesian.estimate import Estimate
from sysid_nodes.systems.bayesian.problem import MechanismProblem

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_DEEP = 6.0  # standard deviations of a height below the plane that no noise shows
_PULLS = 0.05  # of a contact's largest force, by which it may seem to pull as it begins or ends

_FAR = 0.1  # that a joint turns in a stage, beyond which intervals were seen to miss the truth [rad]
_AFTER = 5  # stages from an impact on that are looked at

_USUAL, _SUDDEN = 0.9, 3.0  # a jump of speed so many times as large as this quantile of all is an impact's


def impossible_contacts(problem: MechanismProblem, point: Estimate) -> tuple[str, ...]:
    """In words: instants that were stated wrongly, points below their planes, planes that pull."""
    contacts, step, log = problem.mechanism.contacts, problem.log.step, problem.log
    found, margin = list[str](), contacts.margin
    for impact in contacts.impacts:
        at = point.x[impact.instant]
        if abs(at - impact.time) > margin:
            found.append(
                f"the impact stated at {impact.time:.4g} s comes out at {at:.4g} s, more than {WITHIN:.0f} of "
                "bayesian.contact.instant_sigma away"
            )
    if not contacts.touching:
        return ()
    value, jacobian = problem.mechanism.closures.linearise(point.q)
    force = problem.motion(point).force
    for name, those in _group_by_name(contacts.touching).items():
        rows = [int(one.rows[0]) for one in those]
        begins = np.array([one.contact.since for one in those])
        touches = problem.holds[:, rows].any(axis=1) | (np.abs(log.t[:, None] - begins) <= step).any(axis=1)
        sigma = np.hypot(contacts.gap, np.linalg.norm(jacobian[:, rows[0]] * problem.position_noise, axis=1))
        depth = np.where(touches, 0.0, -value[:, rows[0]] / sigma)
        worst = int(np.argmax(depth))
        if depth[worst] > _DEEP:
            found.append(f"'{name}' is {-1e3 * value[worst, rows[0]]:.2g} mm below its plane at {step * worst:.3g} s")
        turned = np.flatnonzero(_looks_like_impact(value[:, rows[0]], touches, _DEEP * sigma))
        if len(turned):
            found.append(f"'{name}' turns at its plane at {step * (turned[0] + 1.5):.3g} s: is an impact not stated?")
        pushes = force[:, rows].sum(axis=1)
        least = int(np.argmin(pushes))
        if pushes[least] < -_PULLS * np.abs(pushes).max():
            found.append(f"'{name}' would have to pull with {-pushes[least]:.3g} N at {step * (least + 1):.3g} s")
    return tuple(found)


def long_stages(problem: MechanismProblem, point: Estimate) -> tuple[str, ...]:
    """In words: impacts after which a joint turns so far in a stage that midpoints do not follow it."""
    step, found = problem.log.step, list[str]()
    for impact in problem.mechanism.contacts.impacts:
        first = max(int(point.x[impact.instant] / step), 0)
        way = np.abs(np.diff(point.q[first : first + _AFTER], axis=0)).max(initial=0.0)
        if way > _FAR:
            found.append(
                f"after the impact at {impact.time:.4g} s a joint turns {way:.2g} rad in a stage of {1e3 * step:.3g} "
                "ms, too far for instants and intervals that hold: take shorter stages (bayesian.step)"
            )
    return tuple(found)


def _looks_like_impact(height: Array, touches: BoolArray, unsure: Array) -> BoolArray:
    """(N - 3,) whether a height (N,) jumps in speed between stages 1 and 2, 2 and 3, ... as an impact would have it.

    Where the point is within a stage's way from its plane, and its speed changes as it does nowhere else.
    """
    bend = height[2:] - 2.0 * height[1:-1] + height[:-2]
    jump = bend[:-1] + bend[1:]
    known = touches[:-3] | touches[1:-2] | touches[2:-1] | touches[3:]
    usual = np.quantile(np.abs(jump[~known]), _USUAL) if (~known).any() else 0.0
    near = np.minimum(height[1:-2], height[2:-1]) < np.abs(jump) + unsure[1:-2]
    return np.asarray(~known & near & (jump > _SUDDEN * usual + unsure[1:-2]))


def _group_by_name(touching: tuple[Touching, ...]) -> dict[str, list[Touching]]:
    found: dict[str, list[Touching]] = {}
    for one in touching:
        found.setdefault(one.name, []).append(one)
    return found
