# SPDX-License-Identifier: Apache-2.0
"""From readings to what is published, and what it is said to be worth; no ROS, no clock."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from shared.legged_readings import PAYLOAD, START, StillHorizon, feed, feed_all, make_session, record, spoilt
from shared.quick_and_slow import mark_slow

from sysid_nodes.data.config import from_flat
from sysid_nodes.results.prime import PrimeEstimate
from sysid_nodes.results.prime_status import PrimeStatus
from sysid_nodes.sensors import sensor_configs
from sysid_nodes.sessions.prime import session as prime_session
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.sessions.prime.session import PrimeSession
from sysid_nodes.sessions.prime.update import PrimeUpdate
from sysid_nodes.simulation.legged import (
    Fault,
    JointReading,
    LeggedRobotSim,
    LeggedSimulationConfig,
    PoseReading,
    VelocityReading,
)
from sysid_nodes.solvers.trajectory_least_squares.timer import Timer

STREAMS = {
    "joints": {"joint_position", "joint_velocity", "joint_torque"},
    "imu": {"gyroscope", "accelerometer", "imu_orientation"},
    "mocap": {"mocap_pose"},
}
BROKEN = START + 1.2
"""When faults begin [s]."""


def statuses(updates: list[PrimeUpdate], since: float, until: float = np.inf) -> set[PrimeStatus]:
    return {update.judgement.status for update in updates if since <= update.t <= until}


def test_healthy_streams_are_good_and_every_stage_is_published_once() -> None:
    session = make_session()
    updates = feed_all(session, record()[0])
    assert statuses(updates, START) == {PrimeStatus.GOOD}
    times = np.concatenate([update.estimate.t[list(update.stages)] for update in updates])
    np.testing.assert_allclose(np.diff(times), 0.01, atol=1e-6)
    assert session.judgement.findings == ()
    assert session.skipped == 0
    assert max(update.lag for update in updates) < 0.1  # of sensor time: the steps' wait and a hop


def test_the_joints_order_in_the_message_does_not_matter() -> None:
    def turned(reading: object) -> object:
        if not isinstance(reading, JointReading):
            return reading
        back = slice(None, None, -1)
        parts = {name: getattr(reading, name)[back] for name in ("position", "velocity", "effort")}
        return replace(reading, names=reading.names[back], **parts)

    readings = [reading for reading in record()[0] if reading.stamp < START + 0.5]
    plain, other = (make_session(real=True) for _ in range(2))
    first = feed_all(plain, readings)
    second = feed_all(other, map(turned, readings))  # type: ignore[arg-type]
    assert len(first) == len(second) > 2
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a.estimate.q, b.estimate.q)


def test_joints_that_are_missing_or_do_not_fit_are_counted_and_not_used() -> None:
    session = make_session()
    reading = next(reading for reading in record()[0] if isinstance(reading, JointReading))
    feed(session, replace(reading, names=("a", *reading.names[1:])))
    assert session.unusable == {"a joint is missing": 1}
    feed(session, replace(reading, velocity=reading.velocity[:5], effort=np.zeros(0)))
    assert session.unusable["as many values as names are needed"] == 1
    assert session.rejected["joint_position"] == {}


def test_every_sensor_that_can_be_enabled_is_fed() -> None:
    """By a method of the session, for each section of the sensors' configuration."""
    names = sensor_configs(PrimeSessionConfig().prime.sensors)
    session = make_session(**{f"prime__sensors__{name}__enabled": True for name in names})
    feed_all(session, [reading for reading in record(velocity=True)[0] if reading.stamp < START + 1.0])
    assert session.judgement.faults() == {}
    assert set(session.rejected) == set(names)


FAULTS = {
    "off": {"off"},
    "stuck": {"stuck"},
    "garbage": {"garbage"},
    "nan": {"garbage"},
    "slow": {"slow", "intermittent"},
    "intermittent": {"intermittent"},
    "lossy": set[str](),
}
"""Kinds, and how each may be named."""


