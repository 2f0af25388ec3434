# SPDX-License-Identifier: Apache-2.0
"""Unitree Go2, a quadruped with twelve motors and four spherical feet."""

from sysid_nodes.robots.unitree_go2.description import DESCRIPTION

__all__ = ["DESCRIPTION"]
