# SPDX-License-Identifier: Apache-2.0
"""Sentences on which an estimate rests, and which its residuals at most partly show to be false."""

from __future__ import annotations

from sysid_nodes.systems.prime.config import PrimeConfig


def assumptions(config: PrimeConfig) -> tuple[str, ...]:
    """Of a configuration. How far off estimates were where such a thing was false: docs/prime/evidence.md."""
    ground = "the ground is one plane" if config.contact.foothold_sigma == 0.0 else "footholds lie about one plane"
    outside = (
        "nothing but the ground and its weight acts on the robot: a steady force, as of a cable, is taken for a lean"
        f" and another centre of mass (prime.process.outside_force; {_TOLD})"
    )
    return (
        f"{ground}, and its friction is the same everywhere, at rest as in sliding",
        *(() if config.process.asks_outside else (outside,)),
        f"nothing that the robot carries swings or shifts ({_TOLD})",
        f"the IMU sits on its link as described: the base's roll and pitch are as wrong as its mount ({_TOLD})",
        f"gyroscope and accelerometer have biases, and no errors of scale ({_TOLD})",
        f"the motion capture's markers sit where they are described, and do not move on the robot ({_TOLD})",
        f"the motion capture's vertical is gravity's ({_TOLD})",
        "the motion capture's frame does not turn or move, and its metres are metres",
        "drives have constant gains, encoders constant offsets, and streams constant delays",
        f"positions, velocities and torques of the joints are of the same instant ({_TOLD})",
    )


_TOLD = "the readings of a robot that moves say when it is plainly false"