@pytest.mark.parametrize(
    ("stream", "kind"),
    # Every kind and every stream; which faults there are is judged by signals/stream_health.py, a stream at a time.
    mark_slow(
        [(stream, kind) for stream in STREAMS for kind in FAULTS],
        but={("joints", "off"), ("joints", "nan"), ("imu", "off"), ("imu", "slow")}.union(
            ("mocap", kind) for kind in FAULTS
        ),
    ),
)
def test_a_stream_s_fault_is_named_and_the_estimate_is_no_longer_called_good(stream: str, kind: str) -> None:
    names = FAULTS[kind]
    session = make_session()
    updates = feed_all(session, spoilt(record()[0], Fault(stream, kind, BROKEN)))
    assert statuses(updates, START, BROKEN - 0.05) == {PrimeStatus.GOOD}
    faults = session.judgement.faults()
    if not names:  # a fifth lost at random is what gaps are bridged for, or is said to be intermittent
        assert set(faults.values()) <= {"intermittent"}
        return
    assert set(faults) == STREAMS[stream]
    assert set(faults.values()) <= names
    gone = kind in ("off", "stuck", "garbage", "nan")
    wanted = PrimeStatus.LOST if stream == "joints" and gone else None
    wanted = wanted or (PrimeStatus.DOUBTFUL if kind == "stuck" else PrimeStatus.DEGRADED)
    assert session.judgement.status is wanted
    assert statuses(updates, BROKEN + 0.9) == {wanted}


def test_readings_that_come_20_ms_late_are_waited_for() -> None:
    session = make_session()
    feed_all(session, spoilt(record()[0], Fault("imu", "delayed", BROKEN)))
    assert session.judgement.status is PrimeStatus.GOOD


def test_readings_that_come_later_than_steps_wait_are_a_finding() -> None:
    session = make_session(streams__wait=0.005)
    feed_all(session, spoilt(record()[0], Fault("mocap", "delayed", BROKEN)))
    assert session.judgement.faults() == {"mocap_pose": "delayed"}
    assert session.judgement.status is PrimeStatus.DEGRADED


@pytest.mark.parametrize("offset", [0.1, 1000.0])
def test_a_stream_on_another_clock_is_a_finding(offset: float) -> None:
    session = make_session()
    readings = (
        replace(reading, stamp=reading.stamp + offset) if isinstance(reading, PoseReading) else reading
        for reading in record()[0]
    )
    feed_all(session, readings)
    assert session.judgement.faults() == {"mocap_pose": "clock"}
    assert not session.judgement.status.trusted


def test_without_imu_and_mocap_the_motion_is_lost() -> None:
    session = make_session()
    feed_all(session, spoilt(record()[0], Fault("imu", "off", BROKEN), Fault("mocap", "off", BROKEN)))
    assert session.judgement.status is PrimeStatus.LOST


def test_when_all_streams_fall_silent_a_look_says_so() -> None:
    session = make_session()
    feed_all(session, record()[0])
    assert session.look(session.time + 0.1).status is PrimeStatus.GOOD
    assert session.look(session.time + 1.0).status is PrimeStatus.LOST
    assert set(session.judgement.faults().values()) == {"off"}


def test_mocap_gone_for_a_second_degrades_and_comes_back() -> None:
    session = make_session()
    updates = feed_all(session, spoilt(record()[0], Fault("mocap", "off", START + 0.6, START + 1.6)))
    assert statuses(updates, START + 1.2, START + 1.5) == {PrimeStatus.DEGRADED}
    assert statuses(updates, START + 2.8) == {PrimeStatus.GOOD}


