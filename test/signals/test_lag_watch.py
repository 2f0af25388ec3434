# SPDX-License-Identifier: Apache-2.0
"""A stream that is stamped late is found by what another saw earlier of the same motion."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_nodes.signals.channel_config import ChannelConfig
from sysid_nodes.signals.lag_evidence import best_lag, evidence_of_places, evidence_of_turns
from sysid_nodes.signals.lag_watch import ACCELEROMETER, GYROSCOPE, ORIENTATION, POSE, SPAN, LagWatch
from sysid_nodes.signals.samples import AlignedSteps, Samples
from sysid_nodes.signals.stream_health import StreamFault

DT = 0.01
FINE = 1e-3
CHANNELS = {
    GYROSCOPE: ChannelConfig(window="before"),
    ACCELEROMETER: ChannelConfig(window="around"),
    ORIENTATION: ChannelConfig(),
    POSE: ChannelConfig(delay=0.003),
}
MOUNT = pinocchio.rpy.rpyToMatrix(0.4, -0.3, 1.2)
"""Axes of the inertial sensor in the body."""
Streams = dict[str, np.ndarray]


def streams(duration: float, lag: float, *, sway: float = 1.0, bounce: float = 0.0, noise: float = 1.0) -> Streams:
    """Readings of a body that sways by some tenths of a rad/s and bounces by some millimetres; poses `lag` earlier."""
    rng = np.random.default_rng(0)
    t = np.arange(-0.3, duration + 0.3, FINE)
    rate = [0.3 * np.sin(9.1 * t), 0.25 * np.sin(5.7 * t + 1.0), 0.2 + 0.2 * np.sin(3.3 * t)]
    turn, path = np.eye(3), []
    for step in FINE * sway * np.array(rate).T:
        path.append(turn)
        turn = turn @ pinocchio.exp3(step)
    attitude = np.array(path)
    place = np.stack([0.3 * t, 1e-3 * bounce * np.sin(15.0 * t), 3e-3 * bounce * np.sin(30.0 * t + 0.5)], axis=-1)
    force = np.gradient(np.gradient(place, FINE, axis=0), FINE, axis=0) + np.array([0.0, 0.0, 9.81])
    at = np.round((np.arange(round(duration / DT)) * DT + 0.3) / FINE).astype(int)
    gyro = np.array([pinocchio.log3(attitude[k - 10].T @ attitude[k]) / DT for k in at]) @ MOUNT
    specific = np.array([MOUNT.T @ attitude[k].T @ force[k] for k in at])
    seen = at - round(lag / FINE)
    quaternions = [
        pinocchio.Quaternion(attitude[k] @ pinocchio.exp3(noise * 0.0087 * rng.normal(size=3))) for k in seen
    ]
    own = [pinocchio.Quaternion(attitude[k] @ MOUNT @ pinocchio.exp3(noise * 0.005 * rng.normal(size=3))) for k in at]
    count = len(at)
    return {
        GYROSCOPE: gyro + [0.01, -0.02, 0.005] + 0.005 * noise * rng.normal(size=(count, 3)),
        ACCELEROMETER: specific + 0.05 * noise * rng.normal(size=(count, 3)),
        ORIENTATION: np.array([q.coeffs() for q in own]),
        POSE: np.column_stack(
            [place[seen] + 2e-3 * noise * rng.normal(size=(count, 3)), [q.coeffs() for q in quaternions]]
        ),
    }


def piece(values: Streams, first: int, stop: int) -> AlignedSteps:
    """Steps first..stop-1, where rows are not NaN."""
    samples = {}
    for name, rows in values.items():
        known = np.flatnonzero(np.isfinite(rows[first:stop]).all(axis=1))
        samples[name] = Samples(known, rows[first:stop][known], np.ones(len(known)))
    return AlignedSteps(0, first, np.arange(first, stop) * DT, samples)


def follow(watch: LagWatch, values: Streams) -> LagWatch:
    count = len(next(iter(values.values())))
    for first in range(0, count, 7):
        watch.take(piece(values, first, min(first + 7, count)))
    return watch


def watched(values: Streams, *, worth: float = 0.01, **channels: ChannelConfig) -> LagWatch:
    return follow(LagWatch({**CHANNELS, **channels}, DT, worth), values)


def told(watch: LagWatch) -> tuple[str, float]:
    """Stream and delay of the one finding."""
    (finding,) = watch.findings(7.0)
    assert (finding.kind, finding.t) == (StreamFault.OFFSET, 7.0)
    assert f"stream '{finding.subject}' is stamped" in finding.message
    return finding.subject, float(finding.message.split("should be ")[1].split(" s")[0])


# -- evidence


@given(st.integers(-60, 60))
@settings(max_examples=12, deadline=None)
def test_any_lag_is_measured_by_turns_and_by_places(milliseconds: int) -> None:
    """Within four of the sigmas that are claimed, and a millisecond for the grid's interpolation."""
    values, lag = streams(SPAN, 1e-3 * milliseconds, bounce=1.0), 1e-3 * milliseconds
    turns = evidence_of_turns(values[GYROSCOPE], values[POSE][:, 3:], DT)
    places = evidence_of_places(values[ACCELEROMETER], values[ORIENTATION], values[POSE][:, :3], DT)
    for evidence in (turns, places):
        assert evidence is not None
        found = best_lag(evidence.curve, DT)
        assert found is not None
        assert abs(found.lag - lag) < 4.0 * found.sigma + 1e-3
        assert found.sigma < 3e-3
        assert evidence.score > 0.6


