# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest

from sysid_nodes.exceptions import LogError
from sysid_nodes.systems.sampling.log import (
    Readings,
    Stream,
    motion_log,
    sound_imu,
    sound_joints,
    sound_pose,
    while_moving,
)

STEP = 0.01


def stream(t, width, value=None):
    values = np.tile(t[:, None], width) if value is None else np.tile(value, (len(t), 1))
    return Stream(t, values)


def readings(**changed):
    t = 100.0 + 0.01 * np.arange(100)
    upright = np.array([1.0, 0.0, 0.0, 0.0])
    own = {
        "joints": stream(t, 6),
        "set_points": stream(t[::4], 2),
        "imu": stream(t, 7, np.concatenate([upright, np.zeros(3)])),
        "pose": stream(t[::5], 7, np.concatenate([np.zeros(3), upright])),
    }
    return Readings(**{**own, **changed})


def test_joints_are_straight_between_readings_and_set_points_hold():
    log = motion_log(readings(), STEP / 2)
    np.testing.assert_allclose(log.q[:, 0], log.t, atol=1e-9)
    at = np.flatnonzero(np.isclose(log.t, 100.055))[0]
    assert log.target[at, 0] == pytest.approx(100.04)
    np.testing.assert_allclose(log.up, np.tile([0.0, 0.0, 1.0], (len(log), 1)), atol=1e-12)


def test_a_set_point_is_the_mean_over_the_step_that_begins_at_its_instant():
    """One that comes between two instants has acted for part of the step between them."""
    t = 100.0 + 0.01 * np.arange(100)
    changed = Stream(np.array([100.0, 100.4925, 101.0]), np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]]))
    log = motion_log(readings(set_points=changed), STEP)
    assert log.target[48:51, 0] == pytest.approx([0.0, 0.75, 1.0])
    assert len(log) == len(t)


def test_a_delay_makes_set_points_act_later():
    log = motion_log(readings(), STEP, delay=0.02)
    at = np.flatnonzero(np.isclose(log.t, 100.05))[0]
    assert log.target[at, 0] == pytest.approx(100.00)
    assert not log.usable[0], "nothing was commanded yet"


def test_poses_count_at_the_instants_next_to_them():
    log = motion_log(readings(), STEP)
    assert log.posed[:11].tolist() == [True, *[False] * 4, True, *[False] * 4, True]


def test_no_clip_crosses_a_hole():
    pose = readings().pose
    kept = (pose.t < 100.3) | (pose.t > 100.8)
    log = motion_log(readings(pose=Stream(pose.t[kept], pose.values[kept])), STEP)
    first = log.starts(10)
    assert len(first)
    assert not ((log.t[first] + 9 * STEP > 100.31) & (log.t[first] < 100.79)).any()


def test_motion_capture_that_is_lost_for_good_leaves_the_rest_of_the_log_unused():
    pose = readings().pose
    kept, values = pose.t < 100.4, pose.values.copy()
    values[:, 0] = pose.t
    log = motion_log(readings(pose=Stream(pose.t[kept], values[kept])), STEP)
    assert len(log) > 95
    last = pose.t[kept][-1]
    assert log.t[log.usable][-1] == pytest.approx(last)
    assert log.position[-1, 0] == pytest.approx(last), "nobody knows where it went from there"
    np.testing.assert_allclose(np.linalg.norm(log.rotation, axis=1), 1.0)


def test_a_quaternion_may_change_its_sign():
    pose = readings().pose
    values = pose.values.copy()
    values[1::2, 3:] *= -1.0
    log = motion_log(readings(pose=replace(pose, values=values)), STEP)
    np.testing.assert_allclose(np.abs(log.rotation[:, 0]), 1.0)


def test_streams_without_a_common_time_are_refused():
    late = readings().imu
    with pytest.raises(LogError, match=r"no time in common: .* 50\.0 \.\. 51\.0 s"):
        motion_log(readings(imu=Stream(late.t + 50.0, late.values)), STEP)


