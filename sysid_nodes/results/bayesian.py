# SPDX-License-Identifier: Apache-2.0
"""Result of a Bayesian identification."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class BayesianStatus(IntEnum):
    """Worth of a posterior."""

    FOUND = 0
    LOCAL_MINIMUM_SUSPECTED = 1
    STALLED = 2
    CONTRADICTED = 3

    @property
    def message(self) -> str:
        """One sentence for people."""
        return _MESSAGES[self]

    @property
    def trusted(self) -> bool:
        """Whether intervals are given."""
        return self <= BayesianStatus.LOCAL_MINIMUM_SUSPECTED


_MESSAGES = {
    BayesianStatus.FOUND: "every descent that came as low ended at the same minimum",
    BayesianStatus.LOCAL_MINIMUM_SUSPECTED: "only one of the starts reached this minimum; there may be a lower one",
    BayesianStatus.STALLED: "the search came to no end that could be trusted; nothing is claimed",
    BayesianStatus.CONTRADICTED: "the log contradicts model and priors; nothing is claimed",
}


@dataclass(frozen=True)
class PosteriorParameter:
    """One constant.

    Attributes:
        group: `inertia`, `friction`, `drive`, `power`, `user` or `contact`.
        prior_mean, prior_sigma: before the log.
        prior_lower, prior_upper: 95 % interval of the prior.
        mean, sigma: after it.
        lower, upper: 95 % interval, within bounds.
        narrowing: posterior over prior sigma.
        verdict: `observed`, `in part` or `not observed`: the posterior is the prior.
        active: whether a bound holds the estimate.
    """

    name: str
    unit: str
    group: str
    prior_mean: float
    prior_sigma: float
    prior_lower: float
    prior_upper: float
    mean: float
    sigma: float
    lower: float
    upper: float
    narrowing: float
    verdict: str
    active: bool


@dataclass(frozen=True)
class BlindDirection:
    """A combination of constants about which the log says nearly nothing.

    Attributes:
        narrowing: posterior over prior sigma along it.
        share: parts of coordinates in it, largest first: name and signed share.
    """

    narrowing: float
    share: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class NoiseLevel:
    """An estimated standard deviation and the stated one."""

    name: str
    unit: str
    stated: float
    estimated: float
    correlation: float


@dataclass(frozen=True)
class FrictionCurve:
    """Friction of a joint over speed: posterior median and 95 % band, and the speeds that the log covers."""

    joint: str
    speed: Array
    median: Array
    lower: Array
    upper: Array
    covered: tuple[float, float]


@dataclass(frozen=True)
class HeldOut:
    """Prediction of the last part of the log, which was not used.

    Attributes:
        joints: with a motor.
        t: (K,) [s].
        measured, nominal, identified: (K, m) torques [N m].
        least_squares: (K, m); not numbers where there is no such fit.
        rms: root mean squares (3, m) of the errors: nominal, least squares, identified.
    """

    joints: tuple[str, ...]
    t: Array
    measured: Array
    nominal: Array
    least_squares: Array
    identified: Array
    rms: Array


@dataclass(frozen=True)
class BayesianSeries:
    """Curves over time, for the report.

    Attributes:
        t: (K,) of inner stages [s].
        q: (K, n) estimated positions, those of joints without an encoder too [rad].
        gap: (K,) largest distance along an axis by which a loop is open [m], or angle of axes that are held [rad].
        power: (3, K) measured, mechanical, and with the losses [W]; measured is not a number without a meter.
    """

    t: Array
    q: Array
    gap: Array
    power: Array


@dataclass(frozen=True)
class BayesianResult:
    """Posterior of a mechanism's constants.

    Attributes:
        status: what it is worth.
        parameters: all K that have a prior.
        parameter_covariance: (K, K) of them.
        blind: directions about which the log says nothing.
        noise: estimated.
        curves: friction of each joint that has any.
        held_out: None where nothing was held out or no torque was read.
        series: over time.
        names: (p,) of theta's coordinates.
        theta, covariance: (p,), (p, p) in those coordinates: log-Cholesky vectors, logarithms of speeds.
        iterations: of the best descent.
        costs: of each start.
        loop_gap: largest one [m, rad].
        stages: used.
        findings: what speaks against log or fit, a line each.
    """

    status: BayesianStatus
    parameters: tuple[PosteriorParameter, ...]
    parameter_covariance: Array
    blind: tuple[BlindDirection, ...]
    noise: tuple[NoiseLevel, ...]
    curves: tuple[FrictionCurve, ...]
    held_out: HeldOut | None
    series: BayesianSeries
    names: tuple[str, ...]
    theta: Array
    covariance: Array
    iterations: int
    costs: tuple[float, ...]
    loop_gap: float
    stages: int
    findings: tuple[str, ...]

    @property
    def message(self) -> str:
        """The status in a sentence; where nothing is claimed, with the gravest finding."""
        if self.status.trusted or not self.findings:
            return self.status.message
        return f"{self.status.message}: {self.findings[0]}"
