# SPDX-License-Identifier: Apache-2.0
"""Method `set_membership`: proven bounds, and once no parameters are possible any more, the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.results.identification import Contradiction
from sysid_nodes.systems.interval.calibration_file import Calibration
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig, SetMembershipConfig
from sysid_nodes.systems.interval.contradiction import ChangeWatch, error_needed, error_needed_at, explain
from sysid_nodes.systems.interval.estimate.estimator import StatisticalEstimator
from sysid_nodes.systems.interval.feasible_set import FeasibleSet
from sysid_nodes.systems.interval.momentum_rows import MomentumRows, select
from sysid_nodes.systems.interval.unknowns import Unknowns
from sysid_nodes.systems.interval.window_sums import WindowSums

Array = npt.NDArray[np.float64]


class SetMembership:
    """Narrows a `FeasibleSet`; when it is proven empty, explains that and watches for a changed payload.

    Args:
        unknowns: assumed box of all parameters.
        config: effort.
        calibration: of the known robot, where there is one.

    Attributes:
        contradiction: see `Method`.
    """

    certified = True
    assumptions: tuple[str, ...] = ()

    def __init__(self, unknowns: Unknowns, config: SetMembershipConfig, calibration: Calibration | None) -> None:
        self._unknowns, self._config, self._calibration = unknowns, config, calibration
        self._set = self._prior_set()
        self._sums = WindowSums({} if calibration is None else calibration.sum_shares)
        self._watch: ChangeWatch | None = None
        self._fitting = np.zeros(unknowns.size)  # unknowns that needed the least error when last looked for
        self.contradiction: Contradiction | None = None

    @property
    def bounds(self) -> Bounds:
        """Proven bounds of the ten parameters; never wider than before."""
        return self._set.bounds

    def step(self, rows: MomentumRows, ids: npt.NDArray[np.int64], thorough: bool, /) -> bool:
        """See `Method`."""
        if self.contradiction is not None:
            self._look_for_change(self.contradiction, rows, ids)
            return False
        before = self._set.bounds
        single = len(np.unique(ids)) == 1
        rows, ids = self._sums.step(rows, ids)
        tightened = self._set.step(rows, ids, thorough=thorough)
        if self._set.empty is None:
            return tightened
        self.contradiction = explain(self._set, self._unknowns)
        if single:
            self._watch = ChangeWatch(self._set.bounds, self._prior_set(), float(rows.t[0, 1]))
            return False
        before, first, since = self._split(rows, ids, before)
        self._watch = ChangeWatch(before, self._prior_set(), float(rows.t[first, 1]))
        if (later := rows.t[:, 0] >= since).any():
            self._look_for_change(self.contradiction, select(rows, later), ids[later])
        return False

    def _split(self, rows: MomentumRows, ids: npt.NDArray[np.int64], before: Bounds) -> tuple[Bounds, int, float]:
        """Window at which a block starts to contradict, as if they had come one by one.

        Returns:
            The bounds before, the first row that contradicts, and since when rows tell of what came after it [s]. Where
            the block contradicts only what was proven earlier, that is all of it.
        """
        possible, impossible, found = 0, len(ids) + 1, before
        while impossible - possible > 1:
            count = (possible + impossible) // 2
            alone = self._prior_set()
            alone.step(select(rows, slice(0, count)), ids[:count], thorough=True)
            if alone.empty is not None:
                impossible = count
            else:
                possible, found = count, alone.bounds
        if impossible > len(ids):
            return before, 0, float(rows.t[0, 0])
        return found, impossible - 1, float(rows.t[impossible - 1, 1])

    def nominal(self, estimator: StatisticalEstimator, /) -> Array:
        """(10,) physically consistent robust estimate inside the bounds."""
        return estimator.solve(self.bounds)

    def costs(self) -> Mapping[str, Array]:
        """See `Method`."""
        return self._set.costs()

    def error_needed(self, enough: float) -> float:
        """See `Method`."""
        if self.contradiction is not None:
            return float("nan")
        if (share := error_needed_at(self._set, self._fitting)) <= enough:
            return share
        share, self._fitting = error_needed(self._set)
        return share

    def reconfigure(self, config: IntervalIdentifierConfig, /) -> None:
        """Takes over the effort for the steps to come; the bounds proven so far stay."""
        self._config = config.set_membership
        self._set.reconfigure(self._config)

    def _prior_set(self) -> FeasibleSet:
        """The set before any data of the body."""
        new = FeasibleSet(self._unknowns, self._config)
        if self._calibration is not None:
            new.add_calibration(self._calibration.rows, self._calibration.rows_radius)
        return new

    def _look_for_change(self, found: Contradiction, rows: MomentumRows, ids: npt.NDArray[np.int64]) -> None:
        if self._watch is not None and (change := self._watch.step(rows, ids)) is not None:
            self.contradiction = replace(found, payload_changed=True, change_time=change)
