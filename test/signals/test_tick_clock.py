# SPDX-License-Identifier: Apache-2.0
"""Times from a millisecond counter: wrap, reset, jitter, drift."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sysid_nodes.signals.tick_clock import TickClock, TickClockConfig

START = 1.7e9  # receiver's time at power-on of the robot [s]


def run(clock: TickClock, ticks: np.ndarray, delays: np.ndarray, start: float = START) -> np.ndarray:
    sent = start + 1e-3 * ticks
    return np.array(
        [clock.time(int(tick) % 2**32, arrival) for tick, arrival in zip(ticks, sent + delays, strict=True)]
    )


def test_times_follow_the_counter_and_not_the_jittering_arrivals() -> None:
    rng = np.random.default_rng(0)
    ticks = 5000 + 2 * np.arange(5000)
    times = run(TickClock(), ticks, 0.001 + rng.exponential(0.005, len(ticks)))
    truth = START + 1e-3 * ticks
    # After settling: the shortest transport, 1 ms, cannot be told from the clock's offset.
    np.testing.assert_allclose(times[1000:] - truth[1000:], 0.001, atol=3e-4)
    # The spacing is the counter's to the permitted slew of 2e-3 (and stamps since 1970 resolve 0.24 us).
    np.testing.assert_allclose(np.diff(times[1000:]), 0.002, atol=6e-6)


def test_known_transport_is_taken_off() -> None:
    times = run(TickClock(TickClockConfig(transport=0.004)), np.arange(100), np.full(100, 0.004))
    np.testing.assert_allclose(times, START + 1e-3 * np.arange(100), atol=1e-6)


@given(
    steps=st.lists(st.integers(0, 50), min_size=2, max_size=200),
    seed=st.integers(0, 1000),
)
def test_times_rise_with_ticks_whatever_the_arrivals_do(steps: list[int], seed: int) -> None:
    ticks = 2**32 - 1000 + np.cumsum(steps)  # wraps on the way
    delays = np.random.default_rng(seed).exponential(0.2, len(ticks))
    clock = TickClock()
    times = run(clock, ticks, delays)
    assert clock.resets == 0
    rising = np.diff(ticks) > 0
    assert (np.diff(times)[rising] > 0.0).all()
    np.testing.assert_array_equal(np.diff(times)[~rising], 0.0)


def test_wrap_is_no_jump() -> None:
    ticks = 2**32 - 500 + 2 * np.arange(500)
    clock = TickClock()
    times = run(clock, ticks, np.full(500, 0.001))
    np.testing.assert_allclose(np.diff(times), 0.002, atol=1e-6)
    assert clock.resets == 0


def test_a_message_out_of_order_gets_its_own_earlier_time() -> None:
    clock = TickClock()
    first, second, late = (
        clock.time(tick, START + arrival) for tick, arrival in ((10, 0.01), (14, 0.014), (12, 0.015))
    )
    assert first < late < second
    assert late - first == pytest.approx(0.002, abs=1e-5)


@pytest.mark.parametrize("uptime", [60_000, 2**31 + 60_000], ids=["after a minute", "after a month"])
def test_a_restarted_robot_starts_a_new_clock(uptime: int) -> None:
    clock = TickClock()
    before = run(clock, uptime + 2 * np.arange(500), np.full(500, 0.001))
    again = START + 1e-3 * uptime + 31.0
    after = run(clock, 2 * np.arange(500), np.full(500, 0.001), start=again)
    assert clock.resets == 1
    assert after[0] > before[-1]
    np.testing.assert_allclose(after, again + 2e-3 * np.arange(500) + 0.001, atol=1e-5)


def test_a_stalled_network_is_no_reset() -> None:
    ticks = 2 * np.arange(4000)
    delays = np.full(4000, 0.001)
    delays[1000:2500] += np.maximum(3.0 - 0.002 * np.arange(1500), 0.0)  # nothing for 3 s, then all at once
    clock = TickClock()
    times = run(clock, ticks, delays)
    assert clock.resets == 0
    np.testing.assert_allclose(times[:1000] - START, 1e-3 * ticks[:1000] + 0.001, atol=1e-5)
    np.testing.assert_allclose(times[2500:] - START, 1e-3 * ticks[2500:] + 0.001, atol=1e-5)


def test_a_drifting_counter_is_followed() -> None:
    """A quartz that is 50 ppm fast is 3 ms off after a minute; the minimum over 10 s trails by 0.5 ms and jitter."""
    rng = np.random.default_rng(1)
    sent = 2e-3 * np.arange(30_000)
    ticks = np.round(1e3 * sent * (1.0 + 50e-6)).astype(int)
    clock = TickClock()
    delays = 0.001 + rng.exponential(0.002, len(sent))
    times = np.array([clock.time(int(k), START + s + d) for k, s, d in zip(ticks, sent, delays, strict=True)])
    error = times - (START + sent + 0.001)
    assert np.abs(error[1000:]).max() < 2e-3
