# SPDX-License-Identifier: Apache-2.0
"""A simulated Unitree Go2 or G1 with an unknown load: stands in for the robot, its drivers and motion capture.

Topics, out, best effort unless ``reliability`` says otherwise, stamped by the sensors' own clock, which starts at the
node's clock and never jumps: ``joint_states`` (sensor_msgs/JointState), ``imu/data`` (sensor_msgs/Imu) and
``mocap/pose`` (geometry_msgs/PoseStamped), each at its own rate; with ``low_state`` Unitree's ``/lowstate`` instead of
the first two; with ``drive.enabled`` also set-points (option ``commands``; sensor_msgs/JointState); with
``sensors.velocity.enabled`` also ``velocity`` (nav_msgs/Odometry, twist alone, in the base's axes).
With the motion ``commanded`` it follows a first motion and then the latched plan (option ``plan``;
online_sysid/ExplorationPlan) that was made for the latest estimate (option ``posterior``), and no other.
Also ``/diagnostics``. What the robot carries and the forces at its feet go to ``truth_file`` and ``truth_series``, and
to topics below ``/truth`` only where that is asked for.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from sysid_nodes.exceptions import ConfigError, InputError
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.ros.conversions import to_seconds
from sysid_nodes.ros.parameters import NodeParameters
from sysid_nodes.ros.simulation.legged_publishers import LeggedPublishers, TruthPublishers
from sysid_nodes.ros.simulation.obeyed_plans import Obeyed
from sysid_nodes.ros.simulation.played_motion import PlayedMotion
from sysid_nodes.ros.spinning import run_robot
from sysid_nodes.sessions.diagnostic_keys import ELAPSED, ROBOT_FALLEN
from sysid_nodes.simulation.legged import Fault, LeggedRobotSim, LeggedSimulationConfig, TruthSample
from sysid_nodes.simulation.legged.node_config import SimulatedLeggedRobotConfig

NAME = "simulated_legged_robot"

_TRUTH_TICKS = 5  # averaged in a message below /truth


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


class SimulatedLeggedRobotNode(PlayedMotion):
    """Publishes what the robot's sensors read.

    Raises:
        SysidError: a parameter is wrong, the message package is missing, or the truth cannot be written.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NAME, **kwargs)
        configs = (SimulatedLeggedRobotConfig, LeggedSimulationConfig)
        settings = NodeParameters(self, configs, running=lambda: True)
        self._config = settings.build(SimulatedLeggedRobotConfig)
        self._simulation = settings.build(LeggedSimulationConfig)
        faults = parse_faults(self._config.faults)
        self._sim = LeggedRobotSim(self._simulation, np.random.default_rng(self._config.seed), faults=faults)
        self._write_truth()
        self._streams = LeggedPublishers(
            self,
            self._sim.robot,
            low_state=self._config.low_state,
            velocity=self._simulation.sensors.velocity.enabled,
            commands=self._config.commands if self._simulation.drive.enabled else "",
            reliability=self._config.reliability,
            tf=self._config.tf,
            prefix=self._config.frame_prefix,
        )
        self._obeyed = Obeyed(self, self._sim, self._config) if self._sim.commanded is not None else None
        self._told = 0
        self._truth = TruthPublishers(self, self._sim.robot) if self._config.truth_topics else None
        self._recent: list[TruthSample] = []

    def _has_listeners(self) -> bool:
        return self._streams.listeners >= self._config.listeners

    def _title(self) -> str:
        config = self._config
        lasts = f"for {config.duration:g} s" if config.duration else "until stopped"
        return f"simulated {self._sim.robot.name}, motion '{self._simulation.motion}', {lasts}"

    def _published_counts(self) -> dict[str, int]:
        return self._streams.published

    def _values(self) -> dict[str, str]:
        found = {ELAPSED: f"{self._sim.elapsed:.3f}"}
        return found if self._obeyed is None else found | self._obeyed.values

    def _trouble(self) -> str:
        return ROBOT_FALLEN if self._sim.fallen else ""

    def _finish(self) -> None:
        self._write_series()

    def _motion(self) -> Iterator[float]:
        self._streams.start = to_seconds(self.get_clock().now().to_msg())
        ticks = range(round(self._config.duration / self._simulation.tick)) if self._config.duration else count()
        for _ in ticks:
            readings = self._sim.step()
            self._tell_commands()
            yield self._sim.elapsed  # what has arrived by a time is due when the clock says so
            for reading in readings:
                self._streams.publish(reading)
            if self._truth is not None:
                self._tell_truth()

    def _tell_commands(self) -> None:
        for stamp, target in self._sim.set_points[self._told :]:
            self._streams.command(stamp, target)
        self._told = len(self._sim.set_points)

    def _tell_truth(self) -> None:
        self._recent.append(self._sim.last)
        if self._truth is not None and len(self._recent) == _TRUTH_TICKS:
            self._truth.publish(self._streams.start, self._recent)
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


def main(args: list[str] | None = None) -> int:
    """Runs the node; returns the exit status: 0, or 2 with one line on stderr when it cannot start."""
    return run_robot(NAME, SimulatedLeggedRobotNode, args)


if __name__ == "__main__":
    sys.exit(main())
