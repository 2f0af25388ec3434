# SPDX-License-Identifier: Apache-2.0
"""The question that every identification method answers: which values of the ten parameters are still possible?

To add a method, write a class that satisfies `Method`, and name it in `config.METHODS` and in `methods.BUILDERS`; its
options, if it has any, are a section of `IntervalIdentifierConfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.results.identification import Contradiction
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.estimate.estimator import StatisticalEstimator
from sysid_nodes.systems.interval.momentum_rows import MomentumRows

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


class Method(Protocol):
    """Turns momentum rows into bounds of the ten identified parameters, step by step."""

    @property
    def certified(self) -> bool:
        """Whether the bounds are proven under the stated assumptions; otherwise they are an estimate."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Sentences to add to the assumptions that all methods share."""

    @property
    def bounds(self) -> Bounds:
        """The parameters' intervals after the data so far."""

    @property
    def contradiction(self) -> Contradiction | None:
        """Set once the data contradict the assumptions, and then for good: bounds mean nothing any more."""

    def step(self, rows: MomentumRows, ids: Ids, thorough: bool, /) -> bool:
        """Takes the rows of new windows, also after a contradiction, of which they may tell more.

        Args:
            rows: rows of W windows.
            ids: (W,) ids of the windows.
            thorough: take all the time the best bounds need.

        Returns:
            Whether the bounds moved enough to be news.
        """

    def nominal(self, estimator: StatisticalEstimator, /) -> Array:
        """(10,) the most plausible parameters inside the bounds.

        Args:
            estimator: has all rows so far, for methods without an estimate of their own.
        """

    def costs(self) -> Mapping[str, Array]:
        """(10,) of each interval's width that each assumption costs [parameter's unit]."""

    def error_needed(self, enough: float, /) -> float:
        """Share of the absolute torque noise that the data so far need; NaN where the method does not tell.

        Args:
            enough: the share may be any that will do and is not above this, which takes less time to find.
        """

    def reconfigure(self, config: IntervalIdentifierConfig, /) -> None:
        """Takes over the live options."""
