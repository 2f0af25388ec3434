# SPDX-License-Identifier: Apache-2.0
"""Contacts beside the feet's own force sensors: levels of readings in any unit, agreement, what tells nothing."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sysid_nodes.logs.foot_force_reader import FootForce
from sysid_nodes.reports.prime.foot_check import FootCheck, check_feet, contact_threshold
from sysid_nodes.reports.prime.series import PrimeSeries
from sysid_nodes.robots import load_robot

ROBOT = load_robot("go2")
T = 0.01 * np.arange(400)
PHASE = np.sin(2.0 * np.pi * T / 0.8)
DOWN = PHASE > 0.0
NORMAL = 90.0 * np.maximum(PHASE, 0.0)
"""A foot that is on the ground every second 0.4 s, and bears half a sine [N]."""


def series(down: Any = DOWN, normal: Any = NORMAL) -> PrimeSeries:
    """Of the first of four feet; the others hang."""
    values: dict[str, Any] = {item.name: np.zeros(0) for item in fields(PrimeSeries)}
    force, on_ground = np.zeros((len(T), 4, 3)), np.zeros((len(T), 4), dtype=bool)
    force[:, 0, 2], on_ground[:, 0] = normal, down
    contacts = tuple(point.name for point in ROBOT.contacts)
    return PrimeSeries(**values | {"t": T, "force": force, "on_ground": on_ground, "contacts": contacts})


def check(reading: np.ndarray, t: np.ndarray = T, **changes: Any) -> FootCheck:
    foot = ROBOT.contacts[0].name
    return check_feet(series(**changes), ROBOT, {foot: FootForce("/foot", t, reading)})[foot]


@given(st.floats(0.01, 1e4), st.floats(-1e3, 1e3), st.integers(0, 2**32 - 1))
def test_unit_offset_and_order_of_readings_do_not_matter(gain: float, offset: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    raw = NORMAL + 2.0 * rng.standard_normal(len(T))
    plain, order = check(raw), rng.permutation(len(T))
    scaled = check((offset + gain * raw)[order], T[order])
    assert plain.f1 is not None and scaled.f1 == pytest.approx(plain.f1, abs=1e-9)
    assert plain.f1 > 0.9  # a fifth of the largest load is left out at both ends
    assert scaled.correlation == pytest.approx(plain.correlation, abs=1e-6)
    assert scaled.threshold is not None and plain.threshold is not None
    assert scaled.threshold == pytest.approx(offset + gain * plain.threshold, rel=1e-6, abs=1e-6 * gain)


@pytest.mark.parametrize("walking", [0.0, 0.3, 0.9], ids=["stands", "walks now and then", "walks"])
def test_a_foot_that_stands_and_then_walks_has_many_levels_and_is_in_the_air_at_the_lowest(walking: float) -> None:
    """As real feet do: 240 while the robot stands, 300 to 1000 while it walks, 0 +- 5 in the air; whole numbers."""
    rng, count = np.random.default_rng(3), 2000
    walks = np.arange(count) > (1.0 - walking) * count
    air = walks & (np.sin(2.0 * np.pi * np.arange(count) / 80.0) < 0.0)
    loaded = np.where(walks, rng.gamma(4.0, 120.0, count) + 60.0, 240.0 + 10.0 * rng.standard_normal(count))
    threshold = contact_threshold(np.round(np.where(air, 5.0 * rng.standard_normal(count), loaded)))
    if not walking:
        assert threshold is None
    else:
        assert threshold is not None and 20.0 < threshold < 120.0


@given(st.integers(100, 5000), st.sampled_from(["normal", "uniform", "exponential"]), st.integers(0, 2**32 - 1))
def test_what_has_no_valley_tells_nothing(count: int, kind: str, seed: int) -> None:
    """A load that wanders; an exponential one crowds at the bottom without a gap above it."""
    assert contact_threshold(getattr(np.random.default_rng(seed), kind)(size=count)) is None


def test_contacts_that_are_another_foots_are_found_out() -> None:
    found = check(NORMAL, down=~DOWN, normal=NORMAL[::-1])
    assert found.f1 is not None and found.f1 < 0.05
    assert found.correlation is not None and found.correlation < 0.0


def test_a_late_sensor_costs_its_share() -> None:
    """80 ms of 400: a fifth of the true ones is missed and as many are wrong."""
    late, threshold = check(np.where(DOWN, 100.0, 0.0), T + 0.08), 0.8
    assert late.f1 == pytest.approx(threshold, abs=0.02)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("noise", ["normal", "uniform"])
def test_noise_alone_has_one_level(seed: int, noise: str) -> None:
    rng = np.random.default_rng(seed)
    found = check(90.0 + getattr(rng, noise)(size=len(T)), down=np.ones(len(T), dtype=bool))
    assert (found.threshold, found.f1, found.compared) == (None, None, len(T))


@pytest.mark.parametrize("values", [(50.0, 51.0), (0.0, 1.0, 2.0), (-3.0, -2.0, 0.0)])
def test_a_reading_that_rounds_to_and_fro_has_one_level(values: tuple[float, ...]) -> None:
    assert contact_threshold(np.array(values * 100)) is None


def test_a_switch_has_two() -> None:
    assert check(np.where(DOWN, 1.0, 0.0)).f1 == 1.0


@pytest.mark.parametrize("readings", [np.zeros(0), np.ones(1), np.ones(900), np.r_[np.zeros(999), 1.0], NORMAL[::5]])
def test_what_has_no_two_levels_has_no_threshold(readings: np.ndarray) -> None:
    assert contact_threshold(readings) is None


def test_stages_without_a_reading_are_not_compared() -> None:
    half = T < 2.0
    found = check(NORMAL[half], T[half])
    assert found.compared == pytest.approx(200, abs=2)  # the last reading serves two steps more
    nothing = check(np.full(len(T), np.nan))
    assert (nothing.compared, nothing.f1, nothing.correlation) == (0, None, None)
    assert check(NORMAL, T + 100.0).compared == 0


def test_a_sensor_that_is_stuck_has_no_correlation() -> None:
    assert check(np.full(len(T), 7.0)).correlation is None
