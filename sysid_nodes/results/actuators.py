# SPDX-License-Identifier: Apache-2.0
"""Result of an actuator identification."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class ActuatorStatus(Enum):
    """Worth of a result."""

    IDENTIFIED = "IDENTIFIED"
    PARTIAL = "PARTIAL"
    CONTRADICTION = "CONTRADICTION"

    @property
    def message(self) -> str:
        """One sentence for people."""
        return _MESSAGES[self]


_MESSAGES = {
    ActuatorStatus.IDENTIFIED: "every fitted parameter of every joint is identified",
    ActuatorStatus.PARTIAL: "this motion cannot tell some parameters; they are not reported",
    ActuatorStatus.CONTRADICTION: "the actuators' law does not explain the motion; no parameter is reported",
}


@dataclass(frozen=True)
class RunToRun:
    """A parameter in several runs of a robot.

    Attributes:
        runs: how many tell it.
        mean, sigma: of all of them together, and its standard deviation, the scatter counted.
        scatter: standard deviation of the true value from run to run; zero where the runs' own sigmas explain all.
    """

    runs: int
    mean: float
    sigma: float
    scatter: float


@dataclass(frozen=True)
class ActuatorEstimate:
    """One parameter of one joint.

    Attributes:
        estimate: its value; None where the motion cannot tell it.
        sigma: standard deviation, correlated residuals accounted for; None where it is held at a bound.
        lower, upper: 95 % interval, cut at the bounds of what makes sense; also where there is no estimate.
        reason: why there is no estimate; empty where there is one.
        advice: motion that would tell it; empty where it is told, or where none that we know of would.
        between_runs: what other runs say; None where there are none.
    """

    name: str
    unit: str
    estimate: float | None
    sigma: float | None
    lower: float
    upper: float
    reason: str = ""
    advice: str = ""
    between_runs: RunToRun | None = None

    @property
    def identifiable(self) -> bool:
        """Whether this motion tells the parameter."""
        return self.estimate is not None


@dataclass(frozen=True)
class MotionVerdict:
    """Information that a motion carries on K parameters, whatever their values turn out to be.

    Attributes:
        condition: of the sensitivities, each scaled to one: how much worse the worst-told combination is.
        correlation: (K, K) of the estimates' errors under white noise.
    """

    names: tuple[str, ...]
    condition: float
    correlation: Array

    def partner(self, name: str) -> tuple[str, float]:
        """The parameter that `name` is confused with most, and their correlation; nothing for a single one."""
        k = self.names.index(name)
        others = np.where(np.arange(len(self.names)) == k, 0.0, np.abs(self.correlation[k]))
        best = int(np.argmax(others))
        return ("", 0.0) if not others[best] else (self.names[best], float(self.correlation[k, best]))


@dataclass(frozen=True)
class ReplayError:
    """Measured positions against those of one rollout from the first sample to the last [rad].

    Of a joint that is driven by torques alone: of a rollout a segment, its start state fitted.
    """

    rmse: float
    mae: float
    worst: float


@dataclass(frozen=True)
class JointActuator:
    """One joint.

    Attributes:
        before: verdict at the start values, before anything was fitted.
        verdict: the same at the solution.
        parameters: those that were fitted.
        replay: error on the log it was fitted to.
        motion: root mean square of the joint's motion about its mean [rad].
        converged: whether the solver did.
        law: (15,) the fitted law. It replays the motion; that each of its numbers means something by itself is for
            `parameters` to say.
    """

    name: str
    before: MotionVerdict
    verdict: MotionVerdict
    parameters: tuple[ActuatorEstimate, ...]
    replay: ReplayError
    motion: float
    converged: bool
    law: Array

    def parameter(self, name: str) -> ActuatorEstimate:
        """A fitted parameter by name.

        Raises:
            KeyError: it was not fitted.
        """
        return {p.name: p for p in self.parameters}[name]


@dataclass(frozen=True)
class ActuatorResult:
    """All joints of a log.

    Attributes:
        status: what the result is worth.
        findings: what speaks against the log or the fit, the gravest first.
        joints: in the robot's order.
        samples: of the encoders that were used.
        duration: of the log [s].
    """

    status: ActuatorStatus
    findings: tuple[str, ...]
    joints: tuple[JointActuator, ...]
    samples: int
    duration: float

    @property
    def rmse(self) -> float:
        """Replay error of all joints together [rad]."""
        return float(np.sqrt(np.mean([joint.replay.rmse**2 for joint in self.joints])))

    @property
    def mae(self) -> float:
        """Mean absolute replay error of all joints together [rad]."""
        return float(np.mean([joint.replay.mae for joint in self.joints]))
