# SPDX-License-Identifier: Apache-2.0
"""A simulated robot leg on a stand, its drives and what commands them: stands in for hardware.

Topics, out, reliable, stamped by one clock: ``joint_states`` (sensor_msgs/JointState, positions alone) and the topic
that the option ``commands`` names (sensor_msgs/JointState, set-points); ``/diagnostics``. What the drives hide goes to
``truth_file``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sensor_msgs.msg import JointState

from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.ros import qos
from sysid_nodes.ros.conversions import to_seconds, to_stamp
from sysid_nodes.ros.parameters import NodeParameters
from sysid_nodes.ros.simulation.played_motion import PlayedMotion
from sysid_nodes.ros.spinning import run_robot
from sysid_nodes.sessions.diagnostic_keys import ELAPSED
from sysid_nodes.simulation.actuators.config import SimulatedDrivesConfig
from sysid_nodes.simulation.actuators.hidden_run import hidden_run

NAME = "simulated_drives"

_DEPTH = 1000


class SimulatedDrivesNode(PlayedMotion):
    """Publishes what the drives are told and what the encoders read.

    Raises:
        SysidError: a parameter is wrong, or the truth cannot be written.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NAME, **kwargs)
        self._config = NodeParameters(self, (SimulatedDrivesConfig,), running=lambda: True).build(SimulatedDrivesConfig)
        self._run = hidden_run(self._config)
        if self._config.truth_file:
            write_atomically(Path(self._config.truth_file), json.dumps(self._run.truth()) + "\n")
        profile = qos.stream("reliable", _DEPTH)
        topics = {False: "joint_states", True: self._config.commands}
        self._outputs = {is_command: self.create_publisher(JointState, t, profile) for is_command, t in topics.items()}
        self._names = {is_command: str(output.topic_name) for is_command, output in self._outputs.items()}
        self._counts = dict.fromkeys(topics, 0)
        self._elapsed = 0.0

    def _has_listeners(self) -> bool:
        return all(p.get_subscription_count() >= self._config.listeners for p in self._outputs.values())

    def _title(self) -> str:
        config = self._config
        return f"simulated {self._run.robot.name} on a stand, chirped for {config.chirp.duration:g} s"

    def _published_counts(self) -> dict[str, int]:
        return {self._names[is_command]: count for is_command, count in self._counts.items()}

    def _values(self) -> dict[str, str]:
        return {ELAPSED: f"{self._elapsed:.3f}"}

    def _motion(self) -> Iterator[float]:
        start = to_seconds(self.get_clock().now().to_msg())
        message = JointState(name=list(self._run.robot.joint_names))
        for t, is_command, q in self._run.samples():
            yield t
            message.header.stamp = to_stamp(start + t)
            message.position = q.tolist()
            self._outputs[is_command].publish(message)
            self._counts[is_command] += 1
            self._elapsed = t


def main(args: list[str] | None = None) -> int:
    """Runs the node; returns the exit status: 0, or 2 with one line on stderr when it cannot start."""
    return run_robot(NAME, SimulatedDrivesNode, args)


if __name__ == "__main__":
    sys.exit(main())