def test_without_noise_the_lag_is_exact() -> None:
    """But for what happens within a step: the curve's parabola between half steps."""
    values = streams(SPAN, 0.023, bounce=2.0, noise=0.0)
    turns = evidence_of_turns(values[GYROSCOPE], values[POSE][:, 3:], DT)
    places = evidence_of_places(values[ACCELEROMETER], values[ORIENTATION], values[POSE][:, :3], DT)
    for evidence in (turns, places):
        assert evidence is not None
        found = best_lag(evidence.curve, DT)
        assert found is not None
        assert found.lag == pytest.approx(0.023, abs=1.5e-3)
        assert evidence.score > 0.99


def test_too_little_is_none() -> None:
    upright = np.tile([0.0, 0.0, 0.0, 1.0], (300, 1))
    zero = np.zeros((300, 3))
    assert evidence_of_turns(zero[:40], upright[:40], DT) is None
    assert evidence_of_turns(zero, upright, DT) is None, "nothing turns"
    assert evidence_of_turns(np.full_like(zero, np.nan), upright, DT) is None
    assert evidence_of_places(zero[:15], upright[:15], zero[:15], DT) is None
    assert evidence_of_places(zero, upright, np.full_like(zero, np.nan), DT) is None
    assert evidence_of_places(zero, np.full_like(upright, np.nan), zero, DT) is None
    assert best_lag(np.arange(9.0), DT) is None, "at the end of the range"


# -- the watch


@pytest.mark.parametrize(("sway", "bounce"), [(1.0, 0.0), (0.0, 1.0)], ids=["it sways", "it bounces"])
def test_the_late_stream_is_named_and_its_delay(sway: float, bounce: float) -> None:
    found = watched(streams(6.5, 0.02, sway=sway, bounce=bounce))
    # 20 ms on top of the 3 ms that were already taken off.
    assert told(found) == (POSE, pytest.approx(0.023, abs=0.003))


def test_a_late_inertial_sensor_is_named_itself() -> None:
    assert told(watched(streams(6.5, -0.03, bounce=1.0))) == (GYROSCOPE, pytest.approx(0.030, abs=0.003))


@pytest.mark.parametrize(("window", "early"), [("after", DT), ("around", 0.5 * DT), ("point", 0.5 * DT)])
def test_the_windows_of_the_readings_are_allowed_for(window: str, early: float) -> None:
    """A reading that is the mean after its step belongs to a later time than the same number before its step."""
    values = streams(4.5, 0.03)
    plain, other = watched(values), watched(values, gyroscope=ChannelConfig(window=window))
    assert plain.lag - other.lag == pytest.approx(early, abs=1e-3)
    values = streams(4.5, 0.03, sway=0.0, bounce=1.0)
    lags = [watched(values, accelerometer=ChannelConfig(window=w)).lag for w in ("before", "around", "after")]
    np.testing.assert_allclose(np.diff(lags), -0.5 * DT, atol=1e-3)


@pytest.mark.parametrize(
    ("lag", "sway", "bounce", "worth"),
    [(0.0, 1.0, 1.0, 0.01), (0.007, 1.0, 1.0, 0.01), (0.05, 1.0, 1.0, 0.0), (0.02, 0.0, 0.0, 0.01)],
    ids=["in time", "too little to matter", "nobody asks", "the body does not move"],
)
def test_no_finding(lag: float, sway: float, bounce: float, worth: float) -> None:
    assert watched(streams(8.5, lag, sway=sway, bounce=bounce), worth=worth).findings(0.0) == []


def test_noise_alone_is_never_a_verdict() -> None:
    """Two minutes of a body that stands still."""
    assert np.isnan(watched(streams(120.0, 0.02, sway=0.0)).lag)


def test_a_body_that_stops_keeps_the_verdict_and_a_stream_that_is_mended_loses_it() -> None:
    found = watched(streams(6.5, 0.02))
    assert len(found.findings(0.0)) == 1
    follow(found, streams(20.5, 0.02, sway=0.0))
    assert len(found.findings(0.0)) == 1
    found.restart()
    follow(found, streams(2.5, 0.0))
    assert found.findings(0.0) == []
    found.restart()
    follow(found, streams(2.5, -0.03))
    assert told(found) == (GYROSCOPE, pytest.approx(0.03, abs=0.003))


def test_lost_readings_do_not_matter_and_silence_is_no_verdict() -> None:
    values = streams(6.5, 0.02, bounce=1.0)
    rng = np.random.default_rng(0)
    for name, share in ((GYROSCOPE, 0.05), (ACCELEROMETER, 0.05), (POSE, 0.1)):
        values[name][rng.random(len(values[name])) < share] = np.nan
    assert watched(values).lag == pytest.approx(0.02, abs=0.004)
    turns = {name: rows for name, rows in values.items() if name in (GYROSCOPE, POSE)}
    assert watched(turns).lag == pytest.approx(0.02, abs=0.004), "turns alone do"
    assert np.isnan(watched({POSE: values[POSE]}).lag)
    assert np.isnan(watched({**values, POSE: np.full_like(values[POSE], np.nan)}).lag)


def test_poses_that_are_stuck_are_no_readings() -> None:
    values = streams(8.5, 0.0, bounce=1.0)
    values[POSE][300:] = values[POSE][300]
    assert watched(values).findings(0.0) == []
    values[POSE][:] = values[POSE][300]
    assert np.isnan(watched(values).lag)
