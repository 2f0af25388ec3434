# SPDX-License-Identifier: Apache-2.0
"""Streams on a grid: the same numbers live and from a log, and readings of every quality."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.signals.alignment import Aligner, GridConfig
from sysid_nodes.signals.channel import ChannelSpec
from sysid_nodes.signals.channel_config import ChannelConfig, ValueKind
from sysid_nodes.signals.samples import AlignedSteps, join

GRID = GridConfig()
T0 = 1.7e9  # stamps as they are: seconds since 1970, rounded to 0.24 us
FAST = ChannelConfig(rate=500.0, max_gap=0.02)
SLOW = ChannelConfig(rate=100.0, max_gap=0.05)
CHANNELS = {
    "position": ChannelSpec(FAST, 2),
    "torque": ChannelSpec(replace(FAST, window="around"), 1),
    "mocap": ChannelSpec(SLOW, 7, ValueKind.POSE),
}

Message = tuple[str, float, np.ndarray]


def signal(name: str, t: float) -> np.ndarray:
    if name == "position":
        return np.array([np.sin(3.0 * t), np.cos(5.0 * t)])
    if name == "torque":
        return np.array([2.0 * t])
    half = 0.5 * 0.8 * t
    return np.array([0.3 * t, 0.1, -0.2 * t, 0.0, 0.0, np.sin(half), np.cos(half)])


def messages(
    duration: float = 1.0,
    rng: np.random.Generator | None = None,
    *,
    jitter: float = 0.0,
    loss: float = 0.0,
    delay: dict[str, float] | None = None,
) -> list[Message]:
    """Readings in the order of arrival; stamps right, arrivals late by a stream's delay and the jitter."""
    rng = rng or np.random.default_rng(0)
    found = []
    for name, spec in CHANNELS.items():
        for k in range(int(duration * spec.config.rate)):
            t = k / spec.config.rate
            arrival = t + (delay or {}).get(name, 0.0) + jitter * rng.exponential()
            if rng.uniform() >= loss:
                found.append((arrival, (name, T0 + t, signal(name, t))))
    return [message for _, message in sorted(found, key=lambda entry: entry[0])]


def feed(aligner: Aligner, stream: list[Message]) -> Aligner:
    for name, stamp, value in stream:
        aligner.push(name, stamp, value)
    return aligner


def collect(parts: list[AlignedSteps]) -> dict[str, np.ndarray]:
    """All steps of one segment as plain arrays."""
    assert {part.segment for part in parts} == {0}
    out: dict[str, np.ndarray] = {"times": np.concatenate([part.times for part in parts])}
    for name, spec in CHANNELS.items():
        joined = join([part.samples[name].shift(part.first) for part in parts], spec.width)
        out |= {f"{name} steps": joined.steps, f"{name} values": joined.values, f"{name} weights": joined.weights}
    return out


def test_values_are_the_signals_at_the_steps() -> None:
    aligner = feed(Aligner(CHANNELS, GRID), messages())
    (steps,) = aligner.take()
    assert len(steps) >= 96  # a second less what the triangle and the slowest stream wait for
    t = steps.times - T0
    np.testing.assert_allclose(t, 0.01 * np.arange(len(steps)), atol=1e-6)
    position, torque, mocap = (steps.samples[name] for name in CHANNELS)
    np.testing.assert_array_equal(position.steps, np.arange(len(steps)))
    # Stamps are rounded to 0.24 us, speeds are up to 5.
    np.testing.assert_allclose(position.values, [signal("position", x) for x in t], atol=5e-6)
    np.testing.assert_array_equal(torque.steps, np.arange(1, len(steps)))  # no triangle before the first reading
    np.testing.assert_allclose(torque.values[:, 0], 2.0 * t[1:], atol=5e-6)
    np.testing.assert_allclose(mocap.values, [signal("mocap", x) for x in t], atol=5e-6)
    assert aligner.findings() == []


