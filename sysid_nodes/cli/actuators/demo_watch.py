# SPDX-License-Identifier: Apache-2.0
"""The messages that the actuators' demo has heard so far. The truth is known here and nowhere in the identifier."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sysid_nodes.cli.demo.live_watch import MotionWatch
from sysid_nodes.reports.actuators.truth import true_parameters

IDENTIFIER = "actuator_identifier: identification"
"""Its status in the diagnostics."""

_ROBOT = "simulated_drives: motion"


@dataclass(frozen=True)
class Row:
    """A parameter of a joint: what is said of it, and the truth."""

    joint: str
    name: str
    unit: str
    identifiable: bool
    estimate: float
    lower: float
    upper: float
    truth: float

    @property
    def holds(self) -> bool:
        """Whether the 95 % interval holds the truth."""
        return self.lower <= self.truth <= self.upper


class ActuatorWatch(MotionWatch):
    """The latest of everything the recorder tells.

    Args:
        truth: of the simulated drives.

    Attributes:
        models: the newest message that has models, or None.
        published: messages after a window.
        alarms: in order of time.
    """

    def __init__(self, truth: Mapping[str, Any]) -> None:
        super().__init__(_ROBOT, IDENTIFIER)
        self.truth = truth
        self.models: Mapping[str, Any] | None = None
        self.window = -1
        self.published = 0
        self.status, self.message = "WAITING", ""
        self.alarms: Sequence[Mapping[str, Any]] = ()

    def take(self, line: Mapping[str, Any]) -> None:
        super().take(line)
        if "models" not in line:
            return
        message = line["models"]
        self.status, self.message, self.alarms = message["status"], message["message"], message["alarms"]
        self.window = message["window"]
        self.published += self.window >= 0
        if message["models"]:
            self.models = message

    @property
    def rows(self) -> list[Row]:
        """Every parameter of every joint."""
        found = []
        for model in self.models["models"] if self.models is not None else ():
            true = true_parameters(self.truth, model["joint"], after=bool(self.alarms))
            for p in model["parameters"]:
                said = {name: p[name] for name in ("name", "unit", "identifiable", "estimate", "lower", "upper")}
                found.append(Row(model["joint"], truth=true.get(p["name"], math.nan), **said))
        return found
