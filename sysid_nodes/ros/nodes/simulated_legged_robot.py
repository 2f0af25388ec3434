"""A simulated Unitree Go2 or G1 with an unknown load: stands in for the robot, its drivers and motion capture.

Topics, out, SensorData QoS, stamped by the sensors' own clock, which starts at the node's clock and never jumps:
``joint_states`` (sensor_msgs/JointState), ``imu/data`` (sensor_msgs/Imu) and ``mocap/pose``
(geometry_msgs/PoseStamped), each at its own rate; with ``low_state`` Unitree's ``/lowstate`` instead of the first two.
Also ``/diagnostics``. What the robot carries and the forces at its feet go to ``truth_file`` and ``truth_series``, and
to topics below ``/truth`` only where that is asked for.
"""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from sysid_nodes.data.config import option
from sysid_nodes.exceptions import ConfigError, InputError
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.ros.conversions import to_seconds
from sysid_nodes.ros.diagnostics import ERROR, OK, WARN, diagnostic_array
from sysid_nodes.ros.legged_publishers import LeggedPublishers, TruthPublishers
from sysid_nodes.ros.parameters import NodeParameters
from sysid_nodes.ros.spinning import make_executor, run_node
from sysid_nodes.simulation.legged import Fault, LeggedRobotSim, LeggedSimulationConfig, TruthSample

NAME = "simulated_legged_robot"

_REPORT_PERIOD = 0.2  # [s]
_SERVE_EVERY = 10  # ticks between two looks at timers and parameter services
_SETTLED = 0.3  # after the last listener was found; its own side of the match may take a little longer [s]
_CATCH_UP = 0.05  # of delay is made up for by publishing faster; what is beyond is given up for good [s]
_TRUTH_TICKS = 10  # averaged in a message below /truth


@dataclass(frozen=True)
class SimulatedLeggedRobotConfig:
    """How the simulated robot meets its surroundings."""

    seed: int = option(0, "of the sensors' errors", minimum=0)
    duration: float = option(0.0, "length of the motion; 0 goes on until stopped", unit="s", minimum=0.0)
    listeners: int = option(0, "subscribers to wait for on every topic before the motion begins", minimum=0)
    low_state: bool = option(False, "publish Unitree's LowState instead of JointState and Imu")
    faults: str = option(
        "", "faults of streams, separated by commas: STREAM:KIND, STREAM:KIND:START or STREAM:KIND:START:END, in s"
    )
    truth_file: str = option("", "JSON file that gets what stays the same of the truth; empty writes none")
    truth_series: str = option("", "npz file that gets motion and forces when the motion has ended; empty writes none")
    truth_topics: bool = option(False, "publish forces and motion below /truth")


def parse_faults(text: str) -> tuple[Fault, ...]:
    """Faults from the option's text; times are simulated ones.

    Raises:
        ConfigError: a part is not as described.
    """
    found = []
    for part in (part.strip() for part in text.split(",") if part.strip()):
        stream, *rest = part.split(":")
        try:
            kind, *times = rest
            if len(times) > 2:
                raise ValueError
            found.append(Fault(stream, kind, *map(float, times)))
        except ValueError:
            raise ConfigError(f"'faults' must be like mocap:off:2:3, got '{part}'") from None
        except InputError as error:
            raise ConfigError(f"'faults': {error}") from None
    return tuple(found)


