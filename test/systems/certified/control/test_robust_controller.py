# SPDX-License-Identifier: Apache-2.0
"""The controller's states: what it executes, when it takes over, what makes it brake, and what makes it stop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shared.certified_ride import (
    CONTROL,
    GRACE,
    PRIOR,
    Q0,
    ROBOT,
    SCENE,
    START,
    TICK,
    K,
    N,
    Ride,
    certificate,
    make_record,
    plan_of,
    replace_fields,
)  # fmt: skip

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.models import model_box as model_box_module
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.models.model_box import model_box
from sysid_nodes.models.robust_control import RobustLaw
from sysid_nodes.results import Status
from sysid_nodes.results.certificate import Verdict
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.systems.certified.control.config import ControllerConfig
from sysid_nodes.systems.certified.control.execution import Execution
from sysid_nodes.systems.certified.control.output import Mode

_HAND = ROBOT.inertial_parameters()[-1] + [2.0, 0.0, 0.0, -0.38, 0.075, 0.0, 0.075, 0.0, 0.0, 0.01]
TIGHT = Bounds(_HAND - 0.1 * PRIOR.half_width, _HAND + 0.1 * PRIOR.half_width)


def _modes(ride: Ride) -> list[tuple[Mode, StopReason]]:
    pairs = [(output.mode, output.reason) for output in ride.outputs]
    return [pair for k, pair in enumerate(pairs) if k == 0 or pair != pairs[k - 1]]


def test_idle_commands_nothing() -> None:
    ride = Ride()
    ride.tick(200)
    assert _modes(ride) == [(Mode.IDLE, StopReason.NONE)]
    assert all(output.torque is None and output.stop is None for output in ride.outputs)


def test_from_rest_to_rest() -> None:
    ride = Ride()
    record = ride.riding(1.1)
    assert _modes(ride) == [
        (Mode.IDLE, StopReason.NONE),
        (Mode.TRACKING, StopReason.NONE),
        (Mode.BRAKING, StopReason.PLANNER_SILENT),
        (Mode.HOLDING, StopReason.PLANNER_SILENT),
    ]
    times = {output.mode: output.stamp - record.start for output in reversed(ride.outputs)}
    # The first stamps of each mode: at its start, after the takeover that did not come, at its end.
    np.testing.assert_allclose([times[mode] for mode in (1, 2, 3)], [0.0, 0.501, 1.0], atol=1e-9)
    assert all((output.torque is not None) == output.mode.commands for output in ride.outputs)
    assert ride.outputs[-1].trajectory_id == record.id


def test_the_takeover_that_did_not_come_is_that_of_plans_as_long() -> None:
    ride = Ride(takeover=lambda duration: 0.3 * duration)
    record = ride.riding(1.05)
    braked = min(output.stamp - record.start for output in ride.outputs if output.mode is Mode.BRAKING)
    assert braked == pytest.approx(0.3 * record.duration, abs=1.1e-3)  # a tick


def test_a_plan_shorter_than_the_takeover_just_ends() -> None:
    ride = Ride(takeover=lambda _duration: 5.0)
    ride.riding(1.05)
    assert (ride.controller.mode, ride.controller.reason) == (Mode.HOLDING, StopReason.PLAN_ENDED)


@pytest.mark.parametrize("offset", [0.0, 0.3, 0.9])
def test_takes_over_at_the_first_stamp_that_is_due(offset: float) -> None:
    """Starts between two stamps too; the time into the trajectory is that of the stamp."""
    ride = Ride()
    ride.tick(110)
    record = make_record(ride.now + 0.05 + offset * TICK)
    assert not ride.controller.offer(record)
    ride.tick(50 + (offset > 0.0))
    assert ride.outputs[-2].mode is Mode.IDLE
    assert ride.outputs[-1].mode is Mode.TRACKING
    assert ride.outputs[-1].trajectory_time == pytest.approx((1.0 - offset) % 1.0 * TICK, abs=1e-9)


def test_torque_is_the_law_s_for_the_nominal_model_of_the_record_s_bounds() -> None:
    ride = Ride()
    assert not ride.controller.bounds(TIGHT.lower, TIGHT.upper, Status.PROVEN)
    record = ride.riding(0.0, bounds=TIGHT)
    box = model_box(ROBOT, KnownRobotConfig(), TIGHT, ROBOT.body_index())
    law = RobustLaw(ROBOT, box.theta, box.motor, CONTROL)
    plan = plan_of(record)
    for _ in range(40):
        ride.tick(50)
        t = ride.now - record.start
        reading = ride.reading()  # noise of the velocity differs from the tick's; the rest is the same
        q = reading.position + 2.0 * np.pi * np.round((plan(t).q - reading.position) / (2.0 * np.pi))
        expected = law.command(q, plan(t).qd, plan(t), record.robust_limit)
        got = ride.outputs[-1]
        assert got.torque is not None and got.tracking is not None
        # 5e-5 rad/s of velocity noise through K, and less through the nominal model.
        np.testing.assert_allclose(got.torque, expected.torque, rtol=0.0, atol=5e-5 * 1000.0 * 1.3)
        np.testing.assert_allclose(got.tracking.desired, plan(t).q, rtol=0.0, atol=1e-12)
        assert (np.abs(got.tracking.position_error) <= 0.5 * ROBOT.encoder_step + 1e-9).all()


def _shuffled(reading: RawJointState) -> list[RawJointState]:
    order = np.array([3, 1, 6, 0, 2, 5, 4])
    names = ("gripper", *(reading.names[k] for k in order))
    position, velocity = np.append(0.5, reading.position[order]), np.append(0.0, reading.velocity[order])
    return [reading._replace(names=names, position=position, velocity=velocity, effort=np.zeros(0))]


def test_joint_order_extra_joints_and_missing_efforts() -> None:
    """The same torques whatever the order of the message, to the last bit."""
    torques = []
    for shuffled in (False, True):
        ride = Ride()
        if shuffled:
            ride.change = _shuffled
        ride.riding(0.2)
        torques.append([output.torque for output in ride.outputs if output.torque is not None])
    np.testing.assert_array_equal(*torques)


def test_the_same_calls_give_the_same_answers() -> None:
    runs = []
    for _ in range(2):
        ride = Ride()
        ride.riding(0.3)
        runs.append(np.array([output.torque for output in ride.outputs if output.torque is not None]))
    np.testing.assert_array_equal(*runs)


def test_a_successor_takes_over_and_is_followed() -> None:
    ride = Ride()
    first = ride.riding(0.3)
    second = make_record(previous=first, previous_time=0.5)
    assert not ride.controller.offer(second)
    assert ride.controller.pending is second
    ride.until(first.start + 0.499)
    assert ride.controller.trajectory is first
    ride.tick()
    assert ride.controller.trajectory is second
    ride.until(second.start + 0.4)
    assert set(_modes(ride)) == {(Mode.IDLE, StopReason.NONE), (Mode.TRACKING, StopReason.NONE)}


def test_a_better_successor_replaces_the_one_that_waits() -> None:
    ride = Ride()
    first = ride.riding(0.3)
    plans = [Bezier(*plan_of(first).split(0.5), k * K, 1.0) for k in (0.1, 0.2)]
    records = [make_record(previous=first, previous_time=0.5, plan=plan) for plan in plans]
    assert not any(ride.controller.offer(record) for record in records)
    ride.until(first.start + 0.6)
    assert ride.controller.trajectory is records[1]


def test_resumes_from_the_braking_tail_and_from_rest() -> None:
    ride = Ride()
    first = ride.riding(0.7)
    assert ride.controller.mode is Mode.BRAKING
    second = make_record(previous=first, previous_time=0.8)
    assert not ride.controller.offer(second)
    ride.until(first.start + 0.85)
    assert ride.controller.mode is Mode.TRACKING
    ride.until(second.start + 1.2)
    assert ride.controller.mode is Mode.HOLDING
    third = make_record(previous=second, previous_time=1.4)
    assert not ride.controller.offer(third)
    ride.until(third.start + 0.5)
    assert (ride.controller.trajectory, ride.controller.mode) == (third, Mode.TRACKING)


def test_a_start_from_rest_while_holding() -> None:
    ride = Ride()
    ride.riding(1.1)
    # The controller goes on to answer to errors meanwhile: what that can do has to be counted with.
    assert ride.controller.start_rate == certificate().envelope.speed[-1] == 1.0  # type: ignore[union-attr]
    bold = replace_fields(make_record(ride.now + 0.1, plan=ride.rest()), start_rate=0.999)
    assert ride.controller.offer(bold) is StopReason.TRAJECTORY_NOT_CONTINUOUS
    again = replace_fields(make_record(ride.now + 0.1, plan=ride.rest()), start_rate=1.0)
    assert not ride.controller.offer(again)
    ride.until(again.start + 0.5)
    assert (ride.controller.trajectory, ride.controller.mode) == (again, Mode.TRACKING)


# --- Trajectories that do not fit what is being executed ------------------------------------------------------------


def _moved(record: object, name: str, by: float) -> object:
    return replace_fields(record, **{name: getattr(record, name) + by})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["q0", "qd0", "qdd0"])
def test_a_jump_in_the_desired_state_is_refused(name: str) -> None:
    ride = Ride()
    first = ride.riding(0.3)
    good = make_record(previous=first, previous_time=0.5)
    assert ride.controller.offer(_moved(good, name, 1e-6)) is StopReason.TRAJECTORY_NOT_CONTINUOUS  # type: ignore[arg-type]
    assert not ride.controller.offer(_moved(good, name, 1e-11))  # type: ignore[arg-type]


def test_a_takeover_at_another_time_than_stated_is_refused() -> None:
    ride = Ride()
    first = ride.riding(0.3)
    good = make_record(previous=first, previous_time=0.5)
    for change in ({"start_ns": good.start_ns + 1000}, {"previous_time": 0.6}, {"previous_id": "another"}):
        assert ride.controller.offer(replace_fields(good, **change)) is StopReason.TRAJECTORY_NOT_CONTINUOUS


def test_what_starts_in_the_past_is_refused() -> None:
    ride = Ride()
    first = ride.riding(0.6)
    late = make_record(previous=first, previous_time=0.5)
    assert ride.controller.offer(late) is StopReason.TRAJECTORY_LATE
    output = ride.tick()
    assert (output.refused_id, output.refused_reason) == (late.id, StopReason.TRAJECTORY_LATE)
    assert (output.mode, output.trajectory_id) == (Mode.BRAKING, first.id)


def test_a_start_from_rest_is_refused_in_motion() -> None:
    ride = Ride()
    ride.riding(0.3)
    assert ride.controller.offer(make_record(ride.now + 0.1)) is StopReason.TRAJECTORY_NOT_CONTINUOUS


def test_a_first_trajectory_must_not_continue_another() -> None:
    ride = Ride()
    ride.tick(10)
    orphan = make_record(previous=make_record(), previous_time=0.5)
    assert ride.controller.offer(orphan) is StopReason.TRAJECTORY_NOT_CONTINUOUS


def test_a_start_from_rest_has_no_speed() -> None:
    ride = Ride()
    ride.tick(10)
    moving = make_record(ride.now + 0.1, plan=Bezier(Q0, 0.1 * K, np.zeros(N), K, 1.0))
    assert ride.controller.offer(moving) is StopReason.TRAJECTORY_NOT_CONTINUOUS


@pytest.mark.parametrize(("position", "velocity"), [(1.0, 0.0), (-1.0, 0.0), (0.0, 0.00295), (0.0, -0.004)], ids=str)
def test_the_robot_must_rest_where_the_trajectory_starts(position: float, velocity: float) -> None:
    """One encoder step off, or faster than the certifier takes for rest with the sensor's error on top."""
    ride = Ride()
    start = ride.now + 0.16

    def change(reading: RawJointState) -> list[RawJointState]:
        # Speed for an instant only: before long it would contradict positions that do not change.
        fast = velocity if abs(reading.stamp - start) < 0.02 else 0.0
        shifted = reading.position + position * ROBOT.encoder_step
        return [reading._replace(position=shifted, velocity=reading.velocity + fast)]

    ride.change = change
    ride.tick(110)
    record = make_record(start)
    assert not ride.controller.offer(record)
    output = ride.tick(100)
    assert (output.mode, output.torque) == (Mode.IDLE, None)
    assert (output.refused_id, output.refused_reason) == (record.id, StopReason.TRAJECTORY_NOT_CONTINUOUS)