def test_a_pause_of_everything_restarts_the_window_and_keeps_the_parameters() -> None:
    session = make_session(real=True)
    readings = [r for r in record()[0] if not START + 0.8 <= r.stamp < START + 1.8]
    updates = feed_all(session, readings)
    before = [update for update in updates if update.t < START + 0.8]
    after = [update for update in updates if update.t > START + 1.8]
    # It starts over, once the base has been seen for a few stages; a full window has 30.
    assert 10 <= len(before[0].estimate.t) <= 15
    assert 10 <= len(after[0].estimate.t) <= 15
    sigma = [update.estimate.bodies[0].mass_sigma for update in (before[0], before[-1], after[0])]
    assert sigma[2] < 1.1 * sigma[1] < sigma[0]


def test_a_machine_that_is_too_slow_says_so_and_skips() -> None:
    ticks = iter(np.arange(0.0, 1e4, 0.2))  # a solve takes 0.2 s by this clock
    robot_session = make_session(pacing__hop=2, pacing__max_lag=0.3)
    session = PrimeSession(
        robot_session.robot,
        robot_session.config,
        lambda: StillHorizon(robot_session.robot),
        clock=lambda: float(next(ticks)),
    )
    late = 0.0
    for reading in record()[0]:
        session.waited = late
        before = session.solves
        feed(session, reading)
        late = max(0.0, late + 0.2 * (session.solves - before) - (0.002 if isinstance(reading, JointReading) else 0.0))
    assert session.skipped > 0
    assert session.pacer.slowed
    assert session.judgement.faults()["machine"] == "overload"
    assert session.judgement.status in (PrimeStatus.DEGRADED, PrimeStatus.LOST)


def test_an_estimate_that_is_too_late_is_not_told() -> None:
    """The motion is lost meanwhile, but not what is told of the constants; once solves are fast all is well again."""
    template = make_session(pacing__hop=2, pacing__max_lag=0.3)
    now = [0.0]

    class Slow(StillHorizon):
        def step(self, window: int, spare: Timer) -> PrimeEstimate | None:
            now[0] += 0.4 if 0.5 <= self._times[-1] - START < 0.6 else 0.0
            return super().step(window, spare)

    session = PrimeSession(template.robot, template.config, lambda: Slow(template.robot), clock=lambda: now[0])
    told, lost = [], []
    for reading in record()[0][:1500]:
        told.append(feed(session, reading))
        if session.judgement.status is PrimeStatus.LOST:
            lost.append(session.judgement.sentence)
    updates = [update for update in told if update is not None]
    assert lost and lost[0].endswith("cannot keep up: an estimate that is more than 0.3 s late is not published")
    assert max(update.lag for update in updates) < 0.3
    assert not any(0.5 <= update.estimate.t[-1] - START < 0.6 for update in updates)
    assert np.all(np.diff(np.concatenate([update.estimate.t[list(update.stages)] for update in updates])) > 0.0)
    assert session.judgement.status.trusted
    assert session.whole_status is PrimeStatus.DEGRADED


def test_one_solve_longer_than_the_lag_allowed_is_not_the_last() -> None:
    """Where no cheaper pace is left: one takes a second, the others nothing."""
    template = make_session(pacing__hop=2, pacing__most_hop=2, pacing__max_lag=0.5)
    ticks = itertools.chain([0.0] * 9, itertools.repeat(1.0))
    still = StillHorizon(template.robot)
    session = PrimeSession(template.robot, template.config, lambda: still, clock=lambda: next(ticks))
    feed_all(session, record()[0][:1000])
    assert session.solves > 10


def test_a_reading_that_waited_says_nothing_once_later_ones_have_not() -> None:
    """A robot whose clock is slow, as a simulated one on a busy machine: a solve of seconds is not skipped for ever."""
    session = make_session(pacing__hop=2, pacing__max_lag=0.5)
    for k, reading in enumerate(record()[0][:1500]):
        session.waited = 3.0 if 500 <= k < 520 else 0.0
        feed(session, reading)
    assert 0 < session.skipped < 20
    assert session.newest - session.time < 0.1
    assert session.estimate is not None
    assert session.newest - session.estimate.t[-1] < 0.3


