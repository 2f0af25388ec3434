# SPDX-License-Identifier: Apache-2.0
"""Simulated robots' side of ROS."""
