# SPDX-License-Identifier: Apache-2.0
"""The only importer of rclpy and of messages: nodes and what they share."""

from sysid_nodes.messages.finite_wait import use_finite_wait

use_finite_wait()  # importing rclpy would be too late
