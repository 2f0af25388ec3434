"""A simulated Kinova Gen3 with a dumbbell in its hand: stands in for the arm and its driver.

Topics, out: ``joint_states`` (sensor_msgs/JointState, reliable, stamped by the arm's own clock, which starts at the
node's clock and never jumps), and ``/diagnostics``. What the hand carries goes to ``truth_file``, never to a topic.
"""

from __future__ import annotations

import json
import sys
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from sensor_msgs.msg import JointState

from sysid_nodes.data.config import option, section
from sysid_nodes.exceptions import SysidError
from sysid_nodes.logs import RawJointState
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.robots import load_robot
from sysid_nodes.ros import qos
from sysid_nodes.ros.conversions import to_seconds, to_stamp
from sysid_nodes.ros.diagnostics import OK, WARN, diagnostic_array
from sysid_nodes.ros.parameters import NodeParameters
from sysid_nodes.ros.spinning import make_executor
from sysid_nodes.simulation import SimulatedArm, SimulationConfig, dumbbell, gen3_excitation, random_dumbbell
from sysid_nodes.solvers.threads import use_one_blas_thread

NAME = "simulated_arm"

_REPORT_PERIOD = 0.2  # [s]
_SERVE_EVERY = 20  # ticks between two looks at timers and parameter services
_SETTLED = 0.3  # after the last listener was found; its own side of the match may take a little longer [s]
_CATCH_UP = 0.05  # of delay is made up for by publishing faster; what is beyond is given up for good [s]


@dataclass(frozen=True)
class SimulatedArmConfig:
    """What the arm carries and when it moves."""

    seed: int = option(0, "of the payload, the deviation from the nominal robot and the sensors' errors", minimum=0)
    payload: float = option(
        0.0, "mass of the dumbbell; 0 draws one of 1.8 to 3.6 kg", unit="kg", minimum=0.0, maximum=10.0
    )
    duration: float = option(0.0, "length of the motion; 0 goes on until stopped", unit="s", minimum=0.0)
    listeners: int = option(0, "subscribers to wait for before the motion begins", minimum=0, maximum=100)
    truth_file: str = option("", "file that gets the true parameters of the loaded body; empty writes none")
    simulation: SimulationConfig = section(SimulationConfig, "sensors and deviation from the nominal robot")


class SimulatedArmNode(Node):
    """Publishes what the arm's sensors read, in real time as far as the machine allows.

    No reading is ever left out: on a machine that is too slow the motion takes longer than its stamps say, and the
    diagnostics tell by how much.

    Raises:
        SysidError: a parameter is wrong, or the truth cannot be written.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NAME, **kwargs)
        settings = NodeParameters(self, (SimulatedArmConfig,), running=lambda: True, apply=lambda _: None)
        self._config = settings.build(SimulatedArmConfig)
        self._robot = load_robot("kinova_gen3")
        self._arm = self._build()
        self._message = JointState(name=list(self._robot.joint_names))
        self._joint_states = self.create_publisher(JointState, "joint_states", qos.stream("reliable", 5000))
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self.create_timer(_REPORT_PERIOD, self._report)
        self._published, self._behind, self._state = 0, 0.0, "waiting for listeners"

    def run(self, stopped: Callable[[], bool]) -> None:
        """Waits for the listeners, moves, and then stays until stopped: unread messages go with their publisher."""
        executor = make_executor()
        executor.add_node(self)
        try:
            while self._joint_states.get_subscription_count() < self._config.listeners and not stopped():
                executor.spin_once(0.05)
            settled = time.monotonic() + _SETTLED
            while time.monotonic() < settled and not stopped():
                executor.spin_once(0.05)
            self._state = "moving"
            self._announce()
            self._move(lambda: executor.spin_once(0.0), stopped)
            if not stopped():
                self._state = "finished"
                self._say_end()
            while not stopped():
                executor.spin_once(0.05)
        finally:
            executor.shutdown()

    def destroy_node(self) -> None:
        """Releases the node; a motion that was cut short is logged, after the log's topic, which a signal closes."""
        super().destroy_node()
        if self._state == "moving":
            self._state = "stopped"
            self._say_end()

    def _say_end(self) -> None:
        self.get_logger().info(f"{self._state}: {self._published} joint states, {self._behind:.3f} s behind real time")

    def _announce(self) -> None:
        """What moves, where it is published and how often; the payload stays untold, for the log is a topic too."""
        config = self._config
        lasts = f"for {config.duration:g} s" if config.duration else "until stopped"
        topic, rate = self._joint_states.topic_name, config.simulation.rate
        self.get_logger().info(f"simulated {self._robot.name} with a dumbbell: {topic} at {rate:g} Hz {lasts}")

    def _move(self, serve: Callable[[], None], stopped: Callable[[], bool]) -> None:
        start = to_seconds(self.get_clock().now().to_msg())
        begun = time.perf_counter()
        for reading in self._arm.run(self._config.duration or np.inf):
            # the reading is due when its stamp says
            wait = begun + self._behind + reading.stamp - time.perf_counter()
            if wait > 0.0:
                time.sleep(wait)
            elif wait < -_CATCH_UP:
                self._behind -= wait + _CATCH_UP
            self._publish(reading, start)
            if self._published % _SERVE_EVERY == 0:
                serve()
                if stopped():
                    return

    def _publish(self, reading: RawJointState, start: float) -> None:
        message = self._message
        message.header.stamp = to_stamp(start + reading.stamp)
        message.position = array("d", reading.position)
        message.velocity = array("d", reading.velocity)
        message.effort = array("d", reading.effort)
        self._joint_states.publish(message)
        self._published += 1

    def _build(self) -> SimulatedArm:
        config, rng = self._config, np.random.default_rng(self._config.seed)
        payload = random_dumbbell(rng) if config.payload == 0.0 else dumbbell(config.payload)
        arm = SimulatedArm(self._robot, payload, gen3_excitation(), config.simulation, rng)
        if config.truth_file:
            truth = {"payload": payload.mass, "parameters": arm.truth.theta.tolist()}
            write_atomically(Path(config.truth_file), json.dumps(truth) + "\n")
        return arm

    def _report(self) -> None:
        late = self._behind > 0.0
        status = DiagnosticStatus(
            level=WARN if late else OK,
            name=f"{self.get_name()}: motion",
            hardware_id="simulation",
            message=f"{self._state}, slower than real time" if late else self._state,
            values=[
                KeyValue(key="state", value=self._state),
                KeyValue(key="messages published", value=str(self._published)),
                KeyValue(key="behind real time [s]", value=f"{self._behind:.3f}"),
            ],
        )
        self._diagnostics.publish(diagnostic_array(status, self.get_clock().now()))


def main(args: list[str] | None = None) -> int:
    """Runs the node; returns the exit status: 0, or 2 with one line on stderr when it cannot start."""
    use_one_blas_thread()
    rclpy.init(args=args)
    try:
        node = SimulatedArmNode()
    except SysidError as error:
        sys.stderr.write(f"{NAME}: {error}\n")
        rclpy.try_shutdown()
        return 2
    try:
        node.run(lambda: not rclpy.ok())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except RuntimeError:
        if rclpy.ok():  # otherwise a signal shut the context down between the check and the call
            raise
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