@pytest.mark.parametrize(("steps", "mode"), [(1.0, Mode.TRACKING), (-1.0, Mode.TRACKING), (2.0, Mode.IDLE)])
def test_a_start_may_be_off_by_what_the_certifier_lets_it(steps: float, mode: Mode) -> None:
    """Half a millirad and half an encoder step: a robot held by feedback moves to and fro by a step."""
    ride = Ride(rest_distance=0.0005)
    ride.change = lambda reading: [reading._replace(position=reading.position + steps * ROBOT.encoder_step)]
    ride.tick(110)
    assert not ride.controller.offer(make_record(ride.now + 0.05))
    assert ride.tick(100).mode is mode


def test_no_start_before_joint_states_have_been_sound_for_a_while() -> None:
    ride = Ride()
    ride.tick(20)
    record = make_record(ride.now + 0.05)
    assert not ride.controller.offer(record)
    output = ride.tick(60)
    assert (output.mode, output.refused_reason) == (Mode.IDLE, StopReason.JOINT_STATES_LOST)


# --- Bounds ---------------------------------------------------------------------------------------------------------


def test_tighter_bounds_leave_what_was_certified_for_wider_ones() -> None:
    ride = Ride()
    first = ride.riding(0.3)
    assert not ride.controller.offer(make_record(previous=first, previous_time=0.5))
    assert not ride.controller.bounds(TIGHT.lower, TIGHT.upper, Status.PROVEN)
    ride.until(first.start + 0.7)
    assert ride.controller.mode is Mode.TRACKING
    assert ride.controller.trajectory is not first


