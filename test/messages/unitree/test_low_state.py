# SPDX-License-Identifier: Apache-2.0
"""LowState with stand-in types that have the vendor's fields: order of motors, tick, quaternion, units."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest
from shared.low_state import GoLowState, HgLowState, Motor

from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.exceptions import ConfigError, InputError
from sysid_nodes.messages.unitree.low_state import fill_low_state, from_low_state, low_state_type
from sysid_nodes.robots import load_robot
from sysid_nodes.signals.tick_clock import TickClock

GO2, G1 = load_robot("go2"), load_robot("g1")


def test_motors_come_in_the_vendor_s_order_and_go_to_their_joints_by_name() -> None:
    message = GoLowState(tick=5)
    for k, motor in enumerate(message.motor_state):
        motor.q, motor.dq, motor.tau_est = k, 100.0 + k, 200.0 + k
    reading = from_low_state(message, GO2, TickClock(), 50.0)
    assert reading.names[:4] == ("FR_hip_joint", "FR_thigh_joint", "FR_calf_joint", "FL_hip_joint")
    assert reading.names[6] == "RR_hip_joint"
    np.testing.assert_array_equal(reading.position, np.arange(12.0))
    np.testing.assert_array_equal(reading.velocity, 100.0 + np.arange(12.0))
    np.testing.assert_array_equal(reading.effort, 200.0 + np.arange(12.0))
    # the URDF goes FL, FR, RL, RR
    order = JointOrder(GO2.joint_names).columns(reading.names)
    np.testing.assert_array_equal(reading.position[order][:6], [3, 4, 5, 0, 1, 2])


def test_the_humanoid_s_29_motors_are_the_first_of_35() -> None:
    message = HgLowState()
    message.motor_state[28].q = 0.5
    reading = from_low_state(message, G1, TickClock(), 1.0)
    assert reading.names == G1.motor_order
    assert dict(zip(reading.names, reading.position, strict=True))["right_wrist_yaw_joint"] == 0.5


def test_the_quaternion_is_turned_from_w_first_to_w_last() -> None:
    message = GoLowState()
    message.imu_state.quaternion = np.array([0.5, 0.1, 0.2, 0.3])
    message.imu_state.gyroscope = np.array([1.0, 2.0, 3.0])
    message.imu_state.accelerometer = np.array([0.0, 0.0, 9.81])
    reading = from_low_state(message, GO2, TickClock(), 1.0)
    np.testing.assert_allclose(reading.orientation, [0.1, 0.2, 0.3, 0.5])
    np.testing.assert_allclose(reading.gyro, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(reading.accelerometer, [0.0, 0.0, 9.81])


def test_stamps_follow_the_tick_whatever_the_arrivals_do() -> None:
    clock, rng = TickClock(), np.random.default_rng(0)
    stamps, ticks = [], np.arange(0, 4000, 2)
    for tick in ticks:
        arrival = 1000.0 + 1e-3 * tick + rng.exponential(0.003)
        stamps.append(from_low_state(GoLowState(tick=int(tick)), GO2, clock, arrival).stamp)
    steps = np.diff(stamps)[1000:]
    assert (steps > 0.0).all()
    # the clock's slew is 0.2 %; arrivals jitter by more than a step
    np.testing.assert_allclose(steps, 2e-3, rtol=0.01)
    assert abs(stamps[-1] - (1000.0 + 1e-3 * ticks[-1])) < 2e-3


def test_what_was_filled_is_read_back() -> None:
    rng = np.random.default_rng(1)
    position, velocity, effort = rng.standard_normal((3, 29))
    turn = rng.standard_normal(4)
    turn /= np.linalg.norm(turn)
    message = HgLowState()
    fill_low_state(
        message,
        tick=(1 << 32) + 7,
        position=position,
        velocity=velocity,
        effort=effort,
        orientation=turn,
        gyro=np.array([1.0, 2.0, 3.0]),
        accelerometer=np.array([4.0, 5.0, 6.0]),
    )
    assert message.tick == 7
    reading = from_low_state(message, G1, TickClock(), 1.0)
    np.testing.assert_allclose(reading.position, position)
    np.testing.assert_allclose(reading.effort, effort)
    np.testing.assert_allclose(reading.orientation, turn, atol=1e-7)  # single precision


@pytest.mark.parametrize(
    ("message", "robot", "line"),
    [
        (GoLowState(motor_state=[Motor()] * 11), GO2, "LowState has 11 motors, robot 'go2' 12"),
        (HgLowState(mode_pr=1), G1, "LowState has ankles and waist in motor coordinates"),
    ],
)
def test_what_does_not_fit_the_robot_is_refused(message: object, robot: object, line: str) -> None:
    with pytest.raises(InputError, match=line):
        from_low_state(message, robot, TickClock(), 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(("robot", "package"), [(GO2, "unitree_go"), (G1, "unitree_hg")])
def test_the_type_is_the_one_of_the_robot_s_package(
    monkeypatch: pytest.MonkeyPatch, robot: object, package: str
) -> None:
    module = types.ModuleType(f"{package}.msg")
    module.LowState = GoLowState  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, package, types.ModuleType(package))
    monkeypatch.setitem(sys.modules, f"{package}.msg", module)
    assert low_state_type(robot) is GoLowState  # type: ignore[arg-type]


def test_a_package_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "unitree_go.msg", None)
    with pytest.raises(ConfigError, match="LowState of 'go2' needs the message package unitree_go, not installed"):
        low_state_type(GO2)


def test_a_robot_without_one_is_refused() -> None:
    with pytest.raises(ConfigError, match="robot 'kinova_gen3' has no LowState; those with one are go2, g1"):
        low_state_type(load_robot("kinova_gen3"))
