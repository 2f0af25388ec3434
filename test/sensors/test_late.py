# SPDX-License-Identifier: Apache-2.0
"""Readings of a stream that is late, moved to their stamps by the rates at which they change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio
import pytest

from sysid_nodes.robots import load_robot
from sysid_nodes.sensors import build_sensors
from sysid_nodes.sensors.gyroscope import GyroscopeConfig
from sysid_nodes.sensors.late import LateSensor, advance, follow_rates, with_rates
from sysid_nodes.sensors.suite import SensorsConfig
from sysid_nodes.signals.channel_config import ValueKind
from sysid_nodes.signals.samples import Samples

DT, LATE = 0.01, 4e-3
STEPS = np.delete(np.arange(40), [7, 8, 21])  # some steps are without a reading


def readings(kind: ValueKind, late: float) -> Samples:
    """Of slow smooth motion, true a time [s] before the stamps."""
    t = DT * STEPS - late
    vector = np.column_stack([np.sin(3.0 * t), 0.5 * np.cos(4.0 * t), 0.2 * t])
    angles = 0.5 * np.column_stack([np.sin(2.0 * t), np.cos(2.5 * t), t])
    turns = np.array([pinocchio.Quaternion(pinocchio.exp3(angle)).coeffs() for angle in angles])
    parts = {
        ValueKind.VECTOR: (vector,),
        ValueKind.ROTATION: (turns,),
        ValueKind.POSE: (vector, turns),
    }[kind]
    return Samples(STEPS, np.column_stack(parts), np.ones(len(STEPS)))


def with_halves(late: float) -> Samples:
    """The vectors, with what they were half a step before each."""
    return replace(readings(ValueKind.VECTOR, late), halves=readings(ValueKind.VECTOR, late + 0.5 * DT).values)


@pytest.mark.parametrize("kind", list(ValueKind))
def test_what_is_advanced_by_its_delay_is_in_time(kind: ValueKind) -> None:
    """To a fiftieth of the change within the delay: slopes over 10 steps of waves of 1.6 s to 2 s are that exact, and
    not at the ends and beside gaps, where they are one-sided (a tenth)."""
    late, true = readings(kind, LATE), readings(kind, 0.0)
    found = advance(with_rates(late, kind, DT), kind, LATE)
    change = np.abs(late.values - true.values).max()
    wrong = np.abs(found.values - true.values).max(axis=1)
    assert wrong.max() < 0.15 * change
    assert np.median(wrong) < 0.02 * change


@pytest.mark.parametrize("late", [-6e-3, 6e-3])
def test_a_fast_swing_keeps_its_size_and_its_time(late: float) -> None:
    """20 Hz at 6 ms: to 0.13 %. Without what was read between steps, by the slope alone, it is 27 % off."""
    t, swing = DT * np.arange(60), lambda t: np.sin(40.0 * np.pi * t)[:, None]
    read = Samples(np.arange(60), swing(t - late), np.ones(60), halves=swing(t - 0.5 * DT - late))
    found = advance(with_rates(read, ValueKind.VECTOR, DT), ValueKind.VECTOR, late).values[1:-1]
    np.testing.assert_allclose(found, swing(t[1:-1]), atol=2e-3)
    read.halves[30] = np.nan  # between the steps 29 and 30
    away = np.abs(advance(with_rates(read, ValueKind.VECTOR, DT), ValueKind.VECTOR, late).values - swing(t))[1:-1, 0]
    assert set(np.flatnonzero(away > 2e-3) + 1) == {29, 30}


@pytest.mark.parametrize(("steps", "within"), [(1, 0.04), (2, 0.015)])
@pytest.mark.parametrize("late", [-3e-3, 2e-3, 5e-3])
def test_noise_is_of_about_one_size_at_every_delay(late: float, steps: int, within: float) -> None:
    """Of means over a step, as a gyroscope's, and over two by a triangle, as an accelerometer's, ten white readings a
    step: a delay that averages noise fits best. Of white readings at the steps it would be 14 % less at half a step."""
    white = np.random.default_rng(1).normal(size=200_000)
    kernel = np.ones(10) if steps == 1 else 10.0 - np.abs(np.arange(-9, 10))
    means = np.convolve(white, kernel, "valid")[: 19_000 * 10]
    values, before = means[10::10, None], means[5:-5:10, None]
    noise = Samples(np.arange(len(values)), values, np.ones(len(values)), halves=before)
    found = advance(with_rates(noise, ValueKind.VECTOR, DT), ValueKind.VECTOR, late)
    assert found.values[1:-1].std() == pytest.approx(values.std(), rel=within)


@pytest.mark.parametrize("kind", list(ValueKind))
def test_what_leaves_a_window_has_the_rates_that_the_whole_log_gives_it(kind: ValueKind) -> None:
    """Ten steps come at a time, those before the last twenty leave; one reading is none."""
    log = with_halves(0.0) if kind is ValueKind.VECTOR else readings(kind, 0.0)
    log.values[log.steps == 13, 0] = np.nan
    usable = log.take(log.usable)
    whole = with_rates(usable, kind, DT).rates
    window, first, left = log.between(0, 0), 0, []
    for stop in (10, 20, 30, 40):
        window = follow_rates(log.between(first, stop), window, kind, DT)
        leave = max(stop - 20 - first, 0)
        gone = window.between(0, leave)
        assert gone.rates is not None and window.rates is not None
        left.append(gone.rates[gone.usable])
        window, first = window.between(leave, stop), first + leave
    found = np.concatenate(left)
    assert whole is not None and len(found) == np.count_nonzero(usable.steps < 20)
    np.testing.assert_array_equal(found, whole[: len(found)])


def test_a_reading_alone_is_taken_as_in_time() -> None:
    alone = Samples(np.array([3, 30]), np.ones((2, 3)), np.ones(2))
    np.testing.assert_array_equal(with_rates(alone, ValueKind.VECTOR, DT).rates, 0.0)
    np.testing.assert_array_equal(advance(alone, ValueKind.VECTOR, LATE).values, alone.values)


def test_a_delay_that_is_exact_is_no_unknown() -> None:
    robot = load_robot("go2")
    by_name = {sensor.name: sensor for sensor in build_sensors(robot, SensorsConfig())}
    assert isinstance(by_name["gyroscope"], LateSensor)
    assert by_name["gyroscope"].parameters[-1].name == "gyroscope.delay_error"
    assert not isinstance(by_name["joint_position"], LateSensor)  # all others' delays are against the joints'
    exact = build_sensors(robot, SensorsConfig(gyroscope=GyroscopeConfig(delay_sigma=0.0)))
    assert not any(isinstance(sensor, LateSensor) and sensor.name == "gyroscope" for sensor in exact)
