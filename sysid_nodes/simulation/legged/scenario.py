# SPDX-License-Identifier: Apache-2.0
"""Configuration of a run of a simulated legged robot: the robot, its load, the ground and its task."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option, section
from sysid_nodes.rollouts import WalkingConfig
from sysid_nodes.rollouts.legged_model import GroundConfig
from sysid_nodes.simulation.legged.controller_g1 import G1ControllerConfig
from sysid_nodes.simulation.legged.controller_go2 import Go2ControllerConfig
from sysid_nodes.simulation.legged.load import LoadConfig
from sysid_nodes.simulation.legged.sensors import LeggedSensorsConfig
from sysid_nodes.simulation.legged.set_point_drive import SetPointDriveConfig

COMMANDED = "commanded"
"""Motion of a robot that obeys commands."""


@dataclass(frozen=True)
class PushConfig:
    """A force on the base, as of a bystander."""

    start: float = option(0.0, "simulated time at which it begins", unit="s", minimum=0.0)
    duration: float = option(0.0, "0 for no push", unit="s", minimum=0.0)
    force: tuple[float, ...] = option((0.0, 300.0, 0.0), "at the base's origin, world frame", unit="N")


@dataclass(frozen=True)
class LeggedSimulationConfig:
    """A run of a simulated legged robot."""

    robot: str = option("go2", "which robot", choices=("go2", "g1"))
    motion: str = option(
        "show",
        "what it does: show is the whole programme (go2: rotations, trot and hops, 10 s; g1: a dance, 15 s); commanded "
        "(drives that follow set-points): a first motion of 8 s, and then what it is commanded",
        choices=("show", "stand", "sway", "trot", "hop", "commanded"),
    )
    tick: float = option(0.002, "period of truth and fastest sensor", unit="s", minimum=1e-3, maximum=0.01)
    control_period: float = option(0.004, "of the robot's own controller", unit="s", minimum=1e-3, maximum=0.01)
    timestep: float = option(0.001, "of the integrator, a fraction of the tick", unit="s", minimum=1e-4, maximum=2e-3)
    drop: float = option(0.0, "height above the ground at which the feet start", unit="m", minimum=0.0)
    footholds: float = option(
        0.0,
        "greatest height of the ground above or below zero: a foot finds another one after every swing",
        unit="m",
        minimum=0.0,
        maximum=0.05,
    )
    vendor_order: bool = option(False, "publish the joints in the order of the vendor's messages")
    history: float = option(60.0, "truth that is kept", unit="s", minimum=0.1)
    load: LoadConfig = section(LoadConfig, "unknown load of the torso")
    ground: GroundConfig = section(GroundConfig, "friction and compliance")
    drive: SetPointDriveConfig = section(SetPointDriveConfig, "motors that follow set-points")
    push: PushConfig = section(PushConfig, "push from outside")
    sensors: LeggedSensorsConfig = section(LeggedSensorsConfig, "rates, noise and biases")
    go2: Go2ControllerConfig = section(Go2ControllerConfig, "gains and gait of the Go2")
    walking: WalkingConfig = section(WalkingConfig, "controller of a commanded robot")
    g1: G1ControllerConfig = section(G1ControllerConfig, "gains of the G1")