def test_a_trajectory_for_narrower_bounds_than_those_in_force_is_refused() -> None:
    ride = Ride()
    ride.tick(10)
    assert ride.controller.offer(make_record(ride.now + 0.2, bounds=TIGHT)) is StopReason.TRAJECTORY_OTHER_BOUNDS


def _wider() -> tuple[np.ndarray, np.ndarray]:
    return PRIOR.lower - 0.01, PRIOR.upper


@pytest.mark.parametrize(
    ("ends", "status", "reason"),
    [
        (_wider(), Status.PROVEN, StopReason.BOUNDS_WIDENED),
        (_wider(), Status.WAITING, StopReason.BOUNDS_WIDENED),
        (_wider(), Status.UNWEIGHED, StopReason.BOUNDS_WIDENED),
        ((np.full(10, np.nan), np.full(10, np.nan)), Status.INCONSISTENT, StopReason.BOUNDS_INCONSISTENT),
        ((TIGHT.lower, TIGHT.upper), Status.INCONSISTENT, StopReason.BOUNDS_INCONSISTENT),
        ((TIGHT.lower, TIGHT.upper), Status.ESTIMATED, StopReason.BOUNDS_INVALID),
        ((TIGHT.lower, TIGHT.upper), Status.DOUBTFUL, StopReason.BOUNDS_INVALID),
        ((TIGHT.upper, TIGHT.lower), Status.PROVEN, StopReason.BOUNDS_INVALID),
        ((np.full(10, np.nan), TIGHT.upper), Status.PROVEN, StopReason.BOUNDS_INVALID),
        ((TIGHT.lower, np.full(10, np.inf)), Status.PROVEN, StopReason.BOUNDS_INVALID),
        ((TIGHT.lower[:9], TIGHT.upper[:9]), Status.PROVEN, StopReason.BOUNDS_INVALID),
    ],
)
def test_bounds_that_end_the_proof_are_braked_for(
    ends: tuple[np.ndarray, np.ndarray], status: Status, reason: StopReason
) -> None:
    """The tail is followed to rest; what waited, and what comes after, is refused with the reason."""
    ride = Ride()
    first = ride.riding(0.3)
    waiting = make_record(previous=first, previous_time=0.5)
    assert not ride.controller.offer(waiting)
    assert ride.controller.bounds(*ends, status) is reason
    assert ride.controller.pending is None
    output = ride.tick()
    assert (output.mode, output.reason, output.stop) == (Mode.BRAKING, reason, None)
    assert output.torque is not None
    assert output.refused_id == waiting.id
    wide = Bounds(*_wider())
    assert ride.controller.offer(make_record(previous=first, previous_time=0.5, bounds=wide)) is reason
    output = ride.until(first.start + 1.2)
    assert (output.mode, output.reason) == (Mode.HOLDING, reason)
    assert output.torque is not None


