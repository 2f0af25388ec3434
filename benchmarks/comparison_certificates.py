# SPDX-License-Identifier: Apache-2.0
"""Which motions of the comparison a method's bounds certify, and how fast they may be."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.comparison_task import Task
from sysid_nodes.data.scene import Scene
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.results.certificate import Certificate
from sysid_nodes.systems.certified.search.planner import Planner

_STEP = 1.05
_STEPS = 48
"""Durations tried are powers of the step times the motion's own, up to this one."""

Certificates = tuple[Certificate, Certificate | None]


def certify(planner: Planner, task: Task, duration: float, box: ModelBox, scene: Scene) -> Certificates:
    """Certificates of both curves; None for the second where the first has no bound on the errors to start from."""
    first, second = task.curves(duration)
    one = planner.certifier.certify(first, box, planner.certifier.at_rest(box), scene)
    if one.envelope is None:
        return one, None
    return one, planner.certifier.certify(second, box, one.envelope.entry(0.5 * duration), scene)


def is_certified(certificates: Certificates) -> bool:
    """Whether the whole motion is."""
    one, two = certificates
    return one.certified and two is not None and two.certified


def fastest(planner: Planner, task: Task, box: ModelBox, scene: Scene) -> float:
    """Shortest certified duration of the motion, to a step of 5 %, slower ones taken to be certified too; inf if none.

    At most about ten times the motion's own duration is tried.
    """
    own = task.experiment.duration

    def good(step: int) -> bool:
        return is_certified(certify(planner, task, own * _STEP**step, box, scene))

    low, high = -3, 0  # the motion uses 90 % of the speed limits
    while not good(high):
        if high >= _STEPS:
            return float("inf")
        low, high = high, min(max(2 * high, 3), _STEPS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return float(own * _STEP**high)


def error_bound(task: Task, certificates: Certificates) -> Callable[[float], float] | None:
    """Over time, what certificates say of sqrt(sum I_a e^2); None where they say nothing."""
    one, two = (None if c is None else c.envelope for c in certificates)
    if one is None or two is None:
        return None
    half = 0.5 * task.experiment.duration

    def bound(t: float) -> float:
        envelope, at = (one, t) if t < half else (two, t - half)
        return float(envelope.position[envelope.interval(at)])

    return bound
