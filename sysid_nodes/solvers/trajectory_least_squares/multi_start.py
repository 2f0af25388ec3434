# SPDX-License-Identifier: Apache-2.0
"""Whether a minimum was found, only reached from one start, or not reached: a descent from several starts.

A descent by itself cannot tell a local minimum from the lowest one. Starts that end at the same cost agree; a lowest
cost that a single one of several starts reached is suspect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Generic

from sysid_nodes.results.least_squares import SolveResult
from sysid_nodes.solvers.trajectory_least_squares.problem import Point

AGREE = 0.05
"""Difference of costs, in half squared sigmas, that no posterior shows."""


class SearchStatus(IntEnum):
    """Knowledge of the minimum."""

    FOUND = 0
    LOCAL_MINIMUM_SUSPECTED = 1
    STALLED = 2


@dataclass(frozen=True)
class Search(Generic[Point]):
    """A search from several starts.

    Attributes:
        status: what is known of the minimum.
        best: the descent that ended lowest.
        costs: where each ended.
    """

    status: SearchStatus
    best: SolveResult[Point]
    costs: tuple[float, ...]


def judge(results: Sequence[SolveResult[Point]]) -> Search[Point]:
    """The lowest of the ends of descents from different starts, at least one, and what they say of it."""
    best = min(results, key=lambda result: result.cost)
    near = sum(result.cost <= best.cost + AGREE for result in results)
    if not best.status.converged:
        status = SearchStatus.STALLED
    elif near == 1 < len(results):
        status = SearchStatus.LOCAL_MINIMUM_SUSPECTED
    else:
        status = SearchStatus.FOUND
    return Search(status, best, tuple(result.cost for result in results))
