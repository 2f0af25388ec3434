# SPDX-License-Identifier: Apache-2.0
"""Executables, one a file."""
