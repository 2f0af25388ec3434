# SPDX-License-Identifier: Apache-2.0
"""A simulated leg whose knee is driven through a four-bar linkage: stands in for hardware.

Topics, out, reliable, stamped by one clock: ``joint_states`` (sensor_msgs/JointState, positions and efforts of the
motors) and the power meter that the option ``power`` names (sensor_msgs/BatteryState); ``/diagnostics``. What is hidden
goes to ``truth_file``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sensor_msgs.msg import BatteryState, JointState

from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.ros import qos
from sysid_nodes.ros.conversions import to_seconds, to_stamp
from sysid_nodes.ros.parameters import NodeParameters
from sysid_nodes.ros.simulation.played_motion import PlayedMotion
from sysid_nodes.ros.spinning import check_running, run_robot
from sysid_nodes.sessions.diagnostic_keys import ELAPSED
from sysid_nodes.simulation.fourbar.config import SimulatedLinkageConfig
from sysid_nodes.simulation.fourbar.leg import MOTORS, LegTruth, simulate_leg

NAME = "simulated_linkage"

_DEPTH = 1000


class SimulatedLinkageNode(PlayedMotion):
    """Publishes what the motors' encoders and drives and the power meter read.

    Raises:
        SysidError: a parameter is wrong, or the truth cannot be written.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NAME, **kwargs)
        settings = NodeParameters(self, (SimulatedLinkageConfig,), running=lambda: True)
        self._config = settings.build(SimulatedLinkageConfig)
        rng = np.random.default_rng(self._config.seed)
        truth = LegTruth.draw(rng)
        duration, rate = self._config.duration, self._config.rate
        self._record = simulate_leg(truth, duration, rng, rate=rate, before_reading=check_running)
        if self._config.truth_file:
            write_atomically(Path(self._config.truth_file), json.dumps(truth.values(), indent=2) + "\n")
        profile = qos.stream("reliable", _DEPTH)
        self._states = self.create_publisher(JointState, "joint_states", profile)
        self._power = self.create_publisher(BatteryState, self._config.power, profile)
        self._count, self._elapsed = 0, 0.0

    def _has_listeners(self) -> bool:
        return all(p.get_subscription_count() >= self._config.listeners for p in (self._states, self._power))

    def _title(self) -> str:
        return f"simulated leg with a linkage, moved for {self._config.duration:g} s"

    def _published_counts(self) -> dict[str, int]:
        return {str(publisher.topic_name): self._count for publisher in (self._states, self._power)}

    def _values(self) -> dict[str, str]:
        return {ELAPSED: f"{self._elapsed:.3f}"}

    def _motion(self) -> Iterator[float]:
        record, start = self._record, to_seconds(self.get_clock().now().to_msg())
        state, supply = JointState(name=list(MOTORS)), BatteryState(present=True)
        for k, t in enumerate(record.t.tolist()):
            yield t
            state.header.stamp = supply.header.stamp = to_stamp(start + t)
            state.position, state.effort = record.position[k].tolist(), record.torque[k].tolist()
            supply.voltage, supply.current = float(record.voltage[k]), -float(record.current[k])
            self._states.publish(state)
            self._power.publish(supply)
            self._count += 1
            self._elapsed = t


def main(args: list[str] | None = None) -> int:
    """Runs the node; returns the exit status: 0, or 2 with one line on stderr when it cannot start."""
    return run_robot(NAME, SimulatedLinkageNode, args)


if __name__ == "__main__":
    sys.exit(main())