@pytest.mark.parametrize("status", [Status.ESTIMATED, Status.DOUBTFUL])
def test_bounds_that_are_not_proven_count_where_they_are_let_in(status: Status) -> None:
    ride = Ride(estimates=True)
    first = ride.riding(0.3)
    assert not ride.controller.bounds(TIGHT.lower, TIGHT.upper, status)
    assert not ride.controller.offer(make_record(previous=first, previous_time=0.5, bounds=TIGHT))
    assert ride.controller.bounds(TIGHT.lower, TIGHT.upper, Status.INCONSISTENT) is StopReason.BOUNDS_INCONSISTENT


def test_a_waiting_trajectory_falls_with_the_proof_that_it_continues() -> None:
    """It was certified for the wider bounds itself, but from errors that were proven for the narrower ones."""
    ride = Ride()
    wide = Bounds(*_wider())
    assert not ride.controller.bounds(TIGHT.lower, TIGHT.upper, Status.PROVEN)
    first = ride.riding(0.3)
    waiting = make_record(previous=first, previous_time=0.5, bounds=wide)
    assert not ride.controller.offer(waiting)
    assert ride.controller.bounds(wide.lower, wide.upper, Status.WAITING) is StopReason.BOUNDS_WIDENED
    assert ride.controller.pending is None
    output = ride.until(first.start + 0.7)
    assert (output.mode, output.trajectory_id) == (Mode.BRAKING, first.id)
    assert (output.refused_id, output.refused_reason) == (waiting.id, StopReason.BOUNDS_WIDENED)


