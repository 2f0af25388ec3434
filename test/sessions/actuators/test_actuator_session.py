# SPDX-License-Identifier: Apache-2.0
"""Windows, models and alarms from messages, in any order of the topics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from shared.actuator_session import START, feed, messages, run, session
from shared.quick_and_slow import mark_slow

from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.exceptions import ConfigError, RobotError
from sysid_nodes.logs.command_reader import RawSetPoints
from sysid_nodes.messages.actuators.models import models_fields
from sysid_nodes.results.actuators import ActuatorStatus
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig, actuator_robot
from sysid_nodes.sessions.actuators.session import ActuatorUpdate

SHORT = 850
"""Messages that make one window."""


@pytest.fixture(scope="module")
def updates() -> list[ActuatorUpdate]:
    return feed(session(run()), messages(run()))


def ids(found: list[ActuatorUpdate]) -> list[str]:
    return [models_fields(update)["id"] for update in found]


def test_every_window_refines_the_models_and_the_truth_is_found(updates: list[ActuatorUpdate]) -> None:
    assert [update.state.number for update in updates] == [0, 1, 2]
    assert updates[-1].state.windows == (0, 1, 2)
    assert updates[-1].t == pytest.approx(START + 6.0, abs=0.01)
    assert not updates[-1].state.alarms
    result, truth = updates[-1].state.result, run().drives[0]
    assert result is not None
    for j, joint in enumerate(result.joints):
        assert joint.parameter("coulomb").estimate == pytest.approx(truth.coulomb[j], rel=0.1)
        assert joint.parameter("armature").estimate == pytest.approx(truth.armature[j], rel=0.15)
        assert joint.replay.rmse < 1.5e-3
    sigmas = [update.state.result.joints[1].parameter("coulomb").sigma for update in updates if update.state.result]
    assert sigmas[-1] < sigmas[0]


def test_the_order_between_the_topics_changes_nothing(updates: list[ActuatorUpdate]) -> None:
    """Commands arrive up to 0.4 s later than they are stamped; a window waits 0.5 s for them."""
    raws = list(messages(run()))
    rng = np.random.default_rng(0)
    late = 0.4 * rng.uniform()

    def arrival(raw: Any) -> float:
        return float(raw.begin + late if isinstance(raw, RawSetPoints) else raw.stamp)

    assert ids(feed(session(run()), sorted(raws, key=arrival))) == ids(updates)


def test_a_reset_forgets_everything_and_the_same_numbers_come_again(updates: list[ActuatorUpdate]) -> None:
    heard = session(run())
    feed(heard, list(messages(run()))[:SHORT])
    assert heard.update.state.result is not None
    assert heard.reset().state.result is None
    assert models_fields(heard.update)["status"] == "WAITING"
    assert ids(feed(heard, list(messages(run()))[:SHORT])) == ids(updates[:1])


@pytest.mark.parametrize(
    ("kind", "parameter", "relative"),
    mark_slow([("friction", "coulomb", 2.0), ("gain", "gain", 0.7)], but=[("gain", "gain", 0.7)]),
)
def test_a_drive_that_changes_is_an_alarm_that_names_it(kind: str, parameter: str, relative: float) -> None:
    changed = run(kind)
    found = feed(session(changed), messages(changed))
    (alarm,) = found[-1].state.alarms
    assert (alarm.joint, alarm.kind, alarm.parameter) == (changed.changed, kind, parameter)
    assert alarm.after / alarm.before == pytest.approx(relative, rel=0.1)
    assert alarm.since == pytest.approx(START + 6.2 + 2.0, abs=0.02)
    assert [update.alarmed for update in found] == [False, False, False, False, True]
    assert found[-2].state.suspects == (3,)
    assert "may have changed" in found[-2].state.finding
    assert found[-2].state.windows == (0, 1, 2)  # what may be of another robot is not used
    assert found[-1].state.windows == (3, 4)
    assert found[-1].state.result is not None
    told = {joint.name: joint for joint in found[-1].state.result.joints}[changed.changed]
    if kind == "gain":  # everything else rests on the stated strength
        assert not any(p.identifiable for p in told.parameters)
        assert "state its gains anew" in told.parameters[0].reason
    else:
        at = changed.robot.joint_names.index(changed.changed)
        assert told.parameter("coulomb").estimate == pytest.approx(changed.drives[1].coulomb[at], rel=0.1)


def test_one_odd_window_is_left_out_and_is_no_alarm(updates: list[ActuatorUpdate]) -> None:
    """Somebody leans on the calf for a second."""
    raws = []
    for raw in messages(run(duration=8.2)):
        if isinstance(raw, RawJointState) and 4.4 < raw.stamp - START < 5.4:
            raw = raw._replace(position=raw.position + np.array([0.0, 0.0, 0.05]))
        raws.append(raw)
    found = feed(session(run(duration=8.2)), raws)
    assert found[2].state.suspects == (2,)
    assert found[3].state.odd == 1
    assert found[3].state.windows == (0, 1, 3)
    assert not found[3].state.alarms


def test_a_hole_costs_its_window_and_no_more() -> None:
    raws = [raw for raw in messages(run()) if not isinstance(raw, RawJointState) or not 1.0 < raw.stamp - START < 1.2]
    heard = session(run())
    found = feed(heard, raws)
    assert [update.state.windows for update in found] == [(0,), (0, 1)]
    assert heard.rejected["motion: a hole"] == 1
    assert found[0].t == pytest.approx(START + 3.2, abs=0.02)


def test_lost_messages_end_the_window_that_is_under_way() -> None:
    raws = list(messages(run()))
    heard = session(run())
    feed(heard, raws[:500])
    heard.interrupt()
    found = feed(heard, raws[500:])
    assert heard.rejected["motion: messages lost"] == 1
    assert found[0].t == pytest.approx(raws[500].begin + 2.0, abs=0.02)


@pytest.mark.parametrize("several", [False, True])
def test_commands_without_encoders_are_not_kept_for_ever(several: bool) -> None:
    heard = session(run())
    names, one = run().robot.joint_names, np.zeros((1, 3))
    for k in range(3000):
        stamp = START + 0.01 * k
        t = stamp + 0.01 * np.arange(1 + several)
        feed(heard, [RawSetPoints(stamp, True, names, t, np.repeat(one, len(t), axis=0), None)])
        if k == 10:
            feed(heard, [RawJointState(stamp, names, one[0], one[0], one[0])])
    buffer = heard._windows.commands
    assert len(buffer._times) < 300
    assert buffer._joined is None or len(buffer._joined) < 600
    assert heard.rejected == {"motion: a hole": 1}


def test_without_commands_nothing_is_identified_and_it_says_so() -> None:
    heard = session(run())
    assert not feed(heard, (raw for raw in messages(run()) if isinstance(raw, RawJointState)))
    assert heard.rejected["motion: no command"] == 2
    assert heard.update.state.finding == "no window of motion yet"


def test_messages_that_cannot_be_used_are_counted_by_reason() -> None:
    heard = session(run())
    names, one = run().robot.joint_names, np.zeros((1, 3))
    bad = [
        RawSetPoints(START, False, names, np.array([START]), one, None),
        RawSetPoints(START, True, names[:2], np.array([START]), one[:, :2], None),
        RawSetPoints(START, True, names, np.array([START]), one * np.nan, None),
        RawSetPoints(START, True, names, np.zeros(0), np.zeros((0, 3)), None),
        RawJointState(START, names, np.array([0.0, np.inf, 0.0]), one[0], one[0]),
    ]
    assert not feed(heard, bad)
    assert heard.rejected == {
        "command: no stamp": 1,
        "command: missing joint": 1,
        "command: not finite, or points out of order": 1,
        "command: no point": 1,
        "state: not finite": 1,
    }


def test_a_robot_that_stands_still_is_waited_for() -> None:
    raws = [
        raw._replace(q=0.0 * raw.q) if isinstance(raw, RawSetPoints) else raw._replace(position=0.0 * raw.position)
        for raw in list(messages(run()))[:SHORT]
    ]
    found = feed(session(run()), raws)
    assert found[-1].state.result is None
    assert "was commanded to move by 0 rad" in found[-1].state.finding


def test_swapped_columns_are_named_and_nothing_is_claimed() -> None:
    raws = [
        raw if isinstance(raw, RawSetPoints) else raw._replace(position=raw.position[[0, 2, 1]])
        for raw in list(messages(run()))[:SHORT]
    ]
    found = feed(session(run()), raws)
    assert found[-1].state.result is None
    assert "are columns swapped?" in found[-1].state.finding


def test_gains_in_another_unit_are_a_contradiction() -> None:
    heard = session(run(), actuators__law__stiffness=[0.35], actuators__law__damping=[0.0175])
    found = feed(heard, list(messages(run()))[:SHORT])[-1].state.result
    assert found is not None
    assert found.status is ActuatorStatus.CONTRADICTION
    assert not any(p.identifiable for joint in found.joints for p in joint.parameters)


def test_trajectories_of_several_points_are_joined_and_forgotten() -> None:
    """Points a tenth of a second apart that lie on the chirp."""
    raws: list[Any] = []
    points: list[RawSetPoints] = []
    for raw in messages(run()):
        if isinstance(raw, RawJointState):
            raws.append(raw)
            continue
        points.append(raw)
        if len(points) == 41:
            some = points[::4]
            t, q = np.array([p.begin for p in some]), np.array([p.q[0] for p in some])
            raws.append(RawSetPoints(some[0].begin, True, raw.names, t, q, None))
            points = [raw]
    heard = session(run(), actuators__law__command="straight")
    found = feed(heard, raws)
    result = found[-1].state.result
    assert result is not None
    assert result.rmse < 3e-3
    assert len(heard._windows.commands._joined) < 200


def test_what_cannot_be_configured_says_why() -> None:
    with pytest.raises(ConfigError, match=r"'law\.stiffness' is needed"):
        session(run(), actuators__law__stiffness=[])
    with pytest.raises(ConfigError, match=r"'law\.damping' must have 1 or 3 values, got 2"):
        session(run(), actuators__law__damping=[1.0, 2.0])
    with pytest.raises(ConfigError, match=r"'actuators\.method' must be structured window by window, got 'network'"):
        session(run(), actuators__method="network")
    with pytest.raises(ConfigError, match="'drive' must be commands window by window, got 'effort'"):
        session(run(), drive="effort")
    with pytest.raises(RobotError, match="no joint whose name begins with 'XX'"):
        actuator_robot(ActuatorSessionConfig(joints="XX"))


def test_gains_that_commands_state_are_those_of_the_fit(updates: list[ActuatorUpdate]) -> None:
    heard = feed(session(run(), gains_told=True), messages(run(), gains=lambda _: 20.0))
    assert [update.state.windows for update in heard] == [update.state.windows for update in updates]
    for one, other in zip(heard, updates, strict=True):
        assert one.state.result is not None and other.state.result is not None
        np.testing.assert_array_equal(
            [joint.law for joint in one.state.result.joints], [joint.law for joint in other.state.result.joints]
        )


def test_gains_that_change_end_a_window_and_what_was_known() -> None:
    """The second window has both gains, the third the new ones alone."""
    own = session(run(), gains_told=True)
    found = feed(own, messages(run(), gains=lambda t: 20.0 if t < 3.0 else 20.4))
    assert own.rejected["motion: the drives' gains change"] == 1
    assert [update.state.windows for update in found] == [(0,), (1,)]
    result = found[-1].state.result
    assert result is not None
    # It begins amid the motion, where the filtered velocity is not what it is in the middle of a log.
    assert max(joint.replay.rmse for joint in result.joints) < 4e-3


def test_drives_that_are_told_no_gains_follow_nothing() -> None:
    raws = list(messages(run(), gains=lambda _: 0.0))[:SHORT]
    found = feed(session(run(), gains_told=True), raws)
    assert found[-1].state.result is None
    assert "drives are told no gains" in found[-1].state.finding


def test_gains_that_differ_from_those_stated_are_refused() -> None:
    raws = list(messages(run(), gains=lambda _: 40.0))[:SHORT]
    found = feed(session(run()), raws)
    assert found[-1].state.result is None
    assert "the log says 40, 'law.stiffness' 20 of joint 1" in found[-1].state.finding


def test_a_command_with_a_velocity_that_is_not_a_number_is_left_out_and_counted() -> None:
    own = session(run())
    raw = next(raw for raw in messages(run()) if isinstance(raw, RawSetPoints))
    own.take_command(raw._replace(qd=np.full_like(raw.q, np.nan)))
    assert own.rejected["command: not finite, or points out of order"] == 1
