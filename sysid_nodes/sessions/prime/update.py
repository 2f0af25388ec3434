# SPDX-License-Identifier: Apache-2.0
"""Output of a PRIME session after a solve."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.results.prime import PrimeEstimate
from sysid_nodes.sessions.prime.trust import PrimeJudgement

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Frames:
    """Names of frames.

    Attributes:
        world: that of the estimate.
        prefix: goes before the names of the robot's links.
    """

    world: str = "world"
    prefix: str = ""


@dataclass(frozen=True)
class PrimeUpdate:
    """Result of a solve, to be published.

    Attributes:
        estimate: of the whole window.
        stages: indices of the stages that are published, all that have not been before, the newest last.
        lag: age of the newest stage when the solve has ended, by the sensors' clock [s].
        newest: time that the sensors have reached [s].
        frames: that it is expressed in.
    """

    estimate: PrimeEstimate
    stages: range
    judgement: PrimeJudgement
    lag: float
    newest: float
    frames: Frames = Frames()

    @property
    def stage(self) -> int:
        """The newest stage that is published."""
        return self.stages[-1]

    @property
    def t(self) -> float:
        """Its time [s]."""
        return float(self.estimate.t[self.stage])

    def with_judgement(self, judgement: PrimeJudgement) -> PrimeUpdate:
        """The newest stage again, with another judgement."""
        return replace(self, stages=self.stages[-1:], judgement=judgement)


@dataclass(frozen=True)
class ParameterStep:
    """Inertial parameters of the identified bodies at a time.

    Attributes:
        t: of the newest data used [s].
        values: (nb, 10).
        sigma: (nb, 10) standard deviations.
    """

    t: float
    values: Array
    sigma: Array
