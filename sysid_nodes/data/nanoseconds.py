# SPDX-License-Identifier: Apache-2.0
"""Stamps are whole nanoseconds, durations seconds."""

SECOND = 1_000_000_000
"""[ns]"""
