# SPDX-License-Identifier: Apache-2.0
"""Live session, conversions and diagnostics of the actuators' identifier."""
