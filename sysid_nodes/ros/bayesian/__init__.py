# SPDX-License-Identifier: Apache-2.0
"""ROS side of the Bayesian identification."""
