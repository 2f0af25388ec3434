# SPDX-License-Identifier: Apache-2.0
"""Delay of torques from a log: a known one found, in spite of offsets, noise and jitter; bad logs refused."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.systems.certified.control.torque_delay import measure_delay

PERIOD = 1e-3


def log(delay, *, jitter=0.0, count=3000, seed=0, noise=0.02):
    """Readings at 1 kHz of commands that are held and act ``delay`` or up to ``jitter`` more behind their stamps."""
    rng = np.random.default_rng(seed)
    t = 5.0 + PERIOD * np.arange(count)
    torque = np.cumsum(rng.normal(0.0, 0.1, (count, 3)), axis=0)
    late = delay + jitter * (np.arange(count) // 700 % 2)
    acts = t + late
    index = np.searchsorted(acts, t + 1e-9) - 1
    effort = torque[np.maximum(index, 0)] * 1.02 + [2.0, -1.0, 0.5] + rng.normal(0.0, noise, (count, 3))
    return t, effort, t, torque


@pytest.mark.parametrize(("delay", "age"), [(0.0, 0.0), (0.001, 0.001), (0.0023, 0.003), (0.004, 0.004)])
def test_a_delay_is_found_as_the_age_that_readings_show(delay, age):
    found = measure_delay(*log(delay))
    assert found.typical == pytest.approx(age, abs=1e-9) and found.longest == pytest.approx(age, abs=1e-9)
    assert found.jitter == pytest.approx(0.0, abs=1e-9) and found.clear >= found.stretches - 1
    assert found.period == pytest.approx(PERIOD)


def test_jitter_is_what_stretches_differ_by():
    found = measure_delay(*log(0.002, jitter=0.002))
    assert found.longest == pytest.approx(0.004) and found.jitter == pytest.approx(0.002)


def test_a_robot_that_rests_tells_nothing():
    t, effort, stamps, torque = log(0.002)
    with pytest.raises(SamplesError, match="no stretch of the log"):
        measure_delay(t, np.ones_like(effort), stamps, np.ones_like(torque))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t, e, s, c: (t, e[:, :2], s, c), "differ"),
        (lambda t, e, s, c: (t[::-1], e, s, c), "must increase"),
        (lambda t, e, s, c: (t[:50], e[:50], s, c), "too few"),
    ],
)
def test_bad_logs_are_refused(change, message):
    with pytest.raises(SamplesError, match=message):
        measure_delay(*change(*log(0.002)))
