# SPDX-License-Identifier: Apache-2.0
"""Proposals of the search for a robot that is led by positions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sysid_nodes.robots.robot import Robot
from sysid_nodes.systems.certified.certificate.tracked import KnownErrors
from sysid_nodes.systems.certified.search.config import ProposalConfig

_NO_LIMIT = 1e9
_LEAVE = 0.97


def tracked_proposals(config: ProposalConfig) -> ProposalConfig:
    """Room that proposals must keep where no robust input needs torque and no proof of errors has to close."""
    return replace(config, torque_gap=1.0, doubt=_NO_LIMIT)


def no_faster(robot: Robot, errors: KnownErrors) -> Robot:
    """The robot as proposals may use it: no faster than the errors were seen with, less what is lost to enclosures."""
    if errors.fastest is None:
        return robot
    slower = np.minimum(robot.limits.velocity, _LEAVE * errors.fastest + errors.velocity)
    return replace(robot, limits=replace(robot.limits, velocity=slower))
