# SPDX-License-Identifier: Apache-2.0
"""The controller of a configuration put together, for its node and for closed loops in simulated time."""

from __future__ import annotations

from sysid_nodes.sessions.certified.config import CertifiedConfig, Setup
from sysid_nodes.systems.certified.control.config import ControllerConfig
from sysid_nodes.systems.certified.control.robust_controller import RobustController


def build_controller(setup: Setup, config: CertifiedConfig, watched: ControllerConfig) -> RobustController:
    """The controller that executes what a planner of the same configuration has certified.

    Args:
        setup, config: what the two share.
        watched: what is watched.

    Raises:
        SysidError: gains, body and robot do not fit together.
    """
    return RobustController(
        setup.robot, config.known_robot, config.control, watched,
        prior=config.prior.bounds, config_id=setup.config_id, scene_id=setup.scene.id,
        rest_speed=config.certifier.start_speed, rest_distance=config.certifier.start_distance,
        takeover=config.planner.takeover, body=setup.body, target=config.target, estimates=config.estimates,
    )  # fmt: skip
