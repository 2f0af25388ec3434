# SPDX-License-Identifier: Apache-2.0
"""Plans for estimates as they come: one for each, and none for what nobody can rely on."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import section
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.results.exploration import ExplorationPlan, Posterior
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig, sampling_robot
from sysid_nodes.sessions.sampling.online import sampling_config_id
from sysid_nodes.systems.sampling.exploration.config import ExplorationConfig
from sysid_nodes.systems.sampling.exploration.planner import ExplorationPlanner, Progress


@dataclass(frozen=True)
class ExplorationSessionConfig(SamplingSessionConfig):
    """The identification that is to follow, and the plan."""

    exploration: ExplorationConfig = section(ExplorationConfig, "planning of the motion that tells the most")


class PlanningSession:
    """Plans for one robot and identification.

    Raises:
        RobotError: there is no such robot.
    """

    def __init__(self, config: ExplorationSessionConfig) -> None:
        self.config = config
        self.robot = sampling_robot(config)
        self.config_id = sampling_config_id(self.robot, config)

    def plan(self, posterior: Posterior, config_id: str, progress: Progress | None = None) -> ExplorationPlan:
        """A plan for an estimate, fit or with its faults.

        Raises:
            ConfigError: the estimate was made with another configuration.
        """
        if config_id != self.config_id:
            raise ConfigError(f"estimate of configuration {config_id}, this planner has {self.config_id}")
        planner = ExplorationPlanner(self.robot, self.config.sampling, self.config.exploration, posterior)
        return planner.plan(progress)
