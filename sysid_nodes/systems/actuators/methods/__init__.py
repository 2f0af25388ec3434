# SPDX-License-Identifier: Apache-2.0
"""Methods besides the structured fit, behind one interface: networks, torque oracles, and the paper's forms of them."""

from sysid_nodes.systems.actuators.methods.apply import apply_method, joint_method
from sysid_nodes.systems.actuators.methods.smoothed_joint import SmoothedJoint, smooth_joint

__all__ = ["SmoothedJoint", "apply_method", "joint_method", "smooth_joint"]
