# SPDX-License-Identifier: Apache-2.0
"""Trajectories for a position controller: messages that replace one another, and a watch on what becomes of them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.exceptions import SamplesError
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.ros.certified.position_streaming import PositionStream, Sent, joint_trajectory
from sysid_nodes.ros.certified.set_point_messages import set_points
from sysid_nodes.sessions.certified.streaming_config import StreamingConfig
from sysid_nodes.signals.set_points import SetPoints
from sysid_nodes.systems.certified.certificate.tracked import KnownErrors
from sysid_nodes.systems.certified.control.output import Mode

NAMES = ("a", "b")
SECOND = 1_000_000_000
NOW = 1_700_000_000 * SECOND
FIRST = Bezier(np.array([3.0, 0.0]), np.zeros(2), np.zeros(2), np.array([0.8, -0.4]), 3.0)
ERRORS = KnownErrors(np.array([0.02, 0.02]), np.array([0.1, 0.1]), None, None, None)
STILL = np.zeros(2)


def planned(plan: Bezier, start: int, *, name: str = "1", previous: str = "", scene: str = "s") -> SimpleNamespace:
    return SimpleNamespace(
        plan=plan, record=SimpleNamespace(id=name, previous_id=previous, start_ns=start, scene_id=scene)
    )


def following(t: float) -> Bezier:
    return Bezier(*FIRST.split(t), np.array([-0.3, 0.5]), 3.0)


def stream(**config: float) -> PositionStream:
    """At rest where FIRST begins, heard of at NOW."""
    made = PositionStream(NAMES, np.array([True, False]), ERRORS, np.zeros(2), np.zeros(2), StreamingConfig(**config))
    made.joints(NOW, FIRST.q0, STILL, "s")
    return made


def wanted(message, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a controller makes of a message at stamps after NOW [s]."""
    t, q, qd = set_points(message, JointOrder(NAMES))
    begin = 1e-9 * (message.header.stamp.sec * SECOND + message.header.stamp.nanosec - NOW)
    points = SetPoints(2)
    points.take(begin, begin + t, q, qd)
    return points.at(times)


