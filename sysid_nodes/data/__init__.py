# SPDX-License-Identifier: Apache-2.0
"""Frozen, validated data: samples, bounds, configuration."""

from sysid_nodes.data.bounds import PARAMETER_NAMES, PARAMETER_UNITS, Bounds
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.data.joint_state import RawJointState

__all__ = ["PARAMETER_NAMES", "PARAMETER_UNITS", "Bounds", "JointSamples", "RawJointState"]
