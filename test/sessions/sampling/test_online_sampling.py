# SPDX-License-Identifier: Apache-2.0
"""When an identification is due, by stamps alone, and what it is made from."""

from dataclasses import dataclass

import numpy as np
import pytest

from sysid_nodes.data.readings import Readings
from sysid_nodes.exceptions import InputError, LogError
from sysid_nodes.results.sampling import SamplingResult
from sysid_nodes.robots import load_robot
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig
from sysid_nodes.sessions.sampling.online import OnlineSampling
from sysid_nodes.sessions.sampling.session import SamplingSession
from sysid_nodes.systems.sampling import MotionLog

ROBOT = load_robot("go2")
CONFIG = SamplingSessionConfig(least=1.0, rest=0.5)
LEVEL = np.array([0.0, 0.0, 0.0, 1.0])


def messages(moving, *, rest=1.0, after=1.5, times=1, sinking=0.0):
    """Joint states, set-points, inertial sensor and pose: rest, so many seconds of motion and time after it.

    All the while joints creep by `sinking` [rad/s].
    """
    period = rest + moving + after
    for t in np.arange(0.0, times * period, 0.01):
        angle = 0.2 * np.sin(6.0 * t) if rest <= t % period < rest + moving else 0.0
        q = np.full(12, angle + sinking * t)
        yield t, "joints", Readings(t, {"joint_position": q, "joint_velocity": np.zeros(12)}, ROBOT.joint_names)
        yield t, "command", q
        yield t, "imu", Readings(t, {"gyroscope": np.full(3, 1e-4 * t), "imu_orientation": LEVEL})
        yield t, "pose", Readings(t, {"mocap_pose": np.concatenate([np.full(3, 1e-4 * t), LEVEL])})


def play(online, rows):
    updates = []
    for t, kind, what in rows:
        found = online.take_set_point(t, ROBOT.joint_names, what) if kind == "command" else online.take(what)
        if found is not None:
            updates.append(found)
    return updates


@pytest.fixture
def asked(monkeypatch):
    """Stamps up to which an identification was asked for; it finds nothing."""
    found = []

    def identify(self, progress=None, *, until=np.inf):
        del self, progress
        found.append(until)
        return SamplingResult.__new__(SamplingResult)

    monkeypatch.setattr("sysid_nodes.sessions.sampling.session.SamplingSession.identify", identify)
    return found


def test_it_identifies_once_a_motion_has_ended_and_up_to_then(asked):
    updates = play(OnlineSampling(ROBOT, CONFIG), messages(2.0))
    assert [update.number for update in updates] == [1]
    assert asked[0] == updates[0].t
    assert 3.4 < asked[0] < 4.3, "half a second of rest after the motion's end at 3 s"


def test_a_motion_that_is_too_short_is_not_enough(asked):
    assert not play(OnlineSampling(ROBOT, CONFIG), messages(0.4))
    assert not asked


def test_when_messages_arrive_makes_no_difference(asked):
    rows = list(messages(2.0))
    late = [row for row in rows if row[1] != "pose"] + [row for row in rows if row[1] == "pose"]
    play(OnlineSampling(ROBOT, CONFIG), rows)
    play(OnlineSampling(ROBOT, CONFIG), late)
    assert asked[0] == asked[1]


@pytest.mark.parametrize("error", [LogError, InputError])  # the latter where a cluster has gone
def test_an_identification_that_cannot_be_is_an_update_with_its_reason(monkeypatch, error):
    def refuse(self, progress=None, *, until=np.inf):
        raise error(f"{self.common_end > until} {progress} is too short")

    monkeypatch.setattr("sysid_nodes.sessions.sampling.session.SamplingSession.identify", refuse)
    (update,) = play(OnlineSampling(ROBOT, CONFIG), messages(1.3))
    assert update.result is None
    assert update.fault.endswith("is too short")


def test_a_reset_forgets(asked):
    online = OnlineSampling(ROBOT, CONFIG)
    play(online, messages(2.0))
    assert online.update.number == 1
    assert online.reset().number == 0
    assert not asked[1:]


@pytest.mark.parametrize("sinking", [0.0, 0.01], ids=["as it was", "that sinks"])
def test_readings_of_a_robot_that_stands_are_forgotten_and_its_motion_is_not(asked, sinking):
    """Also where it stands otherwise in the end: 0.06 rad over the rest, which would be motion within 0.4 s."""
    online, whole = OnlineSampling(ROBOT, CONFIG), SamplingSession(ROBOT, CONFIG)
    rows = list(messages(2.0, rest=4.0, after=6.0, times=2, sinking=sinking))
    play(online, rows)
    play(whole, rows)
    kept, all_ = online.session.log(), whole.log()
    assert len(asked) == 2
    assert len(kept) < 0.5 * len(all_)
    for name in ("t", "q", "target", "position", "posed"):
        np.testing.assert_array_equal(getattr(kept, name)[kept.usable], getattr(all_, name)[all_.usable], name)
    np.testing.assert_array_equal(kept.t[kept.starts(50)], all_.t[all_.starts(50)])
    assert kept.faults == ()


