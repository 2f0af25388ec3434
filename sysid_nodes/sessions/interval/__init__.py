# SPDX-License-Identifier: Apache-2.0
"""Identifying one body from joint states."""