def test_halves_are_the_signals_half_a_step_before() -> None:
    """Readings that only they need are kept for them; without a triangle before the first reading they are NaN."""
    channels = CHANNELS | {"torque": CHANNELS["torque"]._replace(halves=True)}
    aligner, parts = Aligner(channels, GRID), []
    for message in messages():
        feed(aligner, [message])
        parts += [steps.samples["torque"].shift(steps.first) for steps in aligner.take()]
    torque = join(parts, 1)
    assert torque.halves is not None
    np.testing.assert_array_equal(np.isnan(torque.halves[:, 0]), torque.steps == 1)
    np.testing.assert_allclose(torque.halves[1:, 0], 2.0 * (0.01 * torque.steps[1:] - 0.005), atol=5e-6)


def test_weights_count_no_reading_twice() -> None:
    (steps,) = feed(Aligner(CHANNELS, GRID), messages()).take()
    # Step and reading coincide: one reading. A triangle over ten readings takes five, those that fall to its step.
    np.testing.assert_allclose(steps.samples["position"].weights, 1.0)
    np.testing.assert_allclose(steps.samples["torque"].weights, np.sqrt(5.0), rtol=1e-4)
    slow = {"mocap": ChannelSpec(replace(SLOW, rate=25.0), 7, ValueKind.POSE)}
    aligner = Aligner(slow, GRID)
    for k in range(50):
        aligner.push("mocap", T0 + 0.04 * k, signal("mocap", 0.04 * k))
    aligner.flush()
    samples = aligner.take()[0].samples["mocap"]
    assert len(samples) == 4 * 49 + 1
    # Each of fifty readings serves four steps.
    assert np.sum(samples.weights**2) == pytest.approx(50.0, abs=1.0)
    coloured = {"torque": ChannelSpec(replace(FAST, window="around", white=False), 1)}
    (steps,) = feed(Aligner(coloured, GRID), messages()).take()
    np.testing.assert_array_equal(steps.samples["torque"].weights, 1.0)


def test_noise_of_the_grid_is_as_small_as_its_weights_say() -> None:
    rng = np.random.default_rng(3)
    stamps = np.cumsum(rng.uniform(0.5, 1.5, 20_000)) * 0.002
    config = replace(FAST, window="before")
    aligner = Aligner({"noise": ChannelSpec(config, 1)}, GRID)
    for stamp, value in zip((T0 + stamps).tolist(), rng.normal(size=(len(stamps), 1)), strict=True):
        aligner.push("noise", stamp, value)
    samples = join([part.samples["noise"] for part in aligner.take()], 1)
    whitened = samples.values[:, 0] * samples.weights
    # 4000 steps; the cap on shared edge readings makes it a little conservative, never optimistic.
    assert 0.85 < np.mean(whitened**2) < 1.0 + 5.0 * np.sqrt(2.0 / len(whitened))


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), jitter=st.sampled_from([0.0, 0.003, 0.03]), loss=st.sampled_from([0.0, 0.2]))
def test_live_and_from_a_log_are_the_same_numbers(seed: int, jitter: float, loss: float) -> None:
    """However the readings are handed over and whenever steps are taken, out of order, late and lost ones included."""
    rng = np.random.default_rng(seed)
    stream = messages(0.5, rng, jitter=jitter, loss=loss)
    batch = feed(Aligner(CHANNELS, GRID), stream)
    batch.flush()
    live, parts = Aligner(CHANNELS, GRID), []
    for message in stream:
        feed(live, [message])
        if rng.uniform() < 0.1:
            parts += live.take()
            live.findings()
    live.flush()
    parts += live.take()
    expected = collect(list(batch.take()))
    for key, values in collect(parts).items():
        np.testing.assert_array_equal(values, expected[key], err_msg=key)
    assert live.rejected == batch.rejected


def test_out_of_order_and_duplicates_make_no_difference_within_the_wait() -> None:
    stream = messages(0.5)
    rng = np.random.default_rng(1)
    # Blocks of 4 ms shuffled, every reading twice; the first stays the first, for it starts the grid.
    mixed = stream[:1]
    for k in range(1, len(stream), 4):
        block = stream[k : k + 4] * 2
        mixed += [block[index] for index in rng.permutation(len(block))]
    config = {name: spec._replace(config=replace(spec.config, disorder=0.005)) for name, spec in CHANNELS.items()}
    tidy, untidy = Aligner(CHANNELS, GRID), Aligner(config, GRID)
    feed(tidy, stream).flush()
    feed(untidy, mixed).flush()
    expected, found = collect(list(tidy.take())), collect(list(untidy.take()))
    for key in expected:
        np.testing.assert_array_equal(found[key], expected[key])
    assert untidy.rejected["position"]["duplicate stamp"] >= 200


