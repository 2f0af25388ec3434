# SPDX-License-Identifier: Apache-2.0
"""A simulated arm in a process of its own, with the firmware that guards it.

Topics, out: ``joint_states`` (sensor_msgs/JointState, once a tick, stamped by the arm's own clock; effort is the torque
that has acted since the stamp before), ``robot_stop`` (online_sysid/StopRequest, latched: the protective stop in force,
reason 0 when there is none) and ``/diagnostics``. In: ``stop_request``, ``obstacles`` (latched; for the true clearance
only) and, by ``simulated_arm.interface``:

- torque: ``torque_command`` and ``no_command``, in lockstep or not; see ros/simulation/torque_interface.py.
- position: JointTrajectory on ``joint_trajectory_controller/joint_trajectory``, as a stock driver takes it; time runs.
- playback: none. The arm plays an exciting motion, until a protective stop; ``~/restart`` begins it again.

Services (std_srvs/Trigger): ``~/release`` ends a protective stop, ``~/restart`` puts the arm back to where it started.
The parameters of the fault may change at any time. What the hand carries goes to ``truth_file``, never to a topic.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from online_sysid.msg import Obstacles, StopRequest
from rclpy.executors import Executor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.data.nanoseconds import SECOND
from sysid_nodes.data.scene import scene_of
from sysid_nodes.exceptions import SysidError
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.covering import covering_shapes
from sysid_nodes.robots.links import base_frame
from sysid_nodes.ros import qos
from sysid_nodes.ros.authority import Authority
from sysid_nodes.ros.certified.controller_conversions import JointStateWriter, nanoseconds, stop_request
from sysid_nodes.ros.certified.scene_messages import to_scene
from sysid_nodes.ros.certified.set_point_messages import set_points
from sysid_nodes.ros.diagnostics import component, diagnostic_array
from sysid_nodes.ros.frames import FrameLookup
from sysid_nodes.ros.parameters import NodeParameters
from sysid_nodes.ros.simulation.arm_report import ArmReport
from sysid_nodes.ros.simulation.torque_interface import TorqueInterface
from sysid_nodes.ros.spinning import make_executor, run_robot
from sysid_nodes.simulation.arm.config import JointFaultConfig, SimulatedArmConfig, build_arm, build_driver
from sysid_nodes.simulation.arm.driver_readings import DriverReadings
from sysid_nodes.simulation.arm.position_interface import PositionInterface
from sysid_nodes.simulation.arm.simulated_arm import COMMAND_TIMEOUT
from sysid_nodes.simulation.arm.true_clearance import TrueClearance

NAME = "simulated_arm"

_POSITIONS = "joint_trajectory_controller/joint_trajectory"
_REPORT_PERIOD = 0.2  # [s]
_SERVE_EVERY = 20  # ticks between two looks at timers and services where nothing else makes the executor run
_CATCH_UP = 0.05  # of delay is made up for by running faster; what is beyond is given up for good [s]
_QUEUE = 1000  # those that a listener which died has not acknowledged are dropped at one go, in 10 us each or more
_SETTLED = 0.5  # from the last listener's appearance to the first joint state [s]


class SimulatedArmNode(Node):
    """Steps the arm, publishes what its sensors say and takes commands.

    Raises:
        SysidError: a parameter is wrong, or the truth cannot be written.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NAME, **kwargs)
        settings = NodeParameters(self, (SimulatedArmConfig,), running=lambda: True, apply=self._reconfigure)
        config = settings.build(SimulatedArmConfig)
        self._config = config.simulated_arm
        self._robot = load_robot(config.robot, variant=config.variant)
        self._order = JointOrder(self._robot.joint_names)
        self._rng = np.random.default_rng(self._config.seed)
        self._arm = build_arm(self._robot, self._config, self._rng)
        self._driver = build_driver(self._robot, self._config, self._arm)
        self._readings = DriverReadings(self._config.driver, self._robot.n, self._rng)
        shapes = covering_shapes(self._robot, config.payload_volume)
        clearance = TrueClearance(self._robot, shapes, scene_of(config.scene), self._config.clearance_period)
        self._report = ArmReport(component(self), self._robot, clearance)
        self._fault_config, self._fault, self._moved = self._config.fault, JointFaultConfig().start_at(0.0), False
        # Whole milliseconds, so that ticks are whole nanoseconds and stamps are exact.
        self._epoch = self.get_clock().now().nanoseconds // 1_000_000 * 1_000_000
        self._told = ""
        self._base = config.frame_prefix + base_frame(self._robot)
        self._frames = FrameLookup(self)
        self._writer = JointStateWriter()
        self._joint_states = self.create_publisher(JointState, "joint_states", qos.stream("reliable", _QUEUE))
        self._authority = authority = Authority(self, config.authority)
        self._stops = authority.publisher(self.create_publisher(StopRequest, "robot_stop", qos.LATCHED))
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self._torques: TorqueInterface | None = None
        if self._config.interface == "torque":
            names = self._robot.joint_names
            self._torques = TorqueInterface(self, self._config, names, self._epoch, self._arm, self._report)
        elif self._config.interface == "position":
            self.create_subscription(JointTrajectory, _POSITIONS, self._follow, qos.stream("reliable", 10))
        authority.subscribe(StopRequest, "stop_request", self._stop, qos.stream("reliable", 100))
        authority.subscribe_latest(Obstacles, "obstacles", self._surround)
        authority.serve("release", self._release)
        authority.serve("restart", self._restart)
        self.create_timer(_REPORT_PERIOD, self._diagnose)
        if self._config.truth_file:
            truth = {"parameters": self._arm.truth.theta.tolist()}
            write_atomically(Path(self._config.truth_file), json.dumps(truth) + "\n")
        self._tell_stop()
        kind = self._config.interface
        time_runs = "in lockstep" if kind == "torque" and self._config.lockstep else "in real time"
        self.get_logger().info(f"simulated {self._robot.name}, {kind}, {time_runs}: {self._joint_states.topic_name}")

    def run(self, stopped: Callable[[], bool]) -> None:
        """Lets time pass until stopped."""
        executor = make_executor()
        executor.add_node(self)
        ticks = 0
        self._await_listeners(executor, stopped)
        reading = self._arm.reading()
        # When the arm's time is due on the machine's clock, at least.
        begun = time.perf_counter()
        try:
            while not stopped():
                for passed in self._readings.pass_on(reading):
                    for message in self._fault.pass_on(passed):
                        self._publish(message)
                due = begun + self._arm.now / self._config.speed
                if self._torques is not None and self._torques.waits:
                    self._torques.wait(executor, stopped)
                    if time.perf_counter() < due:
                        time.sleep(max(0.0, due - time.perf_counter()))
                else:
                    self._pass_time(executor, due)
                if (late := time.perf_counter() - due) > _CATCH_UP:
                    begun += late - _CATCH_UP
                reading = self._tick()
                ticks += 1
                if ticks % _SERVE_EVERY == 0:
                    executor.spin_once(0.0)
        finally:
            executor.shutdown()

    def _await_listeners(self, executor: Executor, stopped: Callable[[], bool]) -> None:
        """Waits until all that are to hear the first joint state are there and know of one another."""
        if not self._config.listeners:
            return
        settled = np.inf
        while time.monotonic() < settled and not stopped():
            executor.spin_once(0.05)
            if settled == np.inf and self._joint_states.get_subscription_count() >= self._config.listeners:
                settled = time.monotonic() + _SETTLED

    def _pass_time(self, executor: Executor, due: float) -> None:
        """Serves what comes until a time of the machine's clock; a first command in lockstep ends it."""
        while (left := due - time.perf_counter()) > 0.0:
            executor.spin_once(left)
            if self._torques is not None and self._torques.waits:
                return

    def _tick(self) -> RawJointState:
        if self._driver is not None:
            self._driver.drive()
        if self._arm.commanded and not self._moved:
            self._moved, self._fault = True, self._fault_config.start_at(self._arm.now)
        reading = self._arm.step()
        self._report.tick(self._arm)
        self._tell_stop()
        return reading

    def _publish(self, reading: RawJointState) -> None:
        stamp = self._epoch + round(reading.stamp * SECOND)
        self._joint_states.publish(self._writer.write(reading, stamp))
        if self._torques is not None:
            self._torques.note_sent(stamp)

    # -- topics and services

    def _follow(self, message: JointTrajectory) -> None:
        """Positions on the arm's clock; a message without a stamp begins now."""
        assert isinstance(self._driver, PositionInterface)
        stamp = nanoseconds(message.header.stamp)
        begin = 1e-9 * (stamp - self._epoch) if stamp else self._arm.now
        try:
            t, q, qd = set_points(message, self._order)
            self._driver.follow(begin + t, q, qd)
        except SysidError as error:
            self.get_logger().warning(f"positions not used: {error}")

    def _stop(self, message: StopRequest) -> None:
        known = {reason.value: reason for reason in StopReason}
        self._arm.protective_stop(known.get(message.reason, StopReason.REQUESTED).name)

    def _surround(self, message: Obstacles) -> None:
        try:
            self._report.clearance.surround(to_scene(message, self._base, self._frames))
        except SysidError as error:
            self.get_logger().warning(f"obstacles not used: {error}")

    def _release(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        reason = self._arm.stop.reason if self._arm.stop is not None else "none"
        self._arm.release()
        if self._config.interface == "position":  # a motion that was played stays over
            self._driver = build_driver(self._robot, self._config, self._arm)
        self._begin()
        response.success, response.message = True, f"released; the stop was for: {reason}"
        return response

    def _restart(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._arm = build_arm(self._robot, self._config, self._rng, now=self._arm.now)
        self._driver = build_driver(self._robot, self._config, self._arm)
        self._begin()
        response.success, response.message = True, "back at the start"
        return response

    def _begin(self) -> None:
        """The arm holds itself and has heard of nothing yet."""
        if self._torques is not None:
            self._torques.begin(self._arm)
        self._moved, self._fault = False, JointFaultConfig().start_at(0.0)

    def _reconfigure(self, settings: NodeParameters) -> None:
        self._fault_config = settings.build(SimulatedArmConfig).simulated_arm.fault
        if self._moved:
            self._fault = self._fault_config.start_at(self._arm.now)

    def _tell_stop(self) -> None:
        """Publishes a protective stop that has begun or ended."""
        report = self._arm.stop
        reason = report.reason if report is not None else StopReason.NONE.name
        if reason == self._told:
            return
        first, self._told = not self._told, reason
        if reason == COMMAND_TIMEOUT and self._torques is not None and self._torques.lags:
            reason = StopReason.JOINT_STATES_DELAYED.name
        message = stop_request(StopReason.__members__.get(reason, StopReason.COMMAND_TIMEOUT))
        message.text = f"{reason}: {message.text}" if report is not None else ""
        self._stops.publish(message)
        if not first:
            self.get_logger().warning(f"protective stop: {message.text}" if report is not None else "released")

    def _diagnose(self) -> None:
        status = self._authority.amend(self._report.status(self._arm))
        self._diagnostics.publish(diagnostic_array(status, self.get_clock().now()))


def main(args: list[str] | None = None) -> int:
    """Runs the node; returns the exit status: 0, or 2 with one line on stderr when it cannot start."""
    return run_robot(NAME, SimulatedArmNode, args)


if __name__ == "__main__":
    sys.exit(main())
