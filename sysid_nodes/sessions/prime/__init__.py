# SPDX-License-Identifier: Apache-2.0
"""Estimating motion, contact forces and inertia from streams of readings."""
