# SPDX-License-Identifier: Apache-2.0
"""Inputs and answers of a planner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from sysid_nodes.exceptions import InputError
from sysid_nodes.models.bezier import Bezier, State
from sysid_nodes.results.certificate import Certificate, Entry, Verdict
from sysid_nodes.robots.robot import Array


class PlanStatus(Enum):
    """End of a planning step."""

    CERTIFIED = "a certified trajectory was found"
    NOTHING_CERTIFIED = "no trajectory was certified in time: the running one is to be followed to its rest"
    START_REFUSED = "not even standing still is certified"


@dataclass(frozen=True)
class Start:
    """State in which a trajectory begins.

    Attributes:
        state: (n,) desired position, velocity and acceleration.
        entry: what is known of the errors there.
        goal: (n,) where the running trajectory comes to rest; None where there is none.
    """

    state: State
    entry: Entry
    goal: Array | None = None

    @classmethod
    def at_rest(cls, q: Array, entry: Entry) -> Start:
        """A robot that stands at q (n,); see Certifier.at_rest for the entry."""
        q = np.asarray(q, dtype=np.float64)
        return cls(State(q, np.zeros_like(q), np.zeros_like(q)), entry)

    @classmethod
    def following(cls, plan: Bezier, certificate: Certificate, t: float) -> Start:
        """The desired state of a running trajectory at a time [s], with the errors its certificate has proven.

        Raises:
            InputError: the trajectory is not certified.
        """
        if certificate.envelope is None or not certificate.certified:
            raise InputError("only a certified trajectory can be followed")
        return cls(plan.split(t), certificate.envelope.entry(t), plan.goal)

    @property
    def resting(self) -> bool:
        """Whether the desired motion stands still."""
        return not (self.state.qd.any() or self.state.qdd.any())


@dataclass(frozen=True)
class PlanResult:
    """A planning step.

    Attributes:
        status: how it ended.
        plan, certificate: what may be executed; None unless CERTIFIED.
        cost: of that plan; NaN without one.
        proposals: displacements searched for.
        certificates: certificates made.
        refusals: how many of them refused, by verdict.
        reason: why nothing was certified, in words; what binds where something was.
        elapsed: time the step took on the planner's clock [s].
        certifying: the part of it that certificates took [s].
    """

    status: PlanStatus
    plan: Bezier | None
    certificate: Certificate | None
    cost: float
    proposals: int
    certificates: int
    refusals: Mapping[Verdict, int]
    reason: str
    elapsed: float
    certifying: float

    @property
    def timed_out(self) -> bool:
        """Whether time was up before any trajectory was judged."""
        return self.status is PlanStatus.NOTHING_CERTIFIED and not self.certificates
