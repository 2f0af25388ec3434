# SPDX-License-Identifier: Apache-2.0
"""Options of certified trajectories for a position controller."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option


@dataclass(frozen=True)
class StreamingConfig:
    """Topic and timing of the messages, and what is waited for."""

    topic: str = option("joint_trajectory_controller/joint_trajectory", "where to publish JointTrajectory messages")
    spacing: float = option(0.02, "time between two points", unit="s", minimum=0.001, maximum=0.5)
    lead: float = option(
        0.03, "a trajectory that would take over sooner after its publication is not sent", unit="s", minimum=0.0
    )
    silence: float = option(
        0.5, "without joint states for so long, nothing further is sent", unit="s", minimum=0.01, maximum=60.0
    )
    scene_grace: float = option(
        0.75,
        "longest time to go on with a trajectory that is not certified among the present obstacles before a stop is "
        "asked for",
        unit="s",
        minimum=0.0,
        maximum=10.0,
    )
