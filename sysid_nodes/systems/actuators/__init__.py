# SPDX-License-Identifier: Apache-2.0
"""Actuators of a robot from what its drives were told and what its encoders then read."""

from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.identify import identify_actuators
from sysid_nodes.systems.actuators.replay import replay_log

__all__ = ["ActuatorConfig", "identify_actuators", "replay_log"]
