# SPDX-License-Identifier: Apache-2.0
"""The simulated arm moves by itself: an exciting motion, where no controller commands it."""

from __future__ import annotations

from collections.abc import Iterator

from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.robots import Robot
from sysid_nodes.simulation.arm.controller import ComputedTorque
from sysid_nodes.simulation.arm.excitation import FourierTrajectory, check_limits
from sysid_nodes.simulation.arm.simulated_arm import SimulatedArm

BANDWIDTH = 20.0
"""[rad/s] Tracks the Gen3's excitation to 3 mrad with 3 kg that the controller does not know of."""


class Playback:
    """Tracks a motion by inverse dynamics of the nominal robot, which does not know what the arm carries.

    What holds the arm at the start stays as a constant torque on top, so that the motion begins without a jerk. It
    begins at once, and a protective stop ends it for good.

    Args:
        robot: nominal, without payload.
        trajectory: what the arm follows, from now on.
        arm: held where the trajectory begins; its commands act at once (delay 0).

    Raises:
        ConfigError: the trajectory does not fit the robot or leaves its limits.
    """

    def __init__(self, robot: Robot, trajectory: FourierTrajectory, arm: SimulatedArm) -> None:
        check_limits(trajectory, robot.limits)
        self._trajectory, self._arm, self._begin = trajectory, arm, arm.now
        self._controller = ComputedTorque(robot, bandwidth=BANDWIDTH)
        self._balance = self._controller.imbalance(arm.q, arm.torque)
        self._command()

    def drive(self) -> None:
        """Commands the torque of the present instant."""
        if self._arm.commanded and self._arm.stop is None:
            self._command()

    def run(self, duration: float) -> Iterator[RawJointState]:
        """Readings at the ends of the next ticks, over ``duration`` [s], computed as they are asked for."""
        end = self._arm.now + duration - 1e-9
        while self._arm.now < end:
            self.drive()
            yield self._arm.step()

    def _command(self) -> None:
        arm = self._arm
        reference = self._trajectory(arm.now - self._begin)
        arm.command(self._controller.torque(reference, arm.q, arm.qd) + self._balance, arm.now)
