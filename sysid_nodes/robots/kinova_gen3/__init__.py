# SPDX-License-Identifier: Apache-2.0
"""Kinova Gen3 with seven joints, bare or with the Robotiq 2F-85 gripper."""

from sysid_nodes.robots.kinova_gen3.constants import MOTOR_CONSTANTS
from sysid_nodes.robots.kinova_gen3.description import DESCRIPTION

__all__ = ["DESCRIPTION", "MOTOR_CONSTANTS"]
