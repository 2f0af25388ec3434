# SPDX-License-Identifier: Apache-2.0
"""The sign that friction tells where a joint turns or starts, whatever else the torque does along the way."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from sysid_nodes.systems.interval.check.arm_fit import SURE
from sysid_nodes.systems.interval.check.friction_sign import STIFFNESS, braking_evidence, friction_turn

Array = npt.NDArray[np.float64]

T = 0.1 * np.arange(60)
RIPPLE = 0.1


def evidence(place: Array, reading: Array, others: Array | None = None) -> float:
    qd = np.gradient(place, T[: len(place)])
    turns = np.column_stack([friction_turn(place, qd, stiffness) for stiffness in STIFFNESS])
    others = np.gradient(qd)[:, None] if others is None else others
    return braking_evidence(T[: len(place)], place, reading, turns, others)


def start_from_rest() -> tuple[Array, Array]:
    """Rests for a second and turns one way ever after, with .15 N m of friction and a ripple of its place."""
    place = 0.1 * np.maximum(T - 1.0, 0.0) ** 2
    friction = 0.15 * friction_turn(place, np.gradient(place, T), 0.005)
    ripple = RIPPLE * np.sin(4.0 * place) + 0.001 * np.random.default_rng(0).normal(size=len(T))
    return place, friction + ripple


def test_friction_turns_over_its_travel_whatever_the_steps() -> None:
    """Dahl: 1 - 2 exp(-travel / stiffness) after a turn; the same in one step as in a hundred."""
    stiffness = 0.01
    coarse = friction_turn(np.array([0.0, 1.0, 1.0 - stiffness]), np.array([5.0, 0.0, 0.0]), stiffness)
    assert coarse == pytest.approx([1.0, 1.0, -1.0 + 2.0 * np.exp(-1.0)])
    fine = friction_turn(np.concatenate([[0.0], np.linspace(1.0, 1.0 - stiffness, 100)]), np.full(101, 5.0), stiffness)
    assert fine[-1] == pytest.approx(coarse[-1])
    assert friction_turn(np.zeros(2), np.array([-5.0, 0.0]), stiffness) == pytest.approx([-1.0, -1.0])


def test_a_start_from_rest_tells_the_sign_that_its_ripple_hides() -> None:
    place, reading = start_from_rest()
    found = evidence(place, reading)
    assert found > 2.0 * SURE
    assert evidence(place, -reading) == pytest.approx(-found)
    assert evidence(-place, 5.0 - reading) == pytest.approx(found)


def test_a_joint_that_turns_one_way_from_the_first_sample_says_nothing() -> None:
    place, reading = start_from_rest()
    moving = T > 1.5
    assert evidence(place[moving], reading[moving]) == 0.0


@pytest.mark.parametrize("size", [0.15, -0.15])
def test_what_comes_slowly_is_no_friction(size: float) -> None:
    """A sensor that warms up while the joint starts, and a load that another joint swings."""
    place, _ = start_from_rest()
    noise = 0.01 * np.random.default_rng(1).normal(size=len(T))
    assert abs(evidence(place, size * np.tanh(T - 2.0) + noise)) < SURE
    swung = np.sin(1.3 * T)
    assert abs(evidence(place, size * swung + noise, swung[:, None])) < SURE


def test_a_large_torque_that_the_model_just_misses_drowns_friction() -> None:
    """20 N m that are left over to 2 %: nobody knows masses better, and .15 N m of friction are nothing beside that."""
    place, reading = start_from_rest()
    large = np.sin(2.0 * T)
    assert evidence(place, reading + 20.0 * large, large[:, None]) < SURE


def test_of_a_long_run_the_windows_about_turns_are_looked_at() -> None:
    """Twenty seconds of one way, and the start from rest within them, count as the start alone."""
    place, reading = start_from_rest()
    t = 0.1 * np.arange(200)
    far = place[-1] + (t[60:] - t[59])
    rng = np.random.default_rng(2)
    q = np.concatenate([place, far])
    torque = np.concatenate([reading, 0.15 + RIPPLE * np.sin(4.0 * far) + 0.001 * rng.normal(size=140)])
    qd = np.gradient(q, t)
    turns = np.column_stack([friction_turn(q, qd, stiffness) for stiffness in STIFFNESS])
    assert braking_evidence(t, q, torque, turns, np.gradient(qd)[:, None]) > 2.0 * SURE