def test_a_twitch_between_two_looks_is_not_forgotten(asked):
    """A swing that is large enough in one window of them all: what the whole recording tells, the rest of it tells."""
    rows = []
    for t, kind, what in messages(2.0, after=6.0):
        twitch = 0.0305 * max(0.0, 1.0 - abs(t - 6.05) / 0.4)
        if kind == "joints":
            q = what.values["joint_position"] + twitch
            what = Readings(t, {"joint_position": q, "joint_velocity": np.zeros(12)}, ROBOT.joint_names)
        rows.append((t, kind, what))
    online, whole = OnlineSampling(ROBOT, CONFIG), SamplingSession(ROBOT, CONFIG)
    play(online, rows)
    play(whole, rows)
    assert asked
    kept, all_of_it = online.session.log(), whole.log()
    assert kept.t[kept.usable] == pytest.approx(all_of_it.t[all_of_it.usable], abs=1e-9)
    assert all_of_it.t[all_of_it.usable][-1] > 6.0, "the twitch counts as motion"


def test_of_a_motion_without_end_the_newest_is_kept_and_the_estimate_says_so(monkeypatch):
    @dataclass(frozen=True)
    class Found:
        log: MotionLog
        findings: tuple[str, ...] = ()

    monkeypatch.setattr("sysid_nodes.sessions.sampling.session.identify", lambda log, *_: Found(log))
    (update,) = play(OnlineSampling(ROBOT, SamplingSessionConfig(least=1.0, rest=0.5, memory=5.0)), messages(20.0))
    log, (finding,) = update.result.log, update.result.findings
    assert 4.5 < log.duration < 6.3
    assert log.t[log.usable][-1] > 20.5
    assert finding == f"motion before {log.t[0]:.1f} s is forgotten: 'memory' is 5 s"


def test_no_clip_reaches_across_what_was_left_out_and_a_set_point_goes_on_through_it():
    session = SamplingSession(ROBOT, CONFIG)
    play(session, (row for row in messages(4.0) if row[1] != "command" or row[0] < 2.5))
    session.leave_out(2.0, 3.0)
    log = session.log()
    first = log.starts(50)
    np.testing.assert_allclose(log.t[first + 49] - log.t[first], 49 * log.step)
    assert not log.usable[(log.t > 1.92) & (log.t < 3.08)].any(), "a start is guessed from what is around it"
    assert log.usable[log.t > 3.2].any()
    np.testing.assert_allclose(log.target[log.t > 3.2], 0.2 * np.sin(6.0 * 2.49))


@pytest.mark.parametrize("silent", ["joints", "pose", "command"])
def test_what_is_kept_has_an_end_though_a_stream_never_comes(asked, silent):
    online = OnlineSampling(ROBOT, CONFIG)
    play(online, (row for row in messages(2.0, after=20.0) if row[1] != silent))
    assert max(len(stream.rows) for stream in online.session._streams) < 700
    assert bool(asked) == (silent != "joints"), "patience with a stream ends, and the identification names it"


@pytest.mark.parametrize("ahead", [lambda t: 1000.0 * (t == 0.5), lambda _t: 20.0], ids=["once", "always"])
def test_a_clock_that_is_ahead_takes_nothing_away_from_other_streams(asked, ahead):
    online = OnlineSampling(ROBOT, CONFIG)
    for t, kind, what in messages(2.0):
        found = Readings(t + ahead(t), what.values, what.joints) if kind == "pose" else what
        play(online, [(t, kind, found)])
    assert asked
    streams = (online.session._joints, online.session._imu, online.session._set_points)
    assert [sum(0.9 < t < 3.1 for t, _ in stream.rows) for stream in streams] == [219] * 3


def test_joints_that_come_back_leave_no_hour_of_nothing_in_the_log(asked):
    online = OnlineSampling(ROBOT, CONFIG)
    play(online, (row for row in messages(30.0) if not (5.0 < row[0] < 25.0 and row[1] == "joints")))
    assert 12.0 < len(online.session.log()) * CONFIG.sampling.step < 20.0
    assert online.session.log().faults
    assert asked
