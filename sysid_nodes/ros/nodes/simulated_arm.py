"""A simulated Kinova Gen3 with a dumbbell in its hand: stands in for the arm and its driver.

Topics, out: ``joint_states`` (sensor_msgs/JointState, reliable, stamped by the arm's own clock, which starts at the
node's clock and never jumps), and ``/diagnostics``. What the hand carries goes to ``truth_file``, never to a topic.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from sensor_msgs.msg import JointState

from sysid_nodes.data.config import option, section
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.robots import load_robot
from sysid_nodes.ros import qos
from sysid_nodes.ros.conversions import to_seconds, to_stamp
from sysid_nodes.ros.parameters import NodeParameters
from sysid_nodes.ros.simulation.played_motion import PlayedMotion
from sysid_nodes.ros.spinning import run_node
from sysid_nodes.simulation.arm import SimulatedArm, SimulationConfig, dumbbell, gen3_excitation, random_dumbbell

NAME = "simulated_arm"


@dataclass(frozen=True)
class SimulatedArmConfig:
    """The arm's load, and when it moves."""

    seed: int = option(0, "of the payload, the deviation from the nominal robot and the sensors' errors", minimum=0)
    payload: float = option(
        0.0, "mass of the dumbbell; 0 draws one of 1.8 to 3.6 kg", unit="kg", minimum=0.0, maximum=10.0
    )
    duration: float = option(0.0, "length of the motion; 0 goes on until stopped", unit="s", minimum=0.0)
    listeners: int = option(0, "subscribers to wait for before the motion begins", minimum=0, maximum=100)
    truth_file: str = option("", "file that gets the true parameters of the loaded body; empty writes none")
    simulation: SimulationConfig = section(SimulationConfig, "sensors and deviation from the nominal robot")


class SimulatedArmNode(PlayedMotion):
    """Publishes what the arm's sensors read.

    Raises:
        SysidError: a parameter is wrong, or the truth cannot be written.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NAME, **kwargs)
        settings = NodeParameters(self, (SimulatedArmConfig,), running=lambda: True)
        self._config = settings.build(SimulatedArmConfig)
        self._robot = load_robot("kinova_gen3")
        self._arm = self._build()
        self._message = JointState(name=list(self._robot.joint_names))
        self._joint_states = self.create_publisher(JointState, "joint_states", qos.stream("reliable", 5000))
        self._count = 0

    def _listened(self) -> bool:
        return bool(self._joint_states.get_subscription_count() >= self._config.listeners)

    def _title(self) -> str:
        config = self._config
        lasts = f"for {config.duration:g} s" if config.duration else "until stopped"
        topic, rate = self._joint_states.topic_name, config.simulation.rate
        return f"simulated {self._robot.name} with a dumbbell: {topic} at {rate:g} Hz {lasts}"

    def _published(self) -> dict[str, int]:
        return {self._joint_states.topic_name: self._count}

    def _motion(self) -> Iterator[float]:
        start = to_seconds(self.get_clock().now().to_msg())
        for reading in self._arm.run(self._config.duration or np.inf):
            yield reading.stamp
            self._publish(reading, start)

    def _publish(self, reading: RawJointState, start: float) -> None:
        message = self._message
        message.header.stamp = to_stamp(start + reading.stamp)
        message.position = array("d", reading.position)
        message.velocity = array("d", reading.velocity)
        message.effort = array("d", reading.effort)
        self._joint_states.publish(message)
        self._count += 1

    def _build(self) -> SimulatedArm:
        config, rng = self._config, np.random.default_rng(self._config.seed)
        payload = random_dumbbell(rng) if config.payload == 0.0 else dumbbell(config.payload)
        arm = SimulatedArm(self._robot, payload, gen3_excitation(), config.simulation, rng)
        if config.truth_file:
            truth = {"payload": payload.mass, "parameters": arm.truth.theta.tolist()}
            write_atomically(Path(config.truth_file), json.dumps(truth) + "\n")
        return arm


def main(args: list[str] | None = None) -> int:
    """Runs the node; returns the exit status: 0, or 2 with one line on stderr when it cannot start."""
    return run_node(NAME, SimulatedArmNode, lambda node: node.run(lambda: not rclpy.ok()), args)


if __name__ == "__main__":
    sys.exit(main())
