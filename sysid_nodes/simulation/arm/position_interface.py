# SPDX-License-Identifier: Apache-2.0
"""A simulated arm behind a position interface: what a stock driver takes, on the arm's own clock."""

from __future__ import annotations

import numpy as np

from sysid_nodes.robots import Robot
from sysid_nodes.robots.robot import Array
from sysid_nodes.simulation.arm.simulated_arm import SimulatedArm
from sysid_nodes.simulation.arm.vendor_controller import VendorConfig, VendorPositionController


class PositionInterface:
    """The vendor's controller of one arm; until the first set-points the arm holds itself.

    Args:
        robot: nominal, without payload.
        config: of the vendor's controller.
        arm: what it moves; commands act at once (delay 0).
    """

    def __init__(self, robot: Robot, config: VendorConfig, arm: SimulatedArm) -> None:
        self._robot, self._arm = robot, arm
        self._controller = VendorPositionController(robot, config, arm.q, arm.now)
        self._follows = False

    def follow(self, t: Array, q: Array, qd: Array | None) -> None:
        """Takes set-points, as VendorPositionController; joints that wrap go the short way to the first.

        Nothing is taken in a protective stop.

        Args:
            t: (k,) on the arm's clock [s].
            q, qd: (k, n) in joint order [rad, rad/s].

        Raises:
            SamplesError: shapes do not fit, numbers are not finite or times do not increase.
        """
        if self._arm.stop is not None:
            return
        if not self._follows:
            self._controller.torque(self._arm.now, self._arm.q, self._arm.qd)
        turns = 2.0 * np.pi * np.round((self._arm.q - np.atleast_2d(q)[0]) / (2.0 * np.pi))
        shifted = np.asarray(q, dtype=np.float64) + np.where(self._robot.wraps, turns, 0.0)
        self._controller.follow(t, shifted, qd)
        self._follows = True

    def drive(self) -> None:
        """Commands the torque of the present instant."""
        arm = self._arm
        if self._follows and arm.stop is None:
            arm.command(self._controller.torque(arm.now, arm.q, arm.qd), arm.now)
