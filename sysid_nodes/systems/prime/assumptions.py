# SPDX-License-Identifier: Apache-2.0
"""Sentences on which an estimate rests, and of which no residual shows when they are false."""

from __future__ import annotations

from sysid_nodes.systems.prime.config import PrimeConfig


def assumptions(config: PrimeConfig) -> tuple[str, ...]:
    """Of a configuration. How far off estimates were where such a thing was false: docs/prime/index.md."""
    ground = "the ground is one plane" if config.contact.foothold_sigma == 0.0 else "footholds lie about one plane"
    outside = (
        "nothing but the ground and its weight acts on the robot: a steady force, as of a cable, is taken for a lean"
        " and another centre of mass (prime.process.outside_force)"
    )
    return (
        f"{ground}, and its friction is the same everywhere, at rest as in sliding",
        *(() if config.process.asks_outside else (outside,)),
        "nothing that the robot carries swings or shifts",
        "the IMU sits on its link as described: the base's roll and pitch are as wrong as its mount",
        "gyroscope and accelerometer have biases, and no errors of scale",
        "the motion capture's frame does not turn or move, and its markers sit where they are described",
        "drives have constant gains, encoders constant offsets, and streams constant delays",
        "positions, velocities and torques of the joints are of the same instant",
    )
