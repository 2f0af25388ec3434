# SPDX-License-Identifier: Apache-2.0
"""A simulated arm's torque interface: commands from a controller in a process of its own, and lockstep with it.

Topics, in: ``torque_command`` (online_sysid/TorqueCommand) and, in lockstep, ``no_command`` (std_msgs/Header).

In lockstep, time stands still until the last joint state sent is answered: the torque acts from that state's stamp on,
however slow the machine is. Until the first answer, and in a protective stop, the arm holds itself and time runs.
``no_command`` is an answer, too, by which an idle controller says how far it has come. If the arm ran ahead of it, a
first trajectory would begin in the arm's past: the arm would miss its beginning, and be off by that.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from online_sysid.msg import TorqueCommand
from rclpy.executors import Executor
from rclpy.node import Node
from std_msgs.msg import Header

from sysid_nodes.data.nanoseconds import SECOND
from sysid_nodes.ros import qos
from sysid_nodes.ros.certified.controller_conversions import nanoseconds
from sysid_nodes.ros.simulation.arm_report import ArmReport
from sysid_nodes.simulation.arm.config import ArmSimulationConfig
from sysid_nodes.simulation.arm.simulated_arm import COMMAND_INVALID, COMMAND_TIMEOUT, SimulatedArm

_HOLDING_PATIENCE = 5.0  # real time to wait at least for a controller that has commanded nothing yet [s]


class TorqueInterface:
    """Hands commands on to the arm where they are not too old, and waits for them.

    Args:
        node: on whose topics.
        names: joints, in the arm's order.
        epoch: stamp of the arm's time zero [ns].
        arm: as `begin` takes it.
        report: is told of waiting and of commands that came too late.
    """

    def __init__(
        self,
        node: Node,
        config: ArmSimulationConfig,
        names: tuple[str, ...],
        epoch: int,
        arm: SimulatedArm,
        report: ArmReport,
    ) -> None:
        self._config, self._names, self._epoch, self._report = config, names, epoch, report
        self._sent = 0
        self.begin(arm)
        node.create_subscription(TorqueCommand, "torque_command", self._take, qos.stream("reliable", 100))
        if config.lockstep:
            node.create_subscription(Header, "no_command", self._take_none, qos.stream("reliable", 100))

    def begin(self, arm: SimulatedArm) -> None:
        """Takes an arm that holds itself; time runs until a controller answers."""
        self._arm, self._engaged = arm, False
        self._answered, self._late_since = self._sent, -np.inf

    def note_sent(self, stamp: int) -> None:
        """A joint state of a stamp [ns] went out."""
        self._sent = max(self._sent, stamp)

    @property
    def waits(self) -> bool:
        """Whether time stands still until an answer comes."""
        return self._config.lockstep and self._engaged and self._arm.stop is None

    @property
    def lags(self) -> bool:
        """Whether commands have come of late, but answered joint states that were too old."""
        return self._arm.now - self._late_since < 2.0 * self._config.hardware.command_timeout

    def wait(self, executor: Executor, stopped: Callable[[], bool]) -> None:
        """Waits for the answer to the last joint state sent; an arm under command that gets none stops itself."""
        if self._answered >= self._sent:
            return
        begun, patience = time.perf_counter(), self._config.reply_timeout
        while self.waits and self._answered < self._sent and not stopped():
            commanded = self._arm.commanded
            left = begun + (patience if commanded else max(patience, _HOLDING_PATIENCE)) - time.perf_counter()
            if left <= 0.0:
                if not commanded:  # it was asked for nothing yet, and goes on holding itself
                    self._engaged = False
                    return
                self._late_since = -np.inf
                self._arm.protective_stop(COMMAND_TIMEOUT)
                return
            executor.spin_once(left)
        self._report.note_wait(time.perf_counter() - begun)

    def _take(self, message: TorqueCommand) -> None:
        arm, stamp = self._arm, nanoseconds(message.header.stamp)
        if arm.stop is not None:
            return
        self._answered = max(self._answered, stamp)
        now = self._epoch + round(arm.now * SECOND)
        # An arm that still holds itself starts with the answer to its present state, and time waits for that.
        allowed = 0 if self.waits and not arm.commanded else round(self._config.command_age * SECOND)
        if not self._engaged:
            self._engaged = True
            allowed = 0 if self._config.lockstep else allowed
        if now - stamp > allowed:
            self._report.late += 1
            self._late_since = arm.now if arm.commanded else -np.inf
            return
        torque = np.array(message.torque)
        if tuple(message.joint_names) != self._names or torque.shape != (len(self._names),):
            arm.protective_stop(COMMAND_INVALID)
        else:
            arm.command(torque, (stamp - self._epoch) / SECOND)

    def _take_none(self, header: Header) -> None:
        """A controller is there and asks for nothing so far: from now on time waits for it."""
        if self._arm.stop is None and not self._arm.commanded:
            self._engaged, self._answered = True, max(self._answered, nanoseconds(header.stamp))
