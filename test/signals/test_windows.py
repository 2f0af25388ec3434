# SPDX-License-Identifier: Apache-2.0
"""Windows: the stream and the array version agree, edges are shared, every sample is accounted for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_nodes.data import JointSamples
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.signals import Windower, cut
from sysid_nodes.signals.windows import INCOMPLETE


def samples_at(t):
    t = np.asarray(t, dtype=float)
    value = np.stack([np.arange(t.size), -np.arange(t.size)], axis=1).astype(float)
    return JointSamples(("a", "b"), t, value, value + 0.25, value + 0.5)


def stream(samples, duration, max_gap):
    windower = Windower(samples.names, duration, max_gap)
    pushed = zip(samples.t.tolist(), samples.q, samples.qd, samples.tau, strict=True)
    windows = [w for row in pushed if (w := windower.push(*row)) is not None]
    windower.interrupt(INCOMPLETE)
    return windows, windower


def test_windows_share_their_edge():
    windows, windower = stream(samples_at(1.0 + 0.01 * np.arange(26)), 0.1, 0.02)
    assert [(w.q[0, 0], w.q[-1, 0]) for w in windows] == [(0.0, 10.0), (10.0, 20.0)]
    assert windower.used == 21
    assert windower.rejected == {"incomplete window": 5}


def test_a_gap_discards_the_window_in_progress():
    t = np.concatenate([1.0 + 0.01 * np.arange(15), 2.0 + 0.01 * np.arange(11)])
    windows, windower = stream(samples_at(t), 0.1, 0.02)
    assert [(w.q[0, 0], w.q[-1, 0]) for w in windows] == [(0.0, 10.0), (15.0, 25.0)]
    assert windower.rejected == {"gap": 4}


def test_a_clock_that_restarts_discards_the_window_in_progress():
    windower = Windower(("a",), 0.1, 0.02)
    row = (np.zeros(1),) * 3
    for k in range(5):
        assert windower.push(10.0 + 0.01 * k, *row) is None
    emitted = [windower.push(1.0 + 0.01 * k, *row) for k in range(11)]
    assert windower.rejected == {"clock restart": 5}
    assert emitted[-1].t[0] == 1.0
    assert windower.windows == 1


def test_decimal_stamps_do_not_cost_a_sample():
    edges, _ = cut(samples_at(np.round(np.arange(1, 1002) * 0.001, 3)), 0.1, 0.02)
    assert edges.tolist() == [[100 * k, 100 * k + 100] for k in range(10)]


@settings(max_examples=100, deadline=None)
@given(
    steps=st.lists(st.one_of(st.floats(1e-4, 0.019), st.sampled_from([0.01, 0.02, 0.0200001, 0.5])), max_size=150),
    start=st.sampled_from([0.001, 1.0, 1.7e9]),
    duration=st.sampled_from([0.01, 0.05, 0.1, 0.0333]),
)
def test_cut_equals_the_stream(steps, start, duration):
    samples = samples_at(start + np.cumsum([0.0, *steps]))
    windows, windower = stream(samples, duration, 0.02)
    edges, rejected = cut(samples, duration, 0.02)
    assert rejected == windower.rejected
    assert len(edges) == len(windows) == windower.windows
    for (first, last), window in zip(edges, windows, strict=True):
        expected = samples.slice(first, last + 1)
        for field in ("t", "q", "qd", "tau"):
            np.testing.assert_array_equal(getattr(window, field), getattr(expected, field))
        assert window.t[-1] - window.t[0] >= duration - 1e-9
        assert np.diff(window.t).max() <= 0.02
    covered = {k for first, last in edges for k in range(first, last + 1)}
    assert windower.used == len(covered)
    assert len(covered) + sum(rejected.values()) == len(samples)


def test_no_samples_no_windows():
    edges, rejected = cut(samples_at([]), 0.1, 0.02)
    assert edges.shape == (0, 2)
    assert rejected == {}


@pytest.mark.parametrize(("duration", "max_gap"), [(0.0, 0.1), (-1.0, 0.1), (0.1, 0.0), (float("nan"), 0.1)])
def test_durations_must_be_positive(duration, max_gap):
    with pytest.raises(ConfigError, match="must be positive"):
        Windower(("a",), duration, max_gap)
    with pytest.raises(ConfigError, match="must be positive"):
        cut(samples_at([]), duration, max_gap)
