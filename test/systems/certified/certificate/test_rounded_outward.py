# SPDX-License-Identifier: Apache-2.0
"""Every bound of the proof makes up for its roundings: one factor, here so large that its absence would show.

With INFLATE at 1.1 each bound has to be 1.1 times what it was, or more; where it was a divisor it would be less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from sysid_nodes.intervals import Affine, TimeEnclosure
from sysid_nodes.kernel.tree import Tree
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.robust_control import Gains
from sysid_nodes.results.certificate import Entry
from sysid_nodes.robots import MotorConstants
from sysid_nodes.systems.certified.certificate import (
    closed_loop,
    disturbance,
    handover,
    memory,
    motion,
    own_stop,
    shift,
    tracking,
)
from sysid_nodes.systems.certified.certificate.closed_loop import Assumed, ClosedLoop, Disturbance, Rates
from sysid_nodes.systems.certified.certificate.recursion import dynamics

PACKAGE = "sysid_nodes.systems.certified.certificate"
LARGE = 1.1
TWO = np.ones(2)
BOTH = np.ones((2, 2))
MATRIX = np.tile(np.array([[9.0, 1.0], [1.0, 8.0]]), (2, 1, 1))
ARM = Tree(
    np.array([-1, 0]), np.tile(np.eye(3), (2, 1, 1)), np.array([[0.0, 0.0, 0.1], [0.4, 0.0, 0.0]]),
    np.tile([0.0, 1.0, 0.0], (2, 1)), np.ones(2, dtype=bool), np.array([0.0, 0.0, -9.81]),
)  # fmt: skip
THETA = np.tile([2.0, 0.5, 0.1, 0.0, 0.1, 0.0, 0.2, 0.0, 0.0, 0.3], (2, 1))
MOTOR = MotorConstants(TWO, 2.0 * TWO, 6.0 * TWO, TWO)
BOX = ModelBox(THETA, 0.1 * np.abs(THETA), MOTOR, MotorConstants(*(0.1 * np.ones((4, 2)))))
GAINS = Gains(4.0, 500.0 * TWO, 1e-3 * TWO, 1e-3 * TWO, 0.1 * TWO)
LOOP = ClosedLoop(
    4.0, 500.0 * TWO, 50.0 * TWO, TWO, 2.0 * TWO, TWO, 6.0 * TWO, 7.0 * TWO, 0.01 * TWO, 0.01, 0.001, 0.001
)
FOUND = Disturbance(BOTH, BOTH, MATRIX, 0.1 * MATRIX, BOTH, BOTH, 0.01 * BOTH)
ASSUMED = Assumed(0.1 * TWO, 0.1 * TWO, BOTH, TWO, 0.1 * BOTH, 0.1 * BOTH)
ENTRY = Entry(0.1, 0.1, 0.1, TWO, 0.1, 0.1, TWO, TWO)
SIZE = shift.Magnitudes(*(BOTH for _ in range(5)))
CHANGE = shift.Change(0.01 * BOTH, 0.01 * BOTH, 0.01 * BOTH)
FORM = Affine(BOTH, np.ones((5, 2, 2)), BOTH)


def desired() -> motion.Desired:
    part = TimeEnclosure(0.3 * BOTH, 0.1 * BOTH, 0.1 * BOTH)
    return motion.Desired(np.array([0.0, 0.5, 1.0]), part, part, part)


def demanded(*, delayed: bool) -> list[Any]:
    found = disturbance.demand(ARM, desired(), BOTH, BOX, GAINS, replace(LOOP, delayed=delayed), ASSUMED)
    split = [] if found.split is None else [found.split.steady, found.split.slope, found.split.rest]
    one = found.disturbance
    return [found.nominal_torque, one.torque, one.held, one.inertia, one.inertia_error, one.inertia_root, *split]


def magnitudes() -> Sequence[Any]:
    state = motion.motion(desired(), ASSUMED.tube(LOOP), 4.0)
    bodies = dynamics(ARM, state.q, state.qd, state.qd_a, state.qdd)
    return disturbance._magnitudes(bodies, BOTH, BOTH, boxed=False)[:4]


def fields(entry: Entry) -> list[Any]:
    return [entry.level, entry.position, entry.speed, entry.position_norm, entry.reference_norm, entry.position_error,
            entry.reference_error]  # fmt: skip


def propagated() -> list[Any]:
    """From a level above and below what it settles at, a position error that fades, and one that is pushed."""
    rates = Rates(0.01 * TWO, TWO, TWO, TWO)
    return [
        x
        for start in (0.0, 1e3)
        for x in tracking.propagate(
            LOOP, FOUND, ASSUMED, rates, np.array([0.0, 0.5, np.inf]), replace(ENTRY, level=start, position=start)
        )
    ]


CASES: dict[str, tuple[str, Callable[[], Sequence[Any]]]] = {
    "ellipsoids": ("closed_loop", lambda: ASSUMED.ellipsoids(LOOP)[:2]),
    "robust input": ("closed_loop", lambda: [closed_loop.robust_input(LOOP, ASSUMED.tube(LOOP))]),
    "rates": ("closed_loop", lambda: closed_loop.rates(LOOP, FOUND, ASSUMED, ENTRY)),
    "spectral": ("closed_loop", lambda: [closed_loop._spectral(LOOP, MATRIX)]),
    "kernel": ("memory", lambda: memory.kernel(np.array([0.002, 0.02, 0.5]), np.array(9.0), np.array(90.0), 0.004)),
    "peak": ("memory", lambda: [memory.peak_rate(np.array([0.0, 0.1]), 9.0, 90.0)]),
    "answer": ("memory", lambda: [memory.Intervals(np.array([0.0, 0.5, 1.0]), 0.01).answer(TWO, BOTH, BOTH)]),
    "lasting": ("memory", lambda: [memory.Intervals(np.array([0.0, 0.5, 1.0]), 0.01).bounded_answer(BOTH, TWO)]),
    "demand": ("disturbance", lambda: demanded(delayed=False)),
    "delayed demand": ("disturbance", lambda: demanded(delayed=True)),
    "magnitudes": ("disturbance", magnitudes),
    "rest": ("handover", lambda: fields(handover.at_rest(ARM, BOX, GAINS, 0.01, 0.01))),
    "hand-over": ("handover", lambda: fields(handover.handover_entry(ARM, BOX, ENTRY, TWO, 4.0, 0.01))),
    "inertia of any posture": ("handover", lambda: [handover._still_inertia(ARM, BOX)]),
    "largest": ("motion", lambda: [motion.largest(FORM), motion.deviation(FORM)]),
    "stop": ("own_stop", lambda: [own_stop.OwnStop(TWO, 0.1, 1.0, 0.1)._way(BOTH)]),
    "torque change": ("shift", lambda: [shift.torque_change(ARM, THETA, SIZE, CHANGE)]),
    "coriolis": ("shift", lambda: [shift.coriolis(ARM, THETA, BOTH, BOTH)]),
    "drift": ("shift", lambda: [shift.inertia_drift(ARM, THETA, BOTH, TWO)]),
    "tracking": ("tracking", propagated),
    "stationary": (
        "tracking",
        lambda: tracking._stationary(LOOP, FOUND, ASSUMED, Rates(0.01 * TWO, TWO, TWO, TWO), np.array([1.0])),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_bound_is_rounded_outward(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, bounds = CASES[name]
    before = [np.asarray(x) for x in bounds()]
    monkeypatch.setattr(import_module(f"{PACKAGE}.{module}"), "INFLATE", LARGE)
    for k, (exact, outward) in enumerate(zip(before, bounds(), strict=True)):
        assert (exact > 0.0).any(), k
        assert (np.asarray(outward) >= LARGE * exact * (1.0 - 1e-6)).all(), (k, exact, outward)