class SimulatedLeggedRobotNode(Node):
    """Publishes what the robot's sensors read, in real time as far as the machine allows.

    No reading is ever left out: on a machine that is too slow the motion takes longer than its stamps say, and the
    diagnostics tell by how much.

    Raises:
        SysidError: a parameter is wrong, the message package is missing, or the truth cannot be written.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NAME, **kwargs)
        configs = (SimulatedLeggedRobotConfig, LeggedSimulationConfig)
        settings = NodeParameters(self, configs, running=lambda: True, apply=lambda _: None)
        self._config = settings.build(SimulatedLeggedRobotConfig)
        self._simulation = settings.build(LeggedSimulationConfig)
        faults = parse_faults(self._config.faults)
        self._sim = LeggedRobotSim(self._simulation, np.random.default_rng(self._config.seed), faults=faults)
        self._write_truth()
        self._streams = LeggedPublishers(self, self._sim.robot, low_state=self._config.low_state)
        self._truth = TruthPublishers(self, self._sim.robot) if self._config.truth_topics else None
        self._recent: list[TruthSample] = []
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self.create_timer(_REPORT_PERIOD, self._report)
        self._behind, self._state = 0.0, "waiting for listeners"

    def run(self, stopped: Callable[[], bool]) -> None:
        """Waits for the listeners, moves, and then stays until stopped: unread messages go with their publisher."""
        executor = make_executor()
        executor.add_node(self)
        try:
            while self._streams.listeners < self._config.listeners and not stopped():
                executor.spin_once(0.05)
            settled = time.monotonic() + _SETTLED
            while time.monotonic() < settled and not stopped():
                executor.spin_once(0.05)
            self._state = "moving"
            self._announce()
            self._move(lambda: executor.spin_once(0.0), stopped)
            if not stopped():
                self._write_series()
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
        count = sum(self._streams.published.values())
        self.get_logger().info(f"{self._state}: {count} messages, {self._behind:.3f} s behind real time")

    def _announce(self) -> None:
        """What moves and for how long; the load stays untold, for the log is a topic too."""
        config = self._config
        lasts = f"for {config.duration:g} s" if config.duration else "until stopped"
        self.get_logger().info(f"simulated {self._sim.robot.name}, motion '{self._simulation.motion}', {lasts}")

    def _move(self, serve: Callable[[], None], stopped: Callable[[], bool]) -> None:
        self._streams.start = to_seconds(self.get_clock().now().to_msg())
        begun = time.perf_counter()
        ticks = round((self._config.duration or np.inf) / self._simulation.tick) if self._config.duration else np.inf
        tick = 0
        while tick < ticks:
            readings = self._sim.step()
            tick += 1
            # What has arrived by a time is due when the clock says so.
            wait = begun + self._behind + self._sim.elapsed - time.perf_counter()
            if wait > 0.0:
                time.sleep(wait)
            elif wait < -_CATCH_UP:
                self._behind -= wait + _CATCH_UP
            for reading in readings:
                self._streams.publish(reading)
            if self._truth is not None:
                self._tell_truth()
            if tick % _SERVE_EVERY == 0:
                serve()
                if stopped():
                    return

    def _tell_truth(self) -> None:
        self._recent.append(self._sim.last)
        if self._truth is not None and len(self._recent) == _TRUTH_TICKS:
            self._truth.publish(self._streams.start + self._recent[-1].time, self._recent)
            self._recent.clear()

    def _write_truth(self) -> None:
        truth, config = self._sim.truth, self._config
        if config.truth_file:
            values = asdict(truth).items()
            plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values}
            write_atomically(Path(config.truth_file), json.dumps(plain) + "\n")

    def _write_series(self) -> None:
        """Times of the series are stamps."""
        if not self._config.truth_series:
            return
        series = asdict(self._sim.series())
        series["time"] = series["time"] + self._streams.start
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **series)
        write_atomically(Path(self._config.truth_series), buffer.getvalue())

    def _report(self) -> None:
        late, fallen = self._behind > 0.0, self._sim.fallen
        message = self._state + (", slower than real time" if late else "") + (", fallen" if fallen else "")
        status = DiagnosticStatus(
            level=ERROR if fallen else WARN if late else OK,
            name=f"{self.get_name()}: motion",
            hardware_id="simulation",
            message=message,
            values=[
                KeyValue(key="state", value=self._state),
                KeyValue(key="elapsed [s]", value=f"{self._sim.elapsed:.3f}"),
                KeyValue(key="behind real time [s]", value=f"{self._behind:.3f}"),
                KeyValue(key="processor time [s]", value=f"{time.process_time():.3f}"),
                *(KeyValue(key=f"published on {k}", value=str(v)) for k, v in sorted(self._streams.published.items())),
            ],
        )
        self._diagnostics.publish(diagnostic_array(status, self.get_clock().now()))


def main(args: list[str] | None = None) -> int:
    """Runs the node; returns the exit status: 0, or 2 with one line on stderr when it cannot start."""
    return run_node(NAME, SimulatedLeggedRobotNode, lambda node: node.run(lambda: not rclpy.ok()), args)


if __name__ == "__main__":
    sys.exit(main())
