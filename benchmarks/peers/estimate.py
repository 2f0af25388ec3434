# SPDX-License-Identifier: Apache-2.0
"""Estimate that every method of the comparison returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PeerEstimate:
    """An estimate on the N steps of a log.

    Attributes:
        q: (N, nq) configurations.
        force: (N, nc, 3) contact forces in the world [N]; NaN or zero where there is none.
        window: what a force is the mean of: "around" its step (triangle weights), or "after" it.
        theta: (10,) of the identified body, or None.
        seconds: wall time.
        iterations: of a solver, 0 for none.
        converged: whether it stopped by itself.
        threshold: normal force above which a foot is on the ground [N]; None for the one with the best F1.
        corners: whether forces of single points of a foot mean something, not only their sum.
        com_known: whether theta's first moment is estimated.
        laps: parts of the CPU time [s], and counts.
        costs: after each iteration, and `clock` [s] when.
    """

    q: Array
    force: Array
    window: str
    theta: Array | None
    seconds: float
    iterations: int = 0
    converged: bool = True
    threshold: float | None = None
    corners: bool = True
    com_known: bool = True
    laps: Mapping[str, float] = field(default_factory=dict)
    costs: tuple[float, ...] = ()
    clock: tuple[float, ...] = ()
