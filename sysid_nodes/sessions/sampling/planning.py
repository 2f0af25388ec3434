# SPDX-License-Identifier: Apache-2.0
"""Plans for estimates as they come: one for each, and none for what nobody can rely on."""

from __future__ import annotations

from dataclasses import dataclass, field

from sysid_nodes.data.config import section
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.results.exploration import ExplorationPlan, Posterior
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig
from sysid_nodes.sessions.sampling.online import sampling_config_id
from sysid_nodes.systems.sampling.exploration.config import ExplorationConfig
from sysid_nodes.systems.sampling.exploration.planner import ExplorationPlanner, Progress


@dataclass(frozen=True)
class ExplorationSessionConfig:
    """Which robot, the identification that is to follow, and the plan."""

    robot: str = SamplingSessionConfig.__dataclass_fields__["robot"].default
    exploration: ExplorationConfig = section(ExplorationConfig, "planning of the motion that tells the most")


@dataclass
class PlanningSession:
    """Plans for one robot and identification.

    Attributes:
        session: of the identification.
        config: of the plans.
    """

    session: SamplingSessionConfig
    config: ExplorationConfig
    robot: Robot = field(init=False)
    config_id: str = field(init=False)

    def __post_init__(self) -> None:
        self.robot = load_robot(self.session.robot, urdf=self.session.urdf)
        self.config_id = sampling_config_id(self.robot, self.session)

    def plan(self, posterior: Posterior, config_id: str, progress: Progress | None = None) -> ExplorationPlan:
        """A plan for an estimate, fit or with its faults.

        Raises:
            ConfigError: the estimate was made with another configuration.
        """
        if config_id != self.config_id:
            raise ConfigError(
                f"the estimate was made with configuration {config_id}, this planner has {self.config_id}"
            )
        return ExplorationPlanner(self.robot, self.session.sampling, self.config, posterior).plan(progress)
