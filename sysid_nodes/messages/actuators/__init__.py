# SPDX-License-Identifier: Apache-2.0
"""The actuators' messages as plain data."""