def test_a_stream_that_arrives_20_ms_late_loses_nothing() -> None:
    prompt = feed(Aligner(CHANNELS, GRID), messages())
    late = feed(Aligner(CHANNELS, GRID), messages(delay={"mocap": 0.02}))
    prompt.flush(), late.flush()
    expected, found = collect(list(prompt.take())), collect(list(late.take()))
    np.testing.assert_array_equal(found["mocap values"], expected["mocap values"])
    assert late.findings() == []


def test_stamped_delay_is_taken_off() -> None:
    channels = CHANNELS | {"mocap": ChannelSpec(replace(SLOW, delay=0.02), 7, ValueKind.POSE)}
    stream = [(name, stamp + 0.02 * (name == "mocap"), value) for name, stamp, value in messages()]
    (steps,) = feed(Aligner(channels, GRID), stream).take()
    mocap = steps.samples["mocap"]
    np.testing.assert_allclose(mocap.values, [signal("mocap", x - T0) for x in steps.times[mocap.steps]], atol=1e-5)


def test_gaps_shorter_than_the_limit_are_bridged_longer_ones_are_not() -> None:
    keep = [
        (name, stamp, value)
        for name, stamp, value in messages()
        if not (name == "mocap" and (0.195 < stamp - T0 < 0.225 or 0.495 < stamp - T0 < 0.595))
    ]
    aligner = feed(Aligner(CHANNELS, GRID), keep)
    (steps,) = aligner.take()
    missing = np.setdiff1d(np.arange(len(steps)), steps.samples["mocap"].steps)
    np.testing.assert_array_equal(missing, np.arange(50, 60))
    np.testing.assert_array_equal(steps.samples["position"].steps, np.arange(len(steps)))


def test_a_dead_stream_holds_nothing_up_for_longer_than_the_wait() -> None:
    stream = messages(2.0)
    aligner = Aligner(CHANNELS, GRID)
    behind = []
    for name, stamp, value in stream:
        if name == "mocap" and stamp - T0 > 0.5:
            continue
        feed(aligner, [(name, stamp, value)])
        closed = aligner.take()
        if closed:
            behind.append((stamp - T0, stamp - closed[-1].times[-1]))
    times, lag = np.array(behind).T
    # Alive: the triangle and one reading. Dead: the wait. Given up after max_pause: as if it were not there.
    assert lag[times < 0.5].max() < 0.021
    assert lag.max() < GRID.wait + 0.012
    assert lag[times > 1.1].max() < 0.021
    assert [finding.kind for finding in aligner.findings()] == ["off"]


@pytest.mark.parametrize("ahead", [0.3, 5.0, -5.0, -0.3])
def test_one_wrong_clock_does_not_stop_the_others(ahead: float) -> None:
    stream = [(name, stamp + ahead * (name == "mocap"), value) for name, stamp, value in messages(2.0)]
    aligner = feed(Aligner(CHANNELS, GRID), stream)
    parts = aligner.take()
    assert {part.segment for part in parts} <= {0, 1}  # whoever speaks first may turn out to be the wrong one
    last = parts[-1]
    assert last.times[-1] - T0 > 1.9
    tail = last.samples["position"].between(len(last) - 100, len(last))
    assert len(tail) == 100
    named = {finding.subject: finding.kind for finding in aligner.findings()}
    assert named == {"mocap": "delayed" if ahead == -0.3 else "clock"}


def test_a_pause_of_all_streams_starts_a_new_segment() -> None:
    stream = messages(1.0)
    stream += [(name, stamp + 10.0, value) for name, stamp, value in messages(2.0)]
    first, second = feed(Aligner(CHANNELS, GRID), stream).take()
    assert (first.segment, second.segment, second.first) == (0, 1, 0)
    assert len(first) <= 100
    # Half a second is spent on being sure that this is the clock now.
    assert second.times[0] - T0 == pytest.approx(10.5, abs=0.02)
    assert second.times[-1] - T0 > 11.9