def test_after_wider_bounds_nothing_is_accepted_until_the_robot_holds_itself() -> None:
    """What is proven for narrower bounds is worth nothing, how the controller may still move the robot included."""
    ride = Ride()
    first = ride.riding(0.3)
    wide = Bounds(*_wider())
    ride.controller.bounds(wide.lower, wide.upper, Status.WAITING)
    ride.until(first.start + 1.2)
    continued = make_record(previous=first, previous_time=1.4, bounds=wide)
    assert ride.controller.offer(continued) is StopReason.BOUNDS_WIDENED
    assert ride.controller.start_rate == np.inf
    fresh = replace_fields(make_record(ride.now + 0.1, plan=ride.rest(), bounds=wide), start_rate=1e6)
    assert ride.controller.offer(fresh) is StopReason.BOUNDS_WIDENED
    ride.controller.stop(StopReason.REQUESTED)
    ride.controller.reset()
    ride.tick(110)
    assert ride.controller.start_rate == 0.0
    fresh = make_record(ride.now + 0.1, plan=ride.rest(), bounds=wide)
    assert not ride.controller.offer(fresh)
    output = ride.until(fresh.start + 0.1)
    assert (output.mode, output.reason, output.trajectory_id) == (Mode.TRACKING, StopReason.NONE, fresh.id)


@pytest.mark.parametrize("named", [{"body": "forearm_link"}, {"target": "payload"}])
def test_bounds_of_something_else_are_unusable(named: dict[str, str]) -> None:
    ride = Ride()
    ride.riding(0.2)
    assert ride.controller.bounds(TIGHT.lower, TIGHT.upper, Status.PROVEN, **named) is StopReason.BOUNDS_INVALID


def test_good_bounds_after_unusable_ones_end_the_refusals() -> None:
    ride = Ride()
    first = ride.riding(0.3)
    ride.controller.bounds(TIGHT.lower[:3], TIGHT.upper, Status.PROVEN)
    assert not ride.controller.bounds(TIGHT.lower, TIGHT.upper, Status.PROVEN)
    assert not ride.controller.offer(make_record(previous=first, previous_time=0.5))
    ride.until(first.start + 0.6)
    assert (ride.controller.mode, ride.controller.reason) == (Mode.TRACKING, StopReason.NONE)


# --- Obstacles ------------------------------------------------------------------------------------------------------


def test_other_obstacles_are_met_by_a_trajectory_certified_among_them() -> None:
    ride = Ride()
    first = ride.riding(0.3)
    ride.controller.scene("other")
    assert ride.controller.offer(make_record(previous=first, previous_time=0.4)) is StopReason.TRAJECTORY_OTHER_SCENE
    output = ride.tick()
    assert (output.mode, output.reason) == (Mode.TRACKING, StopReason.SCENE_CHANGED)
    second = make_record(previous=first, previous_time=0.4, scene_id="other")
    assert not ride.controller.offer(second)
    output = ride.until(first.start + 0.7)
    assert (output.mode, output.reason, output.trajectory_id) == (Mode.TRACKING, StopReason.NONE, second.id)


