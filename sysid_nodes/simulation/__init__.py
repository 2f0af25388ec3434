# SPDX-License-Identifier: Apache-2.0
"""Simulated robots that stand in for hardware."""
