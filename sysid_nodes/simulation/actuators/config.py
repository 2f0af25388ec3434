# SPDX-License-Identifier: Apache-2.0
"""Configuration of a simulated robot on a stand whose drives hide what they are."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option, section
from sysid_nodes.simulation.actuators.chirp import ChirpConfig


@dataclass(frozen=True)
class SimulatedDrivesConfig:
    """The robot, its motion, and a change on the way."""

    robot: str = option("go2", "registered robot")
    joints: str = option("FL_", "how the names of the joints begin that move; the others are held")
    posture: tuple[float, ...] = option((0.0, 0.85, -1.95), "middle of the motion, a value for each joint", unit="rad")
    seed: int = option(0, "of the hidden drives and the encoders' noise", minimum=0)
    noise: float = option(8e-4, "standard deviation of the encoders", unit="rad", minimum=0.0)
    chirp: ChirpConfig = section(ChirpConfig, "the commanded motion")
    change: str = option(
        "none",
        "what is another at one drive when the robot is switched on again, after a pause, to move once more",
        choices=("none", "friction", "gain", "delay"),
    )
    change_duration: float = option(16.0, "of the motion after the change", unit="s", minimum=1.0)
    commands: str = option("joint_commands", "topic of the commands")
    listeners: int = option(0, "subscribers to wait for on both topics before the motion begins", minimum=0)
    truth_file: str = option("", "JSON file that gets what is hidden; empty writes none")
