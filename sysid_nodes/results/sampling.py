# SPDX-License-Identifier: Apache-2.0
"""Result of an identification by rollouts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from sysid_nodes.results.exploration import Posterior

Array = npt.NDArray[np.float64]


class SamplingStatus(Enum):
    """Worth of a result."""

    IDENTIFIED = "IDENTIFIED"
    PARTIAL = "PARTIAL"
    POINT = "POINT"
    UNTRUSTED = "UNTRUSTED"

    @property
    def message(self) -> str:
        """One sentence for people."""
        return _MESSAGES[self]


_MESSAGES = {
    SamplingStatus.IDENTIFIED: "the motion tells every parameter that was asked for",
    SamplingStatus.PARTIAL: "the motion tells some of the parameters, and says of the others how little it tells",
    SamplingStatus.POINT: "the paper's method gives values and says nothing of their errors",
    SamplingStatus.UNTRUSTED: "the simulations do not follow the recorded motion; no parameter is reported",
}


@dataclass(frozen=True)
class SamplingEstimate:
    """One parameter.

    Attributes:
        group: `inertia`, `motors`, `drives`, `ground` or `sensors`; the identification is for the first two.
        nominal: where the search began.
        estimate: its value; None where the motion does not tell it.
        sigma: standard deviation; None where nothing is said of it, as at a bound.
        lower, upper: 95 % interval; None where nothing is said of it.
        bound: the bound that holds it or a coordinate it depends on, in words; empty where none does.
        reason: why there is no estimate; empty where there is one.
    """

    name: str
    unit: str
    group: str
    nominal: float
    estimate: float | None
    sigma: float | None
    lower: float | None
    upper: float | None
    bound: str = ""
    reason: str = ""

    @property
    def identifiable(self) -> bool:
        """Whether the motion tells it."""
        return self.estimate is not None


@dataclass(frozen=True)
class SamplingLevel:
    """Estimates after a level of clips.

    Attributes:
        length: of the clips [s].
        estimates, sigmas: of the parameters, in the result's order; sigmas not a number where nothing is known.
    """

    length: float
    estimates: Array
    sigmas: Array


@dataclass(frozen=True)
class ClipReplay:
    """Recorded clips, replayed from their measured start with the nominal and with the identified robot.

    Attributes:
        t: (C, L) instants [s].
        measured, nominal, identified: (C, L, 7 + n) pose of the base, its quaternion x, y, z, w, and joint positions
            [m, rad].
    """

    t: Array
    measured: Array
    nominal: Array
    identified: Array


@dataclass(frozen=True)
class SamplingResult:
    """An identification by rollouts.

    Attributes:
        status: worth of it.
        method: `gauss_newton` or `paper`.
        bodies: links whose inertia was identified.
        inertia: (k, 10) their parameters in pinocchio's order, identified or not.
        covariance: (k, 10, 10) of them.
        weakness: (n,) 1 / strength of the motors [1/(N m)], zero for none.
        gain: (n,) linear gain of the drives.
        misfit: root mean square of the residuals in units of the stated noise; the paper's cost for its method.
        misfit_before: the same of the nominal robot, start states fitted likewise.
        clips, left_out: of the last level: used, and left out because no start state made them fit.
        steps: of all simulations.
        levels: after each level.
        findings: what speaks against log or fit.
        replay: some clips.
        duration: of the log [s].
        posterior: in the coordinates of the search; None where nothing is known of the errors.
    """

    status: SamplingStatus
    method: str
    parameters: tuple[SamplingEstimate, ...]
    bodies: tuple[str, ...]
    inertia: Array
    covariance: Array
    weakness: Array
    gain: Array
    misfit: float
    misfit_before: float
    clips: int
    left_out: int
    steps: int
    levels: tuple[SamplingLevel, ...]
    findings: tuple[str, ...]
    replay: ClipReplay
    duration: float
    posterior: Posterior | None = None
