# SPDX-License-Identifier: Apache-2.0
"""Means over a window against fine numerical integration of the signal interpolated linearly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sysid_nodes.signals.channel_config import Window
from sysid_nodes.signals.window_mean import window_mean

DT = 0.01

KERNELS = {
    Window.BEFORE: lambda x: (x >= -DT) & (x <= 0.0),
    Window.AFTER: lambda x: (x >= 0.0) & (x <= DT),
    Window.AROUND: lambda x: np.maximum(1.0 - np.abs(x) / DT, 0.0),
}


def stamps_around(rng: np.random.Generator, spacing: float) -> np.ndarray:
    return np.cumsum(rng.uniform(0.3, 1.7, int(0.06 / spacing)) * spacing) - 0.03


@pytest.mark.parametrize("window", KERNELS)
@pytest.mark.parametrize("spacing", [0.0007, 0.002, 0.004, 0.012])
def test_mean_is_the_integral_of_the_interpolated_signal(window: Window, spacing: float) -> None:
    rng = np.random.default_rng(1)
    stamps = stamps_around(rng, spacing)
    signal = rng.normal(size=len(stamps))
    mean = window_mean(stamps, 0.0, DT, window, max_gap=1.0)
    assert mean is not None
    fine = np.linspace(-DT, DT, 200_001)
    kernel = KERNELS[window](fine).astype(float)
    expected = np.sum(kernel * np.interp(fine, stamps, signal)) / kernel.sum()
    value = mean.weights @ signal[mean.first : mean.first + len(mean.weights)]
    assert value == pytest.approx(expected, abs=1e-4)  # the sum over 1e5 points errs by 1e-5 of the signal at each end
    assert (mean.weights >= 0.0).all()


@pytest.mark.parametrize("window", KERNELS)
@pytest.mark.parametrize("spacing", [0.0007, 0.002, 0.004, 0.012])
def test_means_of_means_are_exact_for_a_signal_that_is_held(window: Window, spacing: float) -> None:
    rng = np.random.default_rng(2)
    stamps = stamps_around(rng, spacing)
    signal = rng.normal(size=len(stamps))
    mean = window_mean(stamps, 0.0, DT, window, max_gap=1.0, averaged=True)
    assert mean is not None
    fine = np.linspace(-DT, DT, 200_001)
    kernel = KERNELS[window](fine).astype(float)
    held = signal[np.searchsorted(stamps, fine)]  # the sample at the end of an interval is its mean
    expected = np.sum(kernel * held) / kernel.sum()
    value = mean.weights @ signal[mean.first : mean.first + len(mean.weights)]
    assert value == pytest.approx(expected, abs=1e-3)  # each jump is off by up to one point in 1e5, of some 30 jumps
    assert window_mean(stamps, 0.0, DT, window, max_gap=0.1 * spacing, averaged=True) is None


def test_a_point_of_means_is_the_mean_that_holds_there() -> None:
    stamps = np.array([0.0, 0.01, 0.02])
    assert window_mean(stamps, 0.012, DT, Window.POINT, 0.02, averaged=True) == (2, np.ones(1))
    assert window_mean(stamps, 0.01, DT, Window.POINT, 0.02, averaged=True) == (1, np.ones(1))


@given(
    time=st.floats(-0.01, 0.01),
    window=st.sampled_from(list(Window)),
    spacing=st.sampled_from([0.001, 0.002, 0.005, 0.01]),
    slope=st.floats(-10.0, 10.0),
)
def test_a_straight_line_is_averaged_exactly(time: float, window: Window, spacing: float, slope: float) -> None:
    stamps = np.arange(-0.05, 0.05, spacing)
    mean = window_mean(stamps, time, DT, window, max_gap=0.02)
    assert mean is not None
    centre = {Window.BEFORE: -0.5 * DT, Window.AFTER: 0.5 * DT}.get(window, 0.0)
    value = mean.weights @ (1.0 + slope * stamps[mean.first : mean.first + len(mean.weights)])
    # Times closer to a stamp than a microsecond count as the stamp itself.
    assert value == pytest.approx(1.0 + slope * (time + centre), abs=1e-5 + 1e-6 * abs(slope))


def test_point_takes_the_sample_at_the_step_or_its_neighbours() -> None:
    stamps = np.array([0.0, 0.01, 0.02])
    assert window_mean(stamps, 0.01, DT, Window.POINT, 0.02) == (1, np.ones(1))
    between = window_mean(stamps, 0.0125, DT, Window.POINT, 0.02)
    assert between is not None and between.first == 1
    np.testing.assert_allclose(between.weights, [0.75, 0.25])


@pytest.mark.parametrize("window", list(Window))
@pytest.mark.parametrize("time", [-0.02, 0.06, 0.0999])
def test_windows_beyond_the_samples_or_across_a_gap_have_no_mean(window: Window, time: float) -> None:
    stamps = np.concatenate([np.arange(0.0, 0.05, 0.004), np.arange(0.08, 0.098, 0.004)])
    assert window_mean(stamps, time, DT, window, max_gap=0.02) is None


def test_second_differences_are_means_of_the_acceleration_around() -> None:
    """Why torques and accelerometers use AROUND: (q(dt) - 2 q(0) + q(-dt)) / dt^2 is that mean, for any q."""
    stamps = np.linspace(-0.02, 0.02, 4001)
    mean = window_mean(stamps, 0.0, DT, Window.AROUND, 0.02)
    assert mean is not None

    def q(t: np.ndarray) -> np.ndarray:
        return np.sin(200.0 * t + 0.5) + 30.0 * np.maximum(t - 0.003, 0.0)  # a hit at 3 ms

    used = stamps[mean.first : mean.first + len(mean.weights)]
    smooth = mean.weights @ (-(200.0**2) * np.sin(200.0 * used + 0.5))
    hit = 30.0 * (1.0 - 0.3) / DT  # an impulse weighted by the triangle
    second = (q(np.array(DT)) - 2.0 * q(np.array(0.0)) + q(np.array(-DT))) / DT**2
    assert second == pytest.approx(smooth + hit, rel=1e-6)
