# SPDX-License-Identifier: Apache-2.0
"""Conversions and reports of certified planner and robust controller."""