def test_a_stream_leaves_out_what_is_not_finite_and_wants_three_readings():
    rows = [
        (0.0, np.zeros(2)),
        (1.0, np.array([np.nan, 0.0])),
        (2.0, np.ones(2)),
        (1.5, np.ones(2)),
        (np.nan, np.ones(2)),
    ]
    found = Stream.of(rows, "joints")
    assert found.t.tolist() == [0.0, 1.5, 2.0]
    assert found.refused == 2
    with pytest.raises(LogError, match="2 usable readings of joints"):
        Stream.of(rows[:3], "joints")


def test_motion_capture_that_stands_still_or_says_nothing_is_lost_and_named():
    pose, rng = readings().pose, np.random.default_rng(0)
    values = pose.values + 1e-4 * rng.standard_normal(pose.values.shape)
    values[8:14] = values[7]
    values[16] = np.nan
    rows = list(zip(pose.t, values, strict=True))
    found = Stream.of(rows, "motion capture", noisy=True)
    assert (found.refused, found.repeated, len(found.t)) == (1, 6, 13)
    log = motion_log(readings(pose=found), STEP)
    lost = "readings that are not numbers or out of range: 1, readings that repeat the one before: 6"
    assert log.faults == (f"motion capture: silent for 0.39 of 1.00 s, {lost}",)
    assert log.t[~log.usable][0] == pytest.approx(100.36)
    with pytest.raises(LogError, match="0 usable readings of motion capture"):
        Stream.of([], "motion capture", noisy=True)
    with pytest.raises(LogError, match=r"1 usable readings of motion capture, .* repeat the one before: 19"):
        Stream.of([(t, values[7]) for t in pose.t], "motion capture", noisy=True)
    with pytest.raises(LogError, match=r"0 usable readings of joint states, .*; readings that are not numbers .*: 20"):
        Stream.of([(t, np.full(3, np.nan)) for t in pose.t], "joint states")
    with pytest.raises(LogError, match=r"the robot moves for 0\.0 s only.*; motion capture: silent for 0\.3"):
        while_moving(replace(log, q=np.zeros_like(log.q)))


def test_a_reading_now_and_then_that_is_no_number_is_told_and_costs_nothing():
    t = 100.0 + 0.01 * np.arange(100)
    values = np.tile(t[:, None], 6)
    values[50, 2] = np.nan
    joints = Stream.of(list(zip(t, values, strict=True)), "joint states")
    log = motion_log(readings(joints=joints), STEP)
    assert log.usable[:96].all(), "the last pose is of 0.95 s"
    assert log.faults == ("joint states: readings that are not numbers or out of range: 1",)


def test_readings_that_no_robot_can_have_are_refused():
    pose, imu = readings().pose, readings().imu
    t, values = pose.t, pose.values.copy()
    values[:, 0] = t
    values[5:7, :3] += [[40.0, 0.0, 0.0], [-700.0, 0.0, 3.0]]
    values[9, 3:] *= 30.0
    assert np.flatnonzero(~sound_pose(t, values)).tolist() == [5, 6, 9]
    values[12:, 0] += 0.5
    assert sound_pose(t, values)[10:].all(), "a tracker may be moved; what is fast is only the way there"
    spun = imu.values.copy()
    spun[3, 5] = 400.0
    assert np.flatnonzero(~sound_imu(imu.t, spun)).tolist() == [3]
    joints = np.zeros((4, 6))
    joints[1, 0], joints[2, 2], joints[3, 4] = 1e3, -1e3, 1e3
    assert sound_joints(t[:4], joints).tolist() == [True, False, False, True], "torques are not for us to judge"
    with pytest.raises(LogError, match="0 usable readings of pose"):
        Stream.of(list(zip(t, np.zeros((20, 7)), strict=True)), "pose", sound_pose)
