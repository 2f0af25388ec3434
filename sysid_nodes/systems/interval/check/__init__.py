# SPDX-License-Identifier: Apache-2.0
"""Checks of a log or a stream before any identification: signals, units, sides, delays, noise and excitation."""
