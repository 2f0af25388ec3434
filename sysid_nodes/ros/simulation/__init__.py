# SPDX-License-Identifier: Apache-2.0
"""How simulated robots meet ROS."""