@pytest.mark.parametrize("late_plan", [False, True])
def test_without_one_in_time_the_robot_s_own_stop_is_called(late_plan: bool) -> None:
    ride = Ride()
    first = ride.riding(0.3)
    changed = ride.now
    ride.controller.scene("other")
    ride.tick(20)
    ride.controller.scene("third")  # a second change does not give more time
    if late_plan:
        assert not ride.controller.offer(make_record(previous=first, previous_time=0.9, scene_id="third"))
    ride.tick(900)
    stopped = [output for output in ride.outputs if output.stop is not None]
    assert [output.stop for output in stopped] == [StopReason.SCENE_CHANGED]
    assert stopped[0].stamp - changed == pytest.approx(GRACE, abs=2e-3)
    assert ride.outputs[-1].mode is Mode.STOPPED


def test_obstacles_that_change_back_are_no_change() -> None:
    ride = Ride()
    ride.riding(0.2)
    ride.controller.scene("other")
    ride.tick(100)
    ride.controller.scene(SCENE)
    ride.tick(600)
    assert ride.controller.mode is Mode.BRAKING
    assert ride.controller.reason is StopReason.PLANNER_SILENT


def test_obstacles_that_change_at_rest_stop_nothing() -> None:
    ride = Ride()
    ride.riding(1.05)
    ride.controller.scene("other")
    ride.tick(1000)
    assert ride.controller.mode is Mode.HOLDING


def test_a_waiting_trajectory_among_former_obstacles_is_dropped() -> None:
    ride = Ride()
    first = ride.riding(0.3)
    waiting = make_record(previous=first, previous_time=0.4)
    assert not ride.controller.offer(waiting)
    ride.controller.scene("other")
    assert ride.controller.pending is None
    assert ride.tick().refused_reason is StopReason.TRAJECTORY_OTHER_SCENE


def test_unknown_obstacles_are_braked_for() -> None:
    ride = Ride()
    first = ride.riding(0.3)
    ride.controller.scene(None)
    assert ride.controller.offer(make_record(previous=first, previous_time=0.5)) is StopReason.SCENE_INVALID
    output = ride.until(first.start + 1.2)
    assert (output.mode, output.reason) == (Mode.HOLDING, StopReason.SCENE_INVALID)


# --- Errors and limits ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("energy", "norm"), [(1e-9, 0.05), (0.05, 1e-9)])
def test_an_error_beyond_what_is_proven_calls_the_robot_s_own_stop_once(energy: float, norm: float) -> None:
    ride = Ride()
    ride.riding(0.2, proof=certificate(energy=energy, norm=norm))
    assert ride.controller.mode is Mode.TRACKING  # the sensors' errors are not held against it
    ride.astray = np.full(N, 0.02)
    ride.tick(200)
    assert [output.stop for output in ride.outputs if output.stop is not None] == [StopReason.TRACKING_ERROR]
    assert (ride.outputs[-1].mode, ride.outputs[-1].torque) == (Mode.STOPPED, None)


def test_a_torque_at_its_limit_is_clipped_and_braked_for() -> None:
    weak = replace(ROBOT, limits=replace(ROBOT.limits, torque=np.array([90.0, 18.0, 90, 90, 45, 45, 45])))
    ride = Ride(robot=weak)
    first = ride.riding(0.2)
    torques = np.array([output.torque for output in ride.outputs if output.torque is not None])
    assert np.abs(torques).max(axis=0)[1] == 18.0
    assert (ride.controller.mode, ride.controller.reason) == (Mode.BRAKING, StopReason.TORQUE_SATURATED)
    refused = ride.controller.offer(make_record(previous=first, previous_time=0.5))
    assert refused is StopReason.TORQUE_SATURATED
    ride.until(first.start + 1.1)
    assert (ride.controller.mode, ride.controller.reason) == (Mode.HOLDING, StopReason.TORQUE_SATURATED)


# --- Stops and resets -----------------------------------------------------------------------------------------------


def test_a_stop_on_request_follows_the_certified_tail() -> None:
    ride = Ride()
    first = ride.riding(0.3)
    assert not ride.controller.offer(make_record(previous=first, previous_time=0.5))
    ride.controller.brake()
    output = ride.until(first.start + 1.1)
    assert (output.mode, output.reason) == (Mode.HOLDING, StopReason.REQUESTED)
    assert ride.controller.offer(make_record(previous=first, previous_time=1.3)) is StopReason.REQUESTED