def test_a_clock_set_back_starts_a_new_segment() -> None:
    stream = [(name, stamp + 100.0, value) for name, stamp, value in messages(1.0)] + messages(2.0)
    parts = feed(Aligner(CHANNELS, GRID), stream).take()
    assert [part.segment for part in parts] == [0, 1]
    assert parts[1].times[0] - T0 == pytest.approx(0.5, abs=0.02)


def test_a_lone_absurd_stamp_is_nothing() -> None:
    stream = messages()
    bad = [T0 + 1e6, T0 - 1e6, float("nan"), float("inf"), 0.0, -1.0]
    for k, stamp in enumerate(bad):
        stream.insert(200 * (k + 1), ("position", stamp, np.zeros(2)))
    aligner = feed(Aligner(CHANNELS, GRID), stream)
    (steps,) = aligner.take()
    assert len(steps) >= 96
    assert aligner.rejected["position"] == {"stamp of another clock": 2, "absurd stamp": 4}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (np.full(7, np.nan), "not finite"),
        (np.array([np.inf, 0, 0, 0, 0, 0, 1.0]), "not finite"),
        (np.array([1e7, 0, 0, 0, 0, 0, 1.0]), "absurd value"),
        (np.zeros(7), "not a rotation"),
        (np.zeros(6), "wrong length"),
        (np.zeros((7, 1)), "wrong length"),
    ],
)
def test_garbage_is_counted_and_left_out(value: np.ndarray, reason: str) -> None:
    stream = [(name, stamp, value if name == "mocap" else good) for name, stamp, good in messages()]
    aligner = feed(Aligner(CHANNELS, GRID), stream)
    (steps,) = aligner.take()
    assert len(steps.samples["mocap"]) == 0
    assert aligner.rejected["mocap"] == {reason: 100}
    assert [finding.kind for finding in aligner.findings()] == ["garbage"]


def test_a_quaternion_may_change_its_sign() -> None:
    rng = np.random.default_rng(0)
    stream = []
    for name, stamp, value in messages():
        if name == "mocap":
            value = np.concatenate([value[:3], value[3:] * rng.choice([-1.0, 1.0]) * 1.001])
        stream.append((name, stamp + 0.004 * (name == "mocap"), value))
    (steps,) = feed(Aligner(CHANNELS, GRID), stream).take()
    mocap = steps.samples["mocap"]
    t = steps.times[mocap.steps] - T0 - 0.004
    expected = np.array([signal("mocap", x) for x in t])[:, 3:]
    np.testing.assert_allclose(np.abs(np.sum(mocap.values[:, 3:] * expected, axis=1)), 1.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(mocap.values[:, 3:], axis=1), 1.0, atol=1e-14)


def test_memory_is_bounded() -> None:
    aligner = Aligner(CHANNELS, GridConfig(most_steps=50))
    feed(aligner, messages(5.0))
    (steps,) = aligner.take()
    assert len(steps) == 50
    assert aligner.dropped > 400
    assert steps.times[-1] - T0 > 4.9
    for channel in aligner._channels.values():
        assert len(channel._stamps) < 60


def test_disabled_and_unknown_streams_are_ignored() -> None:
    channels = CHANNELS | {"mocap": ChannelSpec(replace(SLOW, enabled=False), 7, ValueKind.POSE)}
    aligner = feed(Aligner(channels, GRID), messages())
    aligner.push("lidar", T0, np.zeros(3))
    assert set(aligner.take()[0].samples) == {"position", "torque"}
    assert aligner.ignored == {"mocap": 100, "lidar": 1}


@pytest.mark.parametrize(
    ("channels", "message"),
    [
        ({}, "no stream is enabled"),
        ({"imu": ChannelSpec(replace(FAST, window="before"), 4, ValueKind.ROTATION)}, "its window must be 'point'"),
        ({"imu": ChannelSpec(FAST, 3, ValueKind.ROTATION)}, "cannot hold 3 numbers as rotation"),
        ({"imu": ChannelSpec(FAST, 0)}, "cannot hold 0 numbers as vector"),
    ],
)
def test_bad_channels(channels: dict[str, ChannelSpec], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Aligner(channels, GRID)
