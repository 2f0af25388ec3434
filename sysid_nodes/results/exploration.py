# SPDX-License-Identifier: Apache-2.0
"""Knowledge after an identification by rollouts, and the motion planned to know more."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.digest import digest
from sysid_nodes.exceptions import InputError

Array = npt.NDArray[np.float64]

COMMANDS = ("vx", "vy", "wz", "roll", "pitch")
"""Commands that the curves of a plan give [m/s, m/s, rad/s, rad, rad]."""


@dataclass(frozen=True)
class Posterior:
    """Knowledge from a log, in the K coordinates of the search.

    Attributes:
        names: of the coordinates.
        values: (K,).
        covariance: (K, K); zero for what a bound holds.
        information: (K, K) Fisher information at the stated noise, priors included.
        prior: (K,) the priors' part of it, on the diagonal.
        duration: of the motion in the log [s].
    """

    names: tuple[str, ...]
    values: Array
    covariance: Array
    information: Array
    prior: Array
    clips: int
    duration: float

    @cached_property
    def id(self) -> str:
        """Digest of everything it says."""
        return digest(self.names, self.values, self.covariance, self.information)


@dataclass(frozen=True)
class Spread:
    """Standard deviation of a parameter, now and as a plan promises it.

    Attributes:
        before, after: [unit].
        random: after each of some random plans (N,) [unit].
    """

    name: str
    unit: str
    before: float
    after: float
    random: Array


@dataclass(frozen=True)
class Vetting:
    """Behaviour of robots drawn from the posterior under a plan.

    Attributes:
        draws: robots simulated.
        fallen: those that fell.
        excess: (3,) largest part by which a joint left its limits of position [rad], speed [rad/s] and torque [N m].
        reach: furthest from the start [m].
        faults: why the plan is refused; empty for a plan that is fit.
    """

    draws: int
    fallen: int
    excess: Array
    reach: float
    faults: tuple[str, ...]


@dataclass(frozen=True)
class ExplorationPlan:
    """Commands to a walking robot, made for one estimate.

    Attributes:
        estimate: digest of the posterior that it was made for.
        policy: digest of the controller that obeys it (`rollouts.CommandedPolicy.id`).
        segment: duration of a curve [s].
        gaits: (S,) gait of each segment.
        points: (S, 5, D + 1) control points of Bezier curves of degree D, of `COMMANDS`.
        height: of the base [m].
        criterion: that was minimised.
        costs: of the plan, and of each random one it is compared with.
        spreads: of the parameters that were asked for.
        path: (P, 3) time [s] and place [m] of the base, as predicted for the estimate.
        vetting: what draws from the posterior did.
        scale: of the smallest commands that a segment had to take, to be fit; 0 where it stands.
    """

    robot: str
    estimate: str
    policy: str
    segment: float
    gaits: tuple[str, ...]
    points: Array
    height: float
    criterion: str
    costs: Array
    spreads: tuple[Spread, ...]
    path: Array
    vetting: Vetting
    scale: float

    @property
    def duration(self) -> float:
        """[s]."""
        return self.segment * len(self.gaits)

    @cached_property
    def id(self) -> str:
        """Digest of what is executed, and of estimate and controller it was made for."""
        return digest(self.robot, self.estimate, self.policy, self.segment, self.gaits, self.points, self.height)


def require_estimate(plan: ExplorationPlan, posterior: str) -> None:
    """Refuses a plan made for another estimate, as nobody has looked whether it is safe for this one.

    Raises:
        InputError: it is.
    """
    if plan.estimate != posterior:
        raise InputError(f"plan {plan.id} was made for estimate {plan.estimate}, not for {posterior or 'none'}")


def require_policy(plan: ExplorationPlan, policy: str) -> None:
    """Refuses a plan that another controller was to obey, as robots under this one have not followed it.

    Raises:
        InputError: it is.
    """
    if plan.policy != policy:
        raise InputError(f"plan {plan.id} was made for controller {plan.policy}, not for {policy}")
