# SPDX-License-Identifier: Apache-2.0
"""The messages that the exploration's demo has heard so far. The truth is known here and not to the nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sysid_nodes.cli.demo.live_watch import MotionWatch
from sysid_nodes.messages.sampling.plan import to_plan
from sysid_nodes.messages.sampling.posterior import to_posterior
from sysid_nodes.reports.sampling.stages import Known, known_after
from sysid_nodes.results.exploration import ExplorationPlan, Posterior
from sysid_nodes.robots import Robot
from sysid_nodes.sessions.diagnostic_keys import ACTIVITY, FAULT, FOLLOWS, TROUBLE
from sysid_nodes.systems.sampling import SamplingConfig

IDENTIFIER, PLANNER = "spi_identifier: identification", "exploration_planner: planning"
"""Their statuses in the diagnostics."""

_ROBOT = "simulated_legged_robot: motion"
_STAGES = 2
_PATIENCE = 600.0  # of the robot's time, for everything [s]


class SamplingWatch(MotionWatch):
    """The latest of everything the recorder tells.

    Args:
        truth: values by parameter.
        robot: nominal.

    Attributes:
        posteriors: of each stage, with the stamp of its newest data [s].
        known: what each says.
        plan: that was published, or None.
        statuses: of the identifications so far.
    """

    def __init__(self, truth: Mapping[str, float], robot: Robot, config: SamplingConfig) -> None:
        super().__init__(_ROBOT, IDENTIFIER)
        self.truth, self._robot, self._config = truth, robot, config
        self.posteriors: list[tuple[float, Posterior]] = []
        self.known: list[list[Known]] = []
        self.statuses: list[str] = []
        self.plan: ExplorationPlan | None = None

    def take(self, line: Mapping[str, Any]) -> None:
        super().take(line)
        if "plan" in line:
            self.plan = to_plan(line["plan"])
        message = line.get("posterior")
        if message is None or message["number"] <= len(self.statuses):
            return
        self.statuses.append(message["status"])
        if message["names"]:
            stamp = message["header"]["stamp"]
            self.posteriors.append((stamp["sec"] + 1e-9 * stamp["nanosec"], to_posterior(message)))
            self.known.append(known_after(self.posteriors[-1][1], self._robot, self._config))

    @property
    def activity(self) -> str:
        """The present step, in words."""
        if follows := self._text(_ROBOT, FOLLOWS):
            return f"robot follows its {follows}"
        planning = self._text(PLANNER, ACTIVITY)
        if self.posteriors and self.plan is None and planning:
            return planning
        if len(self.statuses) >= _STAGES:
            return "both identifications are done"
        return f"robot stands; identification {len(self.statuses) + 1} is under way"

    @property
    def finished(self) -> bool:
        """Whether both stages are over, or nothing more will come."""
        return bool(len(self.statuses) >= _STAGES or self.trouble)

    @property
    def trouble(self) -> str:
        """Why there will be no second stage; empty where nothing is known to be wrong."""
        if trouble := self._text(_ROBOT, TROUBLE):
            return f"the robot has {trouble}"
        if fault := self._text(PLANNER, FAULT):
            return fault
        if len(self.statuses) > len(self.posteriors):
            return f"an identification ended as {self.statuses[-1]}"
        return f"nothing came of it within {_PATIENCE:g} s" if self.late else ""

    @property
    def late(self) -> bool:
        """Whether it takes longer than it may on any machine."""
        return self.elapsed > _PATIENCE

    @property
    def waiting(self) -> bool:
        """Never: nothing is of interest that is still under way when both stages are over."""
        return False
