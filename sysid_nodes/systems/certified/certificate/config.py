# SPDX-License-Identifier: Apache-2.0
"""Configuration of the certifier: the only place its defaults live."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option
from sysid_nodes.models.known_robot import Numbers


@dataclass(frozen=True)
class CertifierConfig:
    """Effort of the certifier and what it keeps free."""

    intervals: int = option(64, "time intervals a trajectory is cut into", minimum=8, maximum=1024)
    iterations: int = option(10, "passes to bound the tracking errors before giving up", minimum=1, maximum=50)
    start_speed: float = option(
        0.003, "largest joint speed taken for rest where a first trajectory starts", unit="rad/s", minimum=0.0
    )
    start_distance: float = option(
        0.0005,
        "largest distance between where a first trajectory starts and where the robot is measured to rest then, beyond "
        "a measurement's error: a robot that holds itself by feedback moves to and fro by a step of its encoders",
        unit="rad",
        minimum=0.0,
    )
    torque_margin: float = option(0.0, "torque kept free below the limits", unit="N m", minimum=0.0)
    distance_margin: float = option(0.005, "distance kept free of obstacles and of itself", unit="m", minimum=0.0)
    stop_deceleration: Numbers = option(
        (0.0,),
        "least deceleration of the robot's own stop, which ends a motion that has lost its joint states; 0: the way of "
        "that stop is not kept clear",
        unit="rad/s2",
        minimum=0.0,
    )
    stop_reaction: float = option(
        0.0,
        "longest time from the last joint state that a command answers until that stop begins to brake, the wait after "
        "which they count as lost (controller.silence, or the robot's own for commands) included",
        unit="s",
        minimum=0.0,
        maximum=10.0,
    )
    stop_acceleration: float = option(
        2.0,
        "largest acceleration of a joint in that time: the last torque is held, and nobody sees what it does",
        unit="rad/s2",
        minimum=0.0,
    )
    stop_travel: float = option(
        0.0,
        "how far that stop lets a joint stray, either way, beyond what these explain",
        unit="rad",
        minimum=0.0,
    )


@dataclass(frozen=True)
class TrackingConfig:
    """How far off a position controller follows, as `sysid tracking` measures it: one number for all joints or each."""

    position_error: Numbers = option(
        (), "largest difference of desired and true position; empty: none is known", unit="rad", minimum=0.0
    )
    velocity_error: Numbers = option(
        (), "largest difference of desired and true velocity; empty: none is known", unit="rad/s", minimum=0.0
    )
    acceleration_error: Numbers = option(
        (),
        "largest difference of desired and true acceleration; empty: none is known, and torque is not proven",
        unit="rad/s2",
        minimum=0.0,
    )
    fastest: Numbers = option(
        (),
        "largest desired speed that these errors were seen with; faster motions are refused; empty: any",
        unit="rad/s",
        minimum=0.0,
    )
    hardest: Numbers = option(
        (),
        "largest desired acceleration that these errors were seen with; harder motions are refused; empty: any",
        unit="rad/s2",
        minimum=0.0,
    )
    source: str = option("", "where the numbers come from, for reports")