def test_nothing_is_commanded_or_accepted_between_a_stop_and_its_reset() -> None:
    ride = Ride()
    first = ride.riding(0.3)
    assert ride.controller.stop(StopReason.REQUESTED).stop is StopReason.REQUESTED
    assert ride.controller.stop(StopReason.TRACKING_ERROR).stop is None  # given once
    assert ride.controller.offer(make_record(previous=first, previous_time=0.5)) is StopReason.REQUESTED
    output = ride.tick(50)
    assert (output.mode, output.reason, output.torque, output.stop) == (Mode.STOPPED, StopReason.REQUESTED, None, None)
    ride.controller.reset()
    assert ride.tick().mode is Mode.IDLE
    ride.tick(110)
    again = make_record(ride.now + 0.05, plan=ride.rest())
    assert not ride.controller.offer(again)
    assert ride.until(again.start + 0.1).mode is Mode.TRACKING


def test_bounds_and_obstacles_outlive_a_reset() -> None:
    ride = Ride()
    ride.controller.bounds(*_wider(), Status.WAITING)
    ride.controller.scene("other")
    ride.controller.reset()
    ride.tick(10)
    assert ride.controller.offer(make_record(scene_id="other")) is StopReason.TRAJECTORY_OTHER_BOUNDS
    wide = Bounds(*_wider())
    assert ride.controller.offer(make_record(bounds=wide)) is StopReason.TRAJECTORY_OTHER_SCENE
    assert not ride.controller.offer(make_record(bounds=wide, scene_id="other"))


# --- Proofs of one's own --------------------------------------------------------------------------------------------


def test_by_default_nothing_goes_without_a_proof_of_its_own() -> None:
    ride = Ride(ControllerConfig())
    ride.tick(10)
    record, own = make_record(START + 0.5), certificate()
    assert not ride.controller.consider(record)
    assert ride.controller.offer(record) is StopReason.TRAJECTORY_NOT_CERTIFIED
    assert ride.controller.offer(record, replace(own, verdict=Verdict.TORQUE)) is StopReason.TRAJECTORY_NOT_CERTIFIED
    assert ride.controller.pending is None
    assert not ride.controller.offer(record, own)


@pytest.mark.parametrize("claim", [{"energy": 0.049}, {"norm": 0.049}, {"limit": 21.0}, {"margin": 1.01}], ids=str)
def test_what_claims_more_than_the_own_proof_is_refused(claim: dict[str, float]) -> None:
    ride = Ride(ControllerConfig(recertify=True))
    ride.tick(10)
    record = make_record(START + 0.5, proof=certificate(**claim))
    assert ride.controller.offer(record, certificate()) is StopReason.TRAJECTORY_NOT_CERTIFIED


def test_the_own_proof_s_numbers_are_executed() -> None:
    """What the planner proved is wider than what follows from it."""
    ride = Ride(ControllerConfig(recertify=True))
    ride.tick(10)
    sent, own = make_record(START + 0.5, proof=certificate(energy=0.06, margin=0.9)), certificate()
    assert not ride.controller.offer(sent, own)
    pending = ride.controller.pending
    assert pending is not None
    assert pending.id == sent.id
    np.testing.assert_array_equal(pending.robust_limit, own.robust_limit)
    assert own.envelope is not None
    np.testing.assert_array_equal(pending.error_energy, own.envelope.level)
    np.testing.assert_array_equal(pending.error_rate, own.envelope.speed)


def test_what_is_wrong_anyway_is_refused_before_anything_is_proven() -> None:
    ride = Ride(ControllerConfig(recertify=True))
    ride.tick(10)
    record = make_record(START + 0.5, scene_id="other")
    assert ride.controller.consider(record) is StopReason.TRAJECTORY_OTHER_SCENE
    output = ride.tick()
    assert (output.refused_id, output.refused_reason) == (record.id, StopReason.TRAJECTORY_OTHER_SCENE)


# --- The nominal model that a proof was made for ---------------------------------------------------------------------


