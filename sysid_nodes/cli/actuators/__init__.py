# SPDX-License-Identifier: Apache-2.0
"""Actuator identification on the command line."""
