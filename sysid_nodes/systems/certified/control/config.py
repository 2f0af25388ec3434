# SPDX-License-Identifier: Apache-2.0
"""Configuration of the robust controller's runtime: the only place its defaults live."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option


@dataclass(frozen=True)
class ControllerConfig:
    """Limits that the controller watches. The law's numbers are in RobustControlConfig: they enter the certificate."""

    silence: float = option(
        0.1,
        "time without joint states, on the controller's own clock, after which they count as lost; above 2 only for a "
        "simulated robot that waits for its commands; gaps between stamps are held to control.period all the same",
        unit="s",
        minimum=1e-3,
        maximum=30.0,
    )
    clock_error: float = option(
        0.0005,
        "largest difference between the stamps' clock and the controller's, where ages are known; it comes off "
        "control.delay",
        unit="s",
        minimum=0.0,
        maximum=0.1,
    )
    transport: float = option(
        0.0,
        "longest time from sending a command until its torque acts, which nobody here sees: the part of control.delay "
        "that is left for it, where ages are known",
        unit="s",
        minimum=0.0,
        maximum=0.02,
    )
    acceleration: float = option(
        30.0, "largest joint acceleration that motors and loads can cause", unit="rad/s2", minimum=0.1
    )
    acceleration_change: float = option(
        5.0, "largest change of a joint's acceleration between two joint states", unit="rad/s2", minimum=1e-3
    )
    consistency: float = option(
        2.0, "stretch over which positions must follow from velocities", unit="s", minimum=0.005, maximum=60.0
    )
    frozen_after: float = option(
        0.2,
        "time after which joint states that repeat bit by bit count as frozen, even at rest; 0: only while the "
        "trajectory moves",
        unit="s",
        minimum=0.0,
    )
    frozen_travel: float = option(
        0.002, "travel of the trajectory over which joint states must not repeat bit by bit", unit="rad", minimum=0.0
    )
    settle: float = option(
        0.1, "time joint states must have been faultless before a motion starts", unit="s", minimum=0.0, maximum=10.0
    )
    scene_grace: float = option(
        0.75,
        "time after a change of obstacles within which a trajectory certified among them must take over",
        unit="s",
        minimum=0.0,
        maximum=5.0,
    )
    bounds_silence: float = option(
        5.0,
        "time without bounds, on the robot's clock, after which a motion under way says so and goes on; 0: never",
        unit="s",
        minimum=0.0,
    )
    recertify: bool = option(
        True,
        "prove every trajectory again, in a process beside the controller's; false trusts whatever carries a digest, "
        "and saves certified_planner.lead and margin the time of a proof",
    )
