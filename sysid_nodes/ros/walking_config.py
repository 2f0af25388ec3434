"""Options that the nodes of walking robots have beside the estimator's and the simulation's configuration."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option


@dataclass(frozen=True)
class PrimeNodeConfig:
    """How the node meets its surroundings. Nothing here touches a number that it publishes."""

    autostart: bool = option(True, "configure and activate without a lifecycle manager")
    low_state: bool = option(False, "take joints and IMU from Unitree's LowState instead of JointState and Imu")
    queue_depth: int = option(
        1000, "messages of a stream that the middleware keeps until the node takes them", minimum=1, maximum=1000000
    )
    buffer: int = option(
        5000,
        "messages that may wait for the estimator; one more empties the buffer, counted as overload",
        minimum=1,
        maximum=10000000,
    )
    diagnostics_period: float = option(1.0, "time between two diagnostics", unit="s", minimum=0.01, maximum=3600.0)
    marker_period: float = option(0.05, "time between two messages of markers", unit="s", minimum=0.0)
    inertia_period: float = option(0.5, "time between two messages of inertial parameters", unit="s", minimum=0.0)
    tf: bool = option(True, "publish the base's transform, where tf2_msgs is installed")


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
