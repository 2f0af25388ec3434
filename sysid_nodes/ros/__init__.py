# SPDX-License-Identifier: Apache-2.0
"""The only importer of rclpy and of messages: nodes and what they share."""
