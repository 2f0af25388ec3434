# SPDX-License-Identifier: Apache-2.0
"""Identification by rollouts on the command line."""
