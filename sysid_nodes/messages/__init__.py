# SPDX-License-Identifier: Apache-2.0
"""ROS messages as plain values, for nodes and for logs written without ROS."""
