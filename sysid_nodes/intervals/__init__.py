# SPDX-License-Identifier: Apache-2.0
"""Interval and affine arithmetic with outward rounding, vectorised over time intervals."""

from sysid_nodes.intervals.affine import Affine, concatenate, cross, matvec, stack, where
from sysid_nodes.intervals.interval import Interval, hull
from sysid_nodes.intervals.taylor import TimeEnclosure, polynomial_enclosure, time_intervals

__all__ = [
    "Affine",
    "Interval",
    "TimeEnclosure",
    "concatenate",
    "cross",
    "hull",
    "matvec",
    "polynomial_enclosure",
    "stack",
    "time_intervals",
    "where",
]