def test_the_law_feeds_forward_what_the_trajectory_was_proven_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any body within the bounds, whatever this machine would have solved for, or could not."""
    own = make_record()
    other = replace_fields(own, nominal=own.nominal + 0.02 * (own.upper - own.nominal))
    ride = Ride()
    context = ride.controller._context

    def refuse(*_: object) -> None:
        raise AssertionError("nobody is to solve for a model that the record has")

    monkeypatch.setattr(model_box_module, "constrained_quadratic", refuse)
    torque = []
    for record in (own, other):
        made = Execution(record, context)
        desired = made.desired_state(0.3)
        torque.append(made.command(desired.q, desired.qd, desired).torque)
        law = RobustLaw(ROBOT, _bodies(record.nominal), ROBOT.motor, CONTROL)
        expected = law.command(desired.q, desired.qd, desired, record.robust_limit).torque
        np.testing.assert_allclose(torque[-1], expected, rtol=1e-12)
    assert np.abs(torque[0] - torque[1]).max() > 0.01


def _bodies(nominal: np.ndarray) -> np.ndarray:
    bodies = ROBOT.inertial_parameters()
    bodies[ROBOT.body_index()] = nominal
    return bodies


@pytest.mark.parametrize("wrong", ["outside", "unphysical", "nan", "short"])
def test_a_nominal_model_that_is_none_of_the_box_is_refused(wrong: str) -> None:
    record = make_record()
    nominal = record.nominal.copy()
    if wrong == "outside":
        nominal[0] = np.nextafter(record.upper[0] + 1e-12, np.inf)
    elif wrong == "unphysical":
        nominal[[4, 6, 9]] = [0.001, 0.001, 0.19]
    elif wrong == "nan":
        nominal[3] = np.nan
    else:
        nominal = nominal[:9]
    ride = Ride()
    ride.tick(10)
    assert ride.controller.offer(replace_fields(record, nominal=nominal)) is StopReason.TRAJECTORY_INVALID


# --- What is said of a motion that goes on, or ends as it should -----------------------------------------------------


def test_a_trajectory_that_is_meant_to_be_the_last_ends_without_a_complaint() -> None:
    ride = Ride()
    ride.tick(110)
    record = replace_fields(make_record(ride.now + 0.05), last=True)
    assert not ride.controller.offer(record)
    ride.until(record.start + 1.1)
    assert _modes(ride) == [
        (Mode.IDLE, StopReason.NONE),
        (Mode.TRACKING, StopReason.NONE),
        (Mode.HOLDING, StopReason.PLAN_ENDED),
    ]


def test_the_last_can_be_followed_by_another_after_all() -> None:
    ride = Ride()
    ride.tick(110)
    record = replace_fields(make_record(ride.now + 0.05), last=True)
    assert not ride.controller.offer(record)
    ride.until(record.start + 0.7)
    second = make_record(previous=record, previous_time=0.8)
    assert not ride.controller.offer(second)
    ride.until(second.start + 0.1)
    assert ride.controller.trajectory is second


def test_bounds_that_cease_are_told_of_while_motion_goes_on() -> None:
    ride = Ride(ControllerConfig(bounds_silence=0.4, recertify=False))
    first = ride.riding(0.2)
    assert not ride.controller.bounds(PRIOR.lower, PRIOR.upper, Status.WAITING)
    heard = ride.now
    ride.until(first.start + 0.4)
    second = make_record(previous=first, previous_time=0.5)
    assert not ride.controller.offer(second)
    output = ride.until(second.start + 0.3)
    assert (output.mode, output.reason, output.stop) == (Mode.TRACKING, StopReason.BOUNDS_SILENT, None)
    assert output.torque is not None
    silent = next(output.stamp for output in ride.outputs if output.reason is StopReason.BOUNDS_SILENT)
    assert silent - heard == pytest.approx(0.4, abs=2e-3)
    assert not ride.controller.bounds(PRIOR.lower, PRIOR.upper, Status.WAITING)
    assert ride.tick().reason is StopReason.NONE


def test_a_command_that_took_too_long_ends_the_proof() -> None:
    ride = Ride(control=replace(CONTROL, delay=0.002))
    assert ride.controller.note_sent(1.0) is None, "nothing is commanded yet"
    ride.riding(0.2)
    assert ride.controller.note_sent(0.00199) is None
    output = ride.controller.note_sent(0.00201)
    assert output is not None
    assert (output.mode, output.reason, output.stop) == (Mode.STOPPED, *[StopReason.COMMAND_LATE] * 2)


def test_a_change_of_obstacles_says_that_nothing_is_proven_meanwhile() -> None:
    ride = Ride()
    ride.riding(0.2)
    ride.controller.scene("other")
    output = ride.tick()
    assert output.reason is StopReason.SCENE_CHANGED
    assert "nothing is proven" in output.text
    ride.tick(900)
    assert ride.outputs[-1].text == StopReason.SCENE_CHANGED.message
