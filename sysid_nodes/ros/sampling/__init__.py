# SPDX-License-Identifier: Apache-2.0
"""ROS side of identification by rollouts and of its exploration."""
