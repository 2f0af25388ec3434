# SPDX-License-Identifier: Apache-2.0
"""Conversions and live session of PRIME."""
