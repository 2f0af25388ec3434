# SPDX-License-Identifier: Apache-2.0
"""Actuators from motion that goes on: windows, what of them is kept, and whether a drive changes."""

from sysid_nodes.systems.actuators.online.config import OnlineConfig
from sysid_nodes.systems.actuators.online.drift import DriftAlarm
from sysid_nodes.systems.actuators.online.memory import MotionWindow
from sysid_nodes.systems.actuators.online.refinement import Refinement, RefinementState

__all__ = ["DriftAlarm", "MotionWindow", "OnlineConfig", "Refinement", "RefinementState"]
