# SPDX-License-Identifier: Apache-2.0
"""The simulated position interface: holds until it is told, goes the short way, and hears nothing in a stop."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.simulation.arm.config import ArmSimulationConfig, build_arm
from sysid_nodes.simulation.arm.position_interface import PositionInterface
from sysid_nodes.simulation.arm.simulated_arm import SimulatedArm

CONFIG = ArmSimulationConfig(interface="position", pounds=2.0)


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load_robot("kinova_gen3")


def begin(robot: Robot) -> tuple[SimulatedArm, PositionInterface]:
    arm = build_arm(robot, CONFIG, np.random.default_rng(0))
    return arm, PositionInterface(robot, CONFIG.vendor, arm)


def run(arm: SimulatedArm, interface: PositionInterface, seconds: float) -> None:
    for _ in range(round(1000 * seconds)):
        interface.drive()
        arm.step()


def test_the_arm_holds_itself_until_it_is_told(robot: Robot) -> None:
    arm, interface = begin(robot)
    q = arm.q
    run(arm, interface, 0.1)
    assert not arm.commanded
    np.testing.assert_allclose(arm.q, q, atol=1e-3)


def test_joints_that_wrap_go_the_short_way(robot: Robot) -> None:
    """Told on the turn that drivers publish, as joint 3 begins at -3.68 rad."""
    arm, interface = begin(robot)
    q, goal = arm.q, arm.q + 0.1
    wrapped = np.mod(goal + np.pi, 2.0 * np.pi) - np.pi
    interface.follow(np.array([arm.now, arm.now + 1.0]), np.stack([wrapped - 0.1, wrapped]), None)
    run(arm, interface, 2.0)
    assert arm.commanded and arm.stop is None
    # The load bends a loop without an integral: some hundredths of a radian.
    np.testing.assert_allclose(arm.q, goal, atol=0.05)
    assert (np.abs(arm.q - q) > 0.04).all()


def test_nothing_is_heard_in_a_protective_stop(robot: Robot) -> None:
    arm, interface = begin(robot)
    arm.protective_stop("REQUESTED")
    q = arm.q
    interface.follow(np.array([arm.now]), (q + 0.5)[None], None)
    run(arm, interface, 0.3)
    assert not arm.commanded
    np.testing.assert_allclose(arm.q, q, atol=1e-3)