def test_a_solve_that_leaves_something_out_says_so() -> None:
    template = make_session(pacing__hop=2)
    ticks = itertools.count(0.0, 0.001)

    class Hasty(StillHorizon):
        def step(self, window: int, spare: Timer) -> PrimeEstimate | None:
            assert spare.is_up(int(1e3 * template.config.pacing.max_lag))  # iterations, of a millisecond
            return super().step(window, spare)

    session = PrimeSession(template.robot, template.config, lambda: Hasty(template.robot), clock=lambda: next(ticks))
    feed_all(session, record()[0][:1000])
    assert session.solves > 10
    assert session.judgement.status is PrimeStatus.DEGRADED
    assert session.pacer.finding == "the machine cannot keep up: a solve ended early"


@pytest.mark.parametrize(("waited", "hop"), [(0.0, 2), (0.2, 10)])
def test_steps_that_wait_go_into_one_solve(waited: float, hop: int) -> None:
    """No solve is out of date before it begins: of steps that have arrived already ten take one."""
    robot = make_session().robot
    config = make_session(pacing__hop=2, pacing__most_hop=10, pacing__max_lag=1.0).config
    session = PrimeSession(robot, config, lambda: StillHorizon(robot), clock=lambda: 0.0)
    session.waited = waited
    updates = feed_all(session, record()[0][:1000])
    steps = np.diff([update.estimate.t[-1] for update in updates])
    np.testing.assert_allclose(steps, hop * config.prime.step, atol=1e-6)


def test_a_reset_starts_from_nothing() -> None:
    session = make_session()
    feed_all(session, record()[0][:1000])
    session.reset()
    assert session.estimate is None
    assert session.judgement.status is PrimeStatus.STARTING
    assert session.received == 0
    assert feed_all(session, record()[0])[-1].judgement.status is PrimeStatus.GOOD


def test_the_history_of_a_long_session_is_thinned_not_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prime_session, "_MOST_HISTORY", 4)
    session = make_session()
    updates = feed_all(session, record()[0])
    times = np.array([entry.t for entry in session.history])
    assert 3 <= len(times) <= 4
    assert times[0] < START + 0.3
    assert np.diff(times).min() > 0.9  # twice the distance that entries have at first
    assert times[-1] > updates[-1].t - 1.0


# -- with the estimator


def test_the_payload_is_found() -> None:
    readings, mass = record()
    session = make_session(real=True)
    updates = feed_all(session, readings)
    body = updates[-1].estimate.bodies[0]
    # 3 s of swaying determine the mass to some grams; the model's own errors are of the order of 0.2 %.
    assert body.mass == pytest.approx(mass, rel=0.01)
    assert statuses(updates, START + 0.2) == {PrimeStatus.GOOD}


@pytest.mark.parametrize("stream", mark_slow(STREAMS, but=["joints", "imu"]))  # of a whole log: test_robust_logs.py
def test_wrong_but_plausible_readings_are_contradicted_by_the_others(stream: str) -> None:
    session = make_session(real=True)
    readings = [reading for reading in record()[0] if reading.stamp < BROKEN + 0.8]
    updates = feed_all(session, spoilt(readings, Fault(stream, "plausible", BROKEN)))
    doubted = [u for u in updates if u.t > BROKEN and u.judgement.status is PrimeStatus.DOUBTFUL]
    assert doubted
    assert doubted[0].t < BROKEN + 0.4
    assert any(set(u.judgement.faults()) & STREAMS[stream] for u in doubted)
    assert all(u.judgement.inflation > 1.0 for u in doubted)


