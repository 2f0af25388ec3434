# SPDX-License-Identifier: Apache-2.0
"""Joint states that are off, stuck, garbage, wrong but plausible, slow, delayed or intermittent end in a named stop.

The robot would follow its trajectory perfectly; all that is wrong is what the controller hears of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shared.certified_ride import ROBOT, START, TICK, Ride, make_record

from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.models.robust_control import RobustControlConfig
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.simulation.arm.joint_faults import FaultyJoints, JointFault
from sysid_nodes.systems.certified.control.config import ControllerConfig
from sysid_nodes.systems.certified.control.joint_watch import JointWatch
from sysid_nodes.systems.certified.control.output import Mode

LOST, FROZEN, INVALID, IMPLAUSIBLE, SLOW, DELAYED, INTERMITTENT = (
    StopReason[f"JOINT_STATES_{name}"]
    for name in ("LOST", "FROZEN", "INVALID", "IMPLAUSIBLE", "SLOW", "DELAYED", "INTERMITTENT")
)
WHEN = 0.3
"""Of the fault, into the trajectory [s]: joint 7 moves at 0.2 rad/s there."""


def _suffer(kind: str, size: float = 0.0, duration: float = np.inf, *, ride: Ride | None = None) -> Ride:
    """A ride with a fault from the first reading after WHEN into the trajectory on."""
    ride = ride or Ride()
    record = ride.riding(WHEN)
    ride.change = FaultyJoints(JointFault(kind, record.start + WHEN + 0.5 * TICK, duration, size)).pass_on
    ride.tick(400)
    return ride


@pytest.mark.parametrize(
    ("kind", "size", "duration", "reason"),
    [
        ("off", 0.0, np.inf, LOST),
        ("off", 0.0, 0.05, INTERMITTENT),
        ("stuck", 0.0, np.inf, FROZEN),
        ("stuck", 0.0, 0.05, FROZEN),
        ("stuck stamp", 0.0, np.inf, FROZEN),
        ("garbage", 0.0, np.inf, INVALID),
        ("garbage", 0.0, TICK, INVALID),
        ("absurd", 0.0, np.inf, INVALID),
        ("offset", 0.01, np.inf, IMPLAUSIBLE),
        ("offset", 3.0, np.inf, IMPLAUSIBLE),
        ("drift", 0.003, np.inf, IMPLAUSIBLE),
        ("one joint stuck", 0.0, np.inf, IMPLAUSIBLE),
        ("velocity scaled", 0.03, np.inf, IMPLAUSIBLE),
        ("velocity scaled", -2.0, np.inf, IMPLAUSIBLE),
        ("slow", 2.0, np.inf, SLOW),
        ("slow", 10.0, np.inf, SLOW),
        ("delayed", 1.0, np.inf, DELAYED),
        ("delayed", 50.0, np.inf, DELAYED),
        ("intermittent", 30.0, np.inf, INTERMITTENT),
        ("intermittent", 1.0, np.inf, INTERMITTENT),
        ("names", 0.0, np.inf, StopReason.JOINT_NAMES_WRONG),
        ("backwards", 0.0, np.inf, IMPLAUSIBLE),
    ],
)
def test_every_fault_ends_in_the_robot_s_own_stop_under_its_own_name(
    kind: str, size: float, duration: float, reason: StopReason
) -> None:
    ride = _suffer(kind, size, duration)
    stops = [k for k, output in enumerate(ride.outputs) if output.stop is not None]
    assert len(stops) == 1
    # A slow stream shows as a single gap first; its name follows once nearly all gaps are long.
    assert ride.outputs[stops[0]].stop is (INTERMITTENT if reason is SLOW else reason)
    assert (ride.controller.mode, ride.controller.reason) == (Mode.STOPPED, reason)
    assert all(output.torque is None for output in ride.outputs[stops[0] :])


@pytest.mark.parametrize(
    ("kind", "size", "within"),
    [
        ("off", 0.0, 0.102),
        ("stuck", 0.0, 0.012),
        ("garbage", 0.0, 0.001),
        ("offset", 0.01, 0.001),
        ("slow", 2.0, 0.002),
        ("drift", 0.003, 0.25),
        ("velocity scaled", 0.03, 0.15),
        ("velocity scaled", 0.3, 0.01),
        ("one joint stuck", 0.0, 0.03),
    ],
)
def test_time_from_the_first_bad_reading_to_the_stop(kind: str, size: float, within: float) -> None:
    ride = Ride()
    record = ride.riding(WHEN)
    begins = record.start + WHEN + 0.5 * TICK
    ride.change = FaultyJoints(JointFault(kind, begins, size=size)).pass_on
    while ride.controller.mode is not Mode.STOPPED and ride.now < begins + 1.0:
        ride.tick()
    assert ride.now - begins <= within


def test_ages_are_held_to_the_delay_that_the_certificate_counts_on() -> None:
    """What a clock says, the most it can be wrong by and the way of a command together, and no later."""
    for delay, error, transport, age, good in (
        (0.002, 0.0, 0.0, 0.00199, True),
        (0.002, 0.0, 0.0, 0.00201, False),
        (0.002, 0.0005, 0.0, 0.00149, True),
        (0.002, 0.0005, 0.0, 0.00151, False),
        (0.002, 0.0005, 0.0007, 0.00079, True),
        (0.002, 0.0005, 0.0007, 0.00081, False),
        (0.0, 0.0, 0.0, 0.0, True),
        (0.0, 0.0, 0.0, 1e-6, False),
        (0.002, 0.0005, 0.0, -0.001, False),
    ):
        config = ControllerConfig(recertify=False, transport=transport)
        ride = Ride(config, control=RobustControlConfig(delay=delay), clock_error=error)
        ride.riding(0.1)
        ride.count += 1
        output = ride.controller.step(ride.reading(), ride.now, age)
        assert (output.stop is None) == good, age


@pytest.mark.parametrize("start", [0.0, 100.0, 1.764e9, 2.1e9])
def test_no_gap_is_let_pass_that_proofs_do_not_count_with(start: float) -> None:
    """To the last bit, and what the rounding of both stamps may hide."""
    control = RobustControlConfig(period=0.001)
    watch = JointWatch(ROBOT, control, ControllerConfig())
    passed = []
    for gap in (0.001, 0.001 + 4e-7, 0.001 + 8e-7, 0.001 + 2e-6):
        watch.reset()
        for k, stamp in enumerate((start, start + 0.0005, start + 0.0005 + gap)):
            reading = RawJointState(stamp, ROBOT.joint_names, np.full(7, 1e-6 * k), np.zeros(7), np.zeros(7))
            seen = watch.push(reading, stamp, None)
        if not seen.fault:
            passed.append(gap)
    assert passed and passed[0] == 0.001
    hidden = 2.0 * np.spacing(start + 1.0)
    assert max(passed) + hidden <= control.longest_period
    assert control.age == control.longest_period + control.delay


def test_unknown_ages_are_not_judged() -> None:
    ride = Ride()
    ride.riding(0.1)
    ride.count += 1
    assert ride.controller.step(ride.reading(), 1e9, None).torque is not None


def test_a_repeated_message_is_ignored() -> None:
    ride = Ride()
    ride.riding(0.1)
    ride.change = lambda reading: [reading, reading]
    ride.tick(20)
    answers = ride.outputs[-40:]
    assert [output.torque is None for output in answers] == [False, True] * 20
    assert ride.controller.mode is Mode.TRACKING


@pytest.mark.parametrize("kind", ["garbage", "off"])
def test_one_lost_reading_is_borne_where_the_certificate_s_period_has_room(kind: str) -> None:
    for lost in (1, 2):
        ride = _suffer(kind, duration=lost * TICK, ride=Ride(control=RobustControlConfig(period=0.002)))
        assert (ride.controller.mode is Mode.STOPPED) == (lost > 1)


def test_gaps_are_held_to_the_period_with_stamps_since_1970() -> None:
    """Their rounding, 0.24 us, is no gap; a thousandth of a period more is."""
    epoch = 1_764_000_000.0
    for stretch, good in ((1.0, True), (1.003, False)):
        ride = Ride()
        for k in range(300):
            reading = ride.reading()._replace(stamp=epoch + k * TICK * stretch)
            ride.controller.step(reading, k * TICK)
        assert (ride.controller.reason is StopReason.NONE) == good


@pytest.mark.parametrize("frozen_after", [0.2, 0.0])
def test_readings_that_repeat_at_rest(frozen_after: float) -> None:
    """A robot may report the very same numbers at rest; whether that counts is configured."""
    ride = Ride(ControllerConfig(frozen_after=frozen_after, recertify=False))
    ride.riding(1.1)
    assert ride.controller.mode is Mode.HOLDING
    last = ride.reading()
    ride.change = lambda reading: [last._replace(stamp=reading.stamp)]
    ride.tick(150)
    assert ride.controller.mode is Mode.HOLDING
    ride.tick(150)
    assert ride.controller.reason is (FROZEN if frozen_after else StopReason.PLANNER_SILENT)


@pytest.mark.parametrize(
    ("kind", "size", "reason"),
    [
        ("slow", 2.0, SLOW),
        ("garbage", 0.0, INVALID),
        ("names", 0.0, StopReason.JOINT_NAMES_WRONG),
        ("intermittent", 5.0, INTERMITTENT),
    ],
)
def test_nothing_starts_on_bad_joint_states(kind: str, size: float, reason: StopReason) -> None:
    ride = Ride()
    ride.change = FaultyJoints(JointFault(kind, START, size=size)).pass_on
    ride.tick(180)
    record = make_record(ride.now + 0.02)
    assert not ride.controller.offer(record)
    ride.tick(40)
    assert ride.controller.mode is Mode.IDLE
    assert all(output.torque is None and output.stop is None for output in ride.outputs)
    assert reason in {output.reason for output in ride.outputs}


def test_an_offset_from_the_first_reading_on_cannot_be_seen() -> None:
    """Known limit: positions and velocities agree with one another, and only the true robot is somewhere else."""
    ride = Ride()
    shift = 100.0 * ROBOT.encoder_step

    def change(reading: RawJointState) -> list[RawJointState]:
        # In execution what is measured follows the trajectory, and the robot follows `shift` away from it.
        return [reading if ride.controller.mode.commands else reading._replace(position=reading.position + shift)]

    ride.change = change
    ride.tick(110)
    plan = ride.rest()
    record = make_record(ride.now + 0.02, plan=replace(plan, q0=plan.q0 + shift))
    assert not ride.controller.offer(record)
    ride.tick(300)
    assert (ride.controller.trajectory, ride.controller.mode) == (record, Mode.TRACKING)


def test_check_speaks_only_while_torques_are_commanded() -> None:
    ride = Ride()
    assert ride.controller.check(1e9) is None
    ride.tick(5)
    assert ride.controller.check(1e9) is None
    ride.riding(0.1)
    assert ride.controller.check(ride.now + 0.05) is None
    answer = ride.controller.check(ride.now + 0.2)
    assert answer is not None
    assert answer.stop is LOST
    assert ride.controller.check(ride.now + 0.3) is None
