# SPDX-License-Identifier: Apache-2.0
"""Unitree G1, a humanoid with 29 motors, its soles touching with four spheres each."""

from sysid_nodes.robots.unitree_g1.description import DESCRIPTION

__all__ = ["DESCRIPTION"]
