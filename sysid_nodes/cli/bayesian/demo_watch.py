# SPDX-License-Identifier: Apache-2.0
"""The messages that the four-bar leg's demo has heard so far. The truth is known here and nowhere in the identifier."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sysid_nodes.cli.demo.live_watch import MotionWatch

IDENTIFIER = "bayesian_identifier: identification"
"""Its status in the diagnostics."""

_ROBOT = "simulated_linkage: motion"


@dataclass(frozen=True)
class Row:
    """A constant that is observed, and the truth."""

    name: str
    unit: str
    mean: float
    lower: float
    upper: float
    truth: float

    @property
    def holds(self) -> bool:
        """Whether the 95 % interval holds the truth."""
        return self.lower <= self.truth <= self.upper


class BayesianWatch(MotionWatch):
    """The latest of everything the recorder tells.

    Args:
        truth: hidden values by name.

    Attributes:
        posterior: the newest message, or None.
    """

    def __init__(self, truth: Mapping[str, float]) -> None:
        super().__init__(_ROBOT, IDENTIFIER)
        self.truth = truth
        self.posterior: Mapping[str, Any] | None = None

    def take(self, line: Mapping[str, Any]) -> None:
        super().take(line)
        self.posterior = line.get("posterior", self.posterior)

    @property
    def rows(self) -> list[Row]:
        """Every constant that is observed."""
        told = self.posterior
        if told is None:
            return []
        keys = ("names", "units", "mean", "lower", "upper")
        rows = [(*row, self.truth.get(row[0], math.nan)) for row in zip(*(told[key] for key in keys), strict=True)]
        return [Row(*row) for row, word in zip(rows, told["verdict"], strict=True) if word == "observed"]

    @property
    def count(self) -> int:
        """Constants of which something is claimed."""
        return len(self.posterior["names"]) if self.posterior else 0
