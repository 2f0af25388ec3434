"""The estimator as a motion session uses it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sysid_nodes.estimators.prime import MovingHorizon, build_model
from sysid_nodes.estimators.prime.problem import Arrival
from sysid_nodes.reports.motion_config import MotionConfig
from sysid_nodes.results.motion_estimate import Fit, MotionEstimate
from sysid_nodes.robots import Robot
from sysid_nodes.signals.samples import AlignedSteps

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Knowledge:
    """What is known of the estimator's constant unknowns.

    Attributes:
        theta: (p,).
        arrival: how well, as the estimator's arrival cost without motion; None for the configured prior.
    """

    theta: Array
    arrival: Arrival | None


class Horizon(Protocol):
    """A moving-horizon estimator; steps follow one another until `restart`."""

    @property
    def knowledge(self) -> Knowledge:
        """What is known of the constant unknowns now."""
        ...

    def push(self, steps: AlignedSteps, /) -> None:
        """Appends steps."""
        ...

    def step(self, window: int, /) -> MotionEstimate | None:
        """Solves over the last `window` stages, or all there are; None while those are too few."""
        ...

    def restart(self) -> None:
        """Forgets the motion, for steps that are not connected follow; constants and their covariance are kept."""
        ...

    def recall(self, knowledge: Knowledge | None, /) -> None:
        """Forgets the motion, and goes on from what was known of the constants once; None for the prior."""
        ...


class RecallingHorizon(MovingHorizon):
    """PRIME's moving horizon, whose knowledge can be put aside and taken up again.

    How well its sensors fit is told at the result, not at the prediction that the last step began from.
    """

    def step(self, window: int | None = None) -> MotionEstimate | None:
        """Solves over the last `window` stages, or all there are; None while those are too few."""
        estimate, last = super().step(window), self._last
        if estimate is None or last is None:
            return estimate
        groups = zip(last.problem.groups, last.problem.residuals(last.result.point), strict=True)
        return replace(estimate, fit={name: _fit(residual) for name, residual in groups})

    @property
    def knowledge(self) -> Knowledge:
        """What is known of the constant unknowns now."""
        return Knowledge(self._theta, self._known)

    def recall(self, knowledge: Knowledge | None) -> None:
        """Forgets the motion, and goes on from what was known of the constants once; None for the prior."""
        self.forget()
        if knowledge is not None:
            self._theta, self._known = knowledge.theta, knowledge.arrival


def _fit(residual: Array) -> Fit:
    return Fit(residual.size, float(np.sqrt(np.mean(residual**2))) if residual.size else 0.0)


def make_horizon(robot: Robot, config: MotionConfig) -> Horizon:
    """The estimator of a robot; every stage that is published gets a covariance.

    Raises:
        RobotError: the robot has a fixed base or no contact points, or a link named in the configuration is unknown.
    """
    covered = max(config.horizon.covered, config.pacing.most_hop + config.published + 1)
    horizon = replace(config.horizon, covered=covered)
    return RecallingHorizon(build_model(robot, config.estimator), horizon)
