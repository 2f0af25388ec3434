# SPDX-License-Identifier: Apache-2.0
"""The policy that a configuration asks for."""

from __future__ import annotations

from pathlib import Path

from sysid_nodes.robots import Robot
from sysid_nodes.rollouts.drive import Drive
from sysid_nodes.rollouts.humanoid import HumanoidPolicy
from sysid_nodes.rollouts.network_policy import NetworkPolicy
from sysid_nodes.rollouts.policy import CommandedPolicy
from sysid_nodes.rollouts.walking import WalkingConfig, WalkingPolicy


def commanded_policy(robot: Robot, drive: Drive, config: WalkingConfig) -> CommandedPolicy:
    """The scripted one of its legs, or the trained one that is named.

    Raises:
        RobotError: the scripted ones are for four legs and for two.
        ConfigError: as of `NetworkPolicy`.
    """
    if config.policy:
        return NetworkPolicy(robot, Path(config.policy).expanduser())
    if len({point.joint for point in robot.contacts}) == 2:
        return HumanoidPolicy(robot, drive, config)
    return WalkingPolicy(robot, drive, config)
