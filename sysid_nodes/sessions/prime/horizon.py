# SPDX-License-Identifier: Apache-2.0
"""The estimator as a PRIME session uses it."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from sysid_nodes.results.prime import PrimeEstimate
from sysid_nodes.robots import Robot
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.signals.samples import AlignedSteps
from sysid_nodes.solvers.trajectory_least_squares.timer import Timer
from sysid_nodes.systems.prime import Knowledge, MovingHorizon, build_model


class Horizon(Protocol):
    """A moving-horizon estimator; steps follow one another until `restart`."""

    @property
    def knowledge(self) -> Knowledge:
        """Present estimate of the constant unknowns."""
        ...

    def push(self, steps: AlignedSteps, /) -> None:
        """Appends steps."""
        ...

    def step(self, window: int, spare: Timer, /) -> PrimeEstimate | None:
        """Solves over the last `window` stages, or all there are; None while those are too few.

        What may be left out is begun only while the timer `spare` is not up.
        """
        ...

    def restart(self) -> None:
        """Forgets the motion, for steps that are not connected follow; constants and their covariance are kept."""
        ...

    def recall(self, knowledge: Knowledge | None, /) -> None:
        """Forgets the motion, and goes on from what was known of the constants once; None for the prior."""
        ...


def make_horizon(robot: Robot, config: PrimeSessionConfig) -> Horizon:
    """The estimator of a robot; every stage that is published gets a covariance.

    Raises:
        RobotError: the robot has a fixed base or no contact points, or a link named in the configuration is unknown.
    """
    covered = max(config.horizon.covered, config.pacing.most_hop + config.published + 1)
    return MovingHorizon(build_model(robot, config.prime), replace(config.horizon, covered=covered))
