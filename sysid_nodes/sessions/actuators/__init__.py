# SPDX-License-Identifier: Apache-2.0
"""Identifying actuators from commands and joint states."""
