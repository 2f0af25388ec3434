# SPDX-License-Identifier: Apache-2.0
"""Rigid body, inertia and friction models: pure functions with derivatives."""