def test_a_message_is_the_motion_to_its_rest() -> None:
    message = stream().offer(planned(FIRST, NOW + SECOND // 5), NOW)
    assert message.joint_names == list(NAMES)
    last = message.points[-1]
    assert (last.time_from_start.sec, last.time_from_start.nanosec) == (3, 0)
    np.testing.assert_array_equal(last.positions, FIRST.goal)
    assert not np.any(last.velocities) and not np.any(last.accelerations)
    t = np.linspace(0.0, 4.0, 801)
    q, qd = wanted(message, 0.2 + t)
    # Cubics between points 20 ms apart: h^4 / 384 of the fourth derivative, 60 k / t_f^4 at most.
    np.testing.assert_allclose(q, FIRST(t).q, atol=1e-8)
    np.testing.assert_allclose(qd, FIRST(t).qd, atol=1e-5)


def test_the_next_message_holds_what_is_still_to_be_followed_before_it() -> None:
    """joint_trajectory_controller forgets the former message when this one arrives."""
    made = stream()
    made.offer(planned(FIRST, NOW + SECOND // 5), NOW)
    now = NOW + SECOND  # 0.8 s into it
    made.joints(now, FIRST(0.8).q, FIRST(0.8).qd, "s")
    takeover = NOW + SECOND // 5 + 3 * SECOND // 2
    message = made.offer(planned(following(1.5), takeover, name="2", previous="1"), now)
    assert message.header.stamp.sec * SECOND + message.header.stamp.nanosec < now
    t = np.linspace(0.96, 6.0, 1009)
    into = t - 0.2
    desired = np.where((into < 1.5)[:, None], FIRST(into).q, following(1.5)(np.maximum(into - 1.5, 0.0)).q)
    np.testing.assert_allclose(wanted(message, t)[0], desired, atol=1e-8)
    stamps, *_ = set_points(message, JointOrder(NAMES))
    assert np.diff(stamps).min() > 0.009


def test_what_is_executed_is_told() -> None:
    made = stream()
    assert made.execution_state().mode is Mode.IDLE
    made.offer(planned(FIRST, NOW + SECOND // 5), NOW)
    made.joints(NOW + SECOND // 10, FIRST.q0, STILL, "s")
    assert made.execution_state().mode is Mode.IDLE
    made.joints(NOW + SECOND // 5, FIRST.q0, STILL, "s")
    assert made.execution_state()[:2] == (Mode.TRACKING, "1")
    # Wrapped to one turn, as drivers publish it.
    made.joints(NOW + SECOND // 5 + 3 * SECOND, FIRST.goal - [2.0 * np.pi, 0.0], STILL, "s")
    assert made.execution_state()[:2] == (Mode.HOLDING, "1")
    assert made.usage < 1e-6


@pytest.mark.parametrize(
    ("plan", "start", "previous", "reason"),
    [
        (FIRST, 0.01, "", StopReason.TRAJECTORY_LATE),
        (FIRST, 0.5, "other", StopReason.TRAJECTORY_NOT_CONTINUOUS),
        (Bezier(FIRST.q0 + 0.03, STILL, STILL, STILL, 3.0), 0.5, "", StopReason.TRAJECTORY_NOT_CONTINUOUS),
    ],
)
def test_what_must_not_be_sent_is_refused(plan: Bezier, start: float, previous: str, reason: StopReason) -> None:
    made = stream()
    assert made.offer(planned(plan, NOW + round(start * SECOND), name="x", previous=previous), NOW) is None
    seen = made.execution_state()
    assert (seen.refused_id, seen.refused) == ("x", reason.message)


def test_nothing_is_sent_from_rest_to_a_robot_that_moves_or_was_not_heard_of() -> None:
    made = stream()
    made.joints(NOW + 1, FIRST.q0, np.array([0.0, 0.2]), "s")
    assert made.offer(planned(FIRST, NOW + SECOND), NOW + 1) is None
    made.reset()
    assert made.offer(planned(FIRST, NOW + SECOND), NOW + 1) is None


def test_what_has_begun_is_not_replaced_as_if_it_had_not() -> None:
    made = stream()
    made.offer(planned(FIRST, NOW + SECOND // 5), NOW)
    made.joints(NOW + SECOND, FIRST(0.8).q, FIRST(0.8).qd, "s")
    takeover = NOW + SECOND // 5 + 3 * SECOND // 2
    made.offer(planned(following(1.5), takeover, name="2", previous="1"), NOW + SECOND)
    # A way out from the first trajectory, finished when the second is about to take over.
    late = planned(following(1.6), takeover + SECOND // 10, name="3", previous="1")
    assert made.offer(late, takeover - SECOND // 100) is None
    assert made.offer(late, takeover - SECOND // 10) is not None


@pytest.mark.parametrize(("q", "qd"), [([0.021, 0.0], [0.0, 0.0]), ([0.0, 0.0], [0.0, -0.11])])
def test_errors_beyond_the_certified_ones_ask_for_a_stop_once(q: list[float], qd: list[float]) -> None:
    made = stream()
    made.offer(planned(FIRST, NOW + SECOND // 5), NOW)
    state = FIRST(1.0)
    late = NOW + SECOND // 5 + SECOND
    made.joints(late - 1, state.q, state.qd, "s")
    assert not made.reason
    assert made.joints(late, state.q + q, state.qd + qd, "s") is StopReason.TRACKING_ERROR
    assert made.joints(late + 1, state.q, state.qd, "s") is StopReason.NONE
    assert made.execution_state().mode is Mode.STOPPED
    assert made.offer(planned(following(1.5), late + SECOND, name="2", previous="1"), late) is None


def test_moving_on_among_other_obstacles_asks_for_a_stop_after_the_grace() -> None:
    made = stream(scene_grace=0.3)
    made.offer(planned(FIRST, NOW + SECOND // 5), NOW)
    for tenth in range(12):
        t = 0.1 * tenth
        stop = made.joints(NOW + SECOND // 5 + round(t * SECOND), FIRST(t).q, FIRST(t).qd, "s" if t < 0.45 else "new")
        assert stop is (StopReason.SCENE_CHANGED if tenth == 9 else StopReason.NONE)


def test_joint_states_that_stay_away_or_say_nothing_end_the_stream() -> None:
    made = stream()
    made.silent()
    assert not made.reason  # nothing is executed
    made.offer(planned(FIRST, NOW + SECOND // 5), NOW)
    made.joints(NOW + SECOND // 2, FIRST(0.3).q, FIRST(0.3).qd, "s")
    made.silent()
    assert made.reason is StopReason.JOINT_STATES_LOST
    made.reset()
    made.joints(NOW, FIRST.q0, STILL, "s")
    made.offer(planned(FIRST, NOW + SECOND // 5), NOW)
    assert made.joints(NOW + SECOND, np.array([np.nan, 0.0]), STILL, "s") is StopReason.JOINT_STATES_INVALID


@pytest.mark.parametrize("spacing", [0.001, 0.02, 0.5])
def test_points_are_in_order_whatever_their_spacing(spacing: float) -> None:
    before = Sent("1", "s", NOW, FIRST)
    for late in (1, 7_000_001, SECOND):
        sent = Sent("2", "s", NOW + SECOND + late, following(1.0 + 1e-9 * late))
        message = joint_trajectory(NAMES, before, sent, NOW + SECOND, spacing)
        stamps, _, _ = set_points(message, JointOrder(NAMES))
        assert stamps[0] == 0.0 and (np.diff(stamps) > 0.0).all()
        assert stamps[-1] == pytest.approx(3.0 + 1e-9 * late, abs=1e-9)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda message: message.points.clear(), "no points"),
        (lambda message: setattr(message, "joint_names", ["a", "c"]), "no joint 'b'"),
        (lambda message: setattr(message.points[3], "positions", [1.0]), "not one position a joint"),
    ],
)
def test_messages_that_make_no_sense(change, line: str) -> None:
    message = stream().offer(planned(FIRST, NOW + SECOND // 5), NOW)
    change(message)
    with pytest.raises(SamplesError, match=line):
        set_points(message, JointOrder(NAMES))
