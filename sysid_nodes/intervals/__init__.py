# SPDX-License-Identifier: Apache-2.0
"""Affine arithmetic with outward rounding, vectorised over time intervals."""

from sysid_nodes.intervals.affine import Affine, concatenate, cross, matvec, stack
from sysid_nodes.intervals.taylor import TimeEnclosure, polynomial_enclosure, time_intervals

__all__ = [
    "Affine",
    "TimeEnclosure",
    "concatenate",
    "cross",
    "matvec",
    "polynomial_enclosure",
    "stack",
    "time_intervals",
]
