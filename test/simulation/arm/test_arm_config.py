# SPDX-License-Identifier: Apache-2.0
"""The simulated robot as the node runs it, without the node: its readings keep what the identifier assumes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shared.quick_and_slow import mark_slow

from sysid_nodes.data.scene import Obstacle, Scene, scene_of
from sysid_nodes.exceptions import InputError
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.robust_control import RobustControlConfig, RobustLaw
from sysid_nodes.results import Status
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.robots.covering import covering_shapes
from sysid_nodes.robots.kinova_gen3.payloads import PayloadVolumeConfig
from sysid_nodes.sessions.interval.session import IntervalSession
from sysid_nodes.simulation.arm import HardwareConfig
from sysid_nodes.simulation.arm.config import ArmSimulationConfig, JointFaultConfig, build_arm
from sysid_nodes.simulation.arm.true_clearance import TrueClearance
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig, NoiseConfig

ARM = ArmSimulationConfig(hardware=HardwareConfig(robot_error=0.05))
K = np.array([0.8, 0.5, -0.8, 0.5, 1.0, -0.6, 1.0])


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load_robot("kinova_gen3")


def identified(robot: Robot, interpolation: str, seed: int) -> tuple[IntervalSession, bool]:
    """An identifier that has watched a tracked trajectory, and whether the truth was in all bounds."""
    arm = build_arm(robot, ARM, np.random.default_rng(seed), now=1.0)
    law = RobustLaw(robot, arm.truth.parameters, robot.motor, RobustControlConfig())
    # Acceleration jumps with the torque at a stamp, never within a tick.
    noise = NoiseConfig(torque_interpolation=interpolation, velocity_error=(5e-5,), jerk=(20.0,))
    session = IntervalSession(robot, IntervalIdentifierConfig(noise=noise), memory=20.0)
    plan, begin, still = Bezier(arm.q, np.zeros(7), np.zeros(7), K, 2.0), arm.now, arm.q
    reading, contained = arm.reading(), True
    for _ in range(2500):
        result = session.process(reading)
        if result is not None and result.status is not Status.INCONSISTENT:
            contained &= bool(((result.lower <= arm.truth.theta) & (arm.truth.theta <= result.upper)).all())
        t = max(arm.now - begin - 0.2, 0.0)  # held by itself at first
        if t > 0.0:
            full = reading.position + 2.0 * np.pi * np.round((arm.q - reading.position) / (2.0 * np.pi))
            arm.command(law.command(full, reading.velocity, plan(t), np.full(7, 30.0)).torque, arm.now)
        reading = arm.step()
    assert np.abs(arm.q - still - K).max() < 0.02
    return session, contained


@pytest.mark.parametrize("seed", mark_slow([0, 1], but=[0]))
def test_the_truth_is_in_every_bound_where_effort_is_taken_for_what_acted_until_its_stamp(
    robot: Robot, seed: int
) -> None:
    session, contained = identified(robot, "until", seed)
    assert contained
    assert session.result.status in (Status.NOT_EXCITED, Status.PROVEN)
    # No window is lost, and the motion tells the mass within 15 % of the prior.
    assert not {reason for reason in session.rejected if "above its bound" in reason}
    assert session.result.upper[0] - session.result.lower[0] < 0.15 * 4.0


def test_what_identifiers_assume_by_default_is_too_smooth_for_held_torques(robot: Robot) -> None:
    session, contained = identified(robot, "linear", 0)
    assert contained
    assert session.rejected["torque rate above its bound"] > 1000


def test_in_lockstep_a_command_acts_at_once_whatever_the_drive_s_delay(robot: Robot) -> None:
    for lockstep in (True, False):
        arm = build_arm(robot, replace(ARM, lockstep=lockstep), np.random.default_rng(0))
        arm.command(arm.torque + 1.0, arm.now)
        assert arm.commanded == lockstep


@pytest.mark.parametrize("pounds", [0.0, 4.0])
def test_what_the_hand_carries(robot: Robot, pounds: float) -> None:
    arm = build_arm(robot, replace(ARM, pounds=pounds), np.random.default_rng(0))
    hand = robot.inertial_parameters()[6, 0]
    assert arm.truth.theta[0] == pytest.approx(hand + 0.45359237 * pounds)
    given = tuple((arm.truth.theta - robot.inertial_parameters()[6]).tolist())
    if pounds:
        again = build_arm(robot, replace(ARM, payload=given), np.random.default_rng(0))
        np.testing.assert_allclose(again.truth.theta, arm.truth.theta, atol=1e-12)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"payload": (1.0,)}, "'simulated_arm.payload' needs 10 numbers, got 1"),
        ({"payload": (-1.0, *[0.0] * 9)}, "positive mass"),
        ({"grasp": (0.0,)}, "'simulated_arm.grasp' needs 3 numbers"),
        ({"start": (0.0, 1.0)}, "start' has 2 positions, robot 'kinova_gen3' has 7 joints"),
    ],
)
def test_a_robot_that_makes_no_sense_is_refused(robot: Robot, changes: dict[str, object], line: str) -> None:
    with pytest.raises(InputError, match=line):
        build_arm(robot, replace(ARM, **changes), np.random.default_rng(0))  # type: ignore[arg-type]


def test_a_fault_begins_with_the_first_command(robot: Robot) -> None:
    arm = build_arm(robot, ARM, np.random.default_rng(0))
    fault = JointFaultConfig(kind="off", start=0.003, duration=0.002).start_at(0.0)
    sent = []
    for _ in range(10):
        sent.append(len(fault.pass_on(arm.reading())))
        arm.step()
    assert sent == [1, 1, 1, 0, 0, 1, 1, 1, 1, 1]


def test_clearance_keeps_the_least_of_what_it_measures(robot: Robot) -> None:
    shapes = covering_shapes(robot, PayloadVolumeConfig())
    watch = TrueClearance(robot, shapes, Scene(), 0.1)
    q = np.array(ArmSimulationConfig().start)
    watch.measure(0.0, q)
    assert watch.itself.distance > 0.0
    assert watch.obstacle.first == ""
    ball = Scene((Obstacle("ball", "sphere", (0.6, 0.6, 0.6), (0.1,)),))
    watch.surround(ball)
    watch.measure(0.05, q)  # not due yet
    assert watch.obstacle.second == ""
    watch.measure(0.1, q)
    first = watch.obstacle
    assert first.second == "ball"
    watch.surround(Scene())
    watch.measure(0.2, q)
    assert watch.obstacle == first


def test_no_scene_is_an_empty_one() -> None:
    assert scene_of("") == Scene()


def test_torques_act_as_late_as_they_are_to(robot: Robot) -> None:
    arm = build_arm(robot, replace(ARM, torque_delay=0.002), np.random.default_rng(0), now=1.0)
    held = arm.torque
    arm.command(held + 1.0, stamp=1.0)
    acting = []
    for _ in range(4):
        acting.append(bool(np.allclose(arm.torque, held + 1.0)))
        reading = arm.step()
        # Effort is what acted up to the stamp, whatever the delay.
        assert acting[-1] == bool((np.abs(reading.effort - held) > 0.5).all())
    assert acting == [False, False, True, True]