def test_after_a_doubt_the_parameters_of_before_it_are_taken_up_again() -> None:
    readings, mass = record(4.0)
    session = make_session(real=True)
    updates = feed_all(session, spoilt(readings, Fault("joints", "plausible", BROKEN, BROKEN + 0.5)))
    during = [update for update in updates if update.judgement.status is PrimeStatus.DOUBTFUL]
    assert during[-1].t < START + 3.7
    wrong = max(abs(update.estimate.bodies[0].mass - mass) for update in during)
    assert updates[-1].judgement.status is PrimeStatus.GOOD
    # Taken up again, not merely diluted: a quarter of the wrong value's error is already far from what is left here.
    assert abs(updates[-1].estimate.bodies[0].mass - mass) < min(0.25 * wrong, 0.01 * mass)


def test_without_mocap_the_position_s_uncertainty_grows() -> None:
    session = make_session(real=True)
    updates = feed_all(session, spoilt(record()[0], Fault("mocap", "off", BROKEN)))
    before = next(update for update in updates if update.t > BROKEN - 0.1)
    assert updates[-1].judgement.status is PrimeStatus.DEGRADED
    assert updates[-1].judgement.faults() == {"mocap_pose": "off"}
    spread = [np.sqrt(np.trace(u.estimate.q_covariance[u.stage][:2, :2])) for u in (before, updates[-1])]
    assert spread[1] > 1.5 * spread[0]


def test_the_same_readings_give_the_same_numbers() -> None:
    readings = [reading for reading in record()[0] if reading.stamp < START + 0.6]
    first, second = (feed_all(make_session(real=True), readings)[-1] for _ in range(2))
    np.testing.assert_array_equal(first.estimate.q, second.estimate.q)
    np.testing.assert_array_equal(first.estimate.parameters, second.estimate.parameters)


def test_only_poses_are_no_estimate() -> None:
    session = make_session()
    updates = feed_all(session, [reading for reading in record()[0] if isinstance(reading, PoseReading)])
    assert statuses(updates, START + 1.0) <= {PrimeStatus.LOST}
    assert session.judgement.status is PrimeStatus.LOST


# -- with the base's velocity


def test_velocities_help_where_feet_slip_and_nothing_sees_the_place() -> None:
    """Without motion capture the velocity is dead reckoning on feet; on slippery ground they are no good.

    The error is 0.58 times as large at this seed, 0.65 to 0.9 at seven others.
    """
    options = {"motion": "trot", "load.mass": PAYLOAD, "ground.friction": 0.3}
    options |= {"sensors.mocap.enabled": False, "sensors.velocity.enabled": True, "sensors.velocity.velocity": 0.02}
    sim = LeggedRobotSim(from_flat(LeggedSimulationConfig, options), np.random.default_rng(3), start=START)
    readings, truth = list(sim.run(2.0)), sim.series()
    error = {}
    for used in (False, True):
        enabled = {
            f"prime__sensors__{name}__enabled": on for name, on in (("mocap_pose", False), ("base_velocity", used))
        }
        session = make_session(real=True, prime__sensors__base_velocity__sigma=0.02, **enabled)
        updates = [update for update in feed_all(session, readings) if update.t > START + 0.5]
        stages = [(update.estimate.t[k] - START, update.estimate.v[k, :3]) for update in updates for k in update.stages]
        times, found = (np.array(column) for column in zip(*stages, strict=True))
        ticks = np.round((times - truth.time[0]) / truth.duration).astype(int)
        error[used] = np.sqrt(np.mean((found - truth.v[ticks, :3]) ** 2))
        assert not session.rejected.get("base_velocity")
    assert error[True] < 0.7 * error[False]


def test_a_velocity_that_goes_silent_is_named() -> None:
    readings = [r for r in record()[0] if r.stamp < START + 1.5]
    still = [
        VelocityReading(START + 0.02 * k, START + 0.02 * k + 0.005, np.array([1e-3 * k, 0.0, 0.0])) for k in range(30)
    ]
    session = make_session(prime__sensors__base_velocity__enabled=True)
    feed_all(session, sorted([*readings, *still], key=lambda reading: reading.arrival))
    assert session.judgement.faults() == {"base_velocity": "off"}
    assert session.judgement.status is PrimeStatus.DEGRADED
