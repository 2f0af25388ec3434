# SPDX-License-Identifier: Apache-2.0
"""Configuration of PRIME on streams: live node and replay read the same."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option, section
from sysid_nodes.robots import ContactsConfig, MotorConfig
from sysid_nodes.sessions.node_config import frame_prefix_option
from sysid_nodes.signals.alignment import GridConfig
from sysid_nodes.signals.pacing import PacingConfig
from sysid_nodes.signals.stream_health import StreamHealthConfig
from sysid_nodes.systems.prime import HorizonConfig, PrimeConfig


@dataclass(frozen=True)
class StreamsConfig:
    """How streams meet on the grid."""

    wait: float = option(
        0.03, "how long a step waits for the slowest stream; the estimate is that much older", unit="s", minimum=0.0
    )
    max_pause: float = option(
        0.5, "silence after which the motion before and after is no longer connected", unit="s", minimum=0.1
    )
    health: StreamHealthConfig = section(StreamHealthConfig, "when a stream counts as faulty")

    def grid(self, dt: float) -> GridConfig:
        """The grid at an estimator's step [s]."""
        return GridConfig(dt=dt, wait=self.wait, max_pause=self.max_pause)


@dataclass(frozen=True)
class TrustConfig:
    """When an estimate is not trusted."""

    misfit: float = option(
        2.5, "root mean square of a sensor's residuals, in units of its noise, that it may have", unit="1", minimum=1.0
    )
    contact: float = option(
        1.5,
        "the same of the contact model's residuals: 0.9 on firm ground, impacts included; 2 and more where feet slip",
        unit="1",
        minimum=1.0,
    )
    constants: float = option(
        1.5,
        "the same of the constants against their prior: more where a slip or an impact is taken for wrong constants or"
        " the robot is not as described",
        unit="1",
        minimum=1.0,
    )
    far: float = option(
        4.0,
        "standard deviations of its own prior that a single constant of robot, ground or sensors may be off",
        unit="1",
        minimum=1.0,
    )
    moved: float = option(
        5.0,
        "by how much more than by what was learnt meanwhile the estimate of a mass, a rotor or a drive's gain may move,"
        " in standard deviations",
        unit="1",
        minimum=1.0,
    )
    lasting: float = option(
        0.1,
        "how long it has to be larger, but for contact: after an impact an estimate takes some solves to converge",
        unit="s",
        minimum=0.0,
    )
    held: float = option(1.0, "how long a doubt is held after its cause was last seen", unit="s", minimum=0.0)
    silence: float = option(0.3, "time without a new estimate after which the motion is lost", unit="s", minimum=0.01)


@dataclass(frozen=True)
class PrimeSessionConfig:
    """Motion, contact forces and inertia of a legged robot from its streams."""

    robot: str = option("go2", "registered robot, or urdf")
    urdf: str = option("", "URDF file, for any other robot or for one's own of a registered one")
    floating_base: bool = option(
        False, "whether the base of a URDF's robot moves freely; a registered robot's is known to"
    )
    world_frame: str = option("", "frame of the estimate; empty: that of the motion capture's messages, or 'world'")
    frame_prefix: str = frame_prefix_option()
    published: int = option(
        1, "stages before the newest that is published; more is smoother and later", minimum=1, maximum=1000
    )
    motor: MotorConfig = section(MotorConfig, "what is known of the joints' friction and armature")
    contacts: ContactsConfig = section(ContactsConfig, "contact points of a robot that brings none")
    streams: StreamsConfig = section(StreamsConfig, "from stamps to steps")
    prime: PrimeConfig = section(PrimeConfig, "the estimator")
    horizon: HorizonConfig = section(HorizonConfig, "the moving window")
    pacing: PacingConfig = section(PacingConfig, "what is given up on a slow machine")
    trust: TrustConfig = section(TrustConfig, "when an estimate is not believed")
