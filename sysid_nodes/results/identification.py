# SPDX-License-Identifier: Apache-2.0
"""Result of an identifier after a window of data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Status(IntEnum):
    """Meaning of an identifier's bounds."""

    WAITING = 0
    NOT_EXCITED = 1
    PROVEN = 2
    INCONSISTENT = 3
    ESTIMATED = 4
    DOUBTFUL = 5
    UNWEIGHED = 6

    @property
    def message(self) -> str:
        """One sentence for people."""
        return _MESSAGES[self]

    @property
    def speaks_against_assumptions(self) -> bool:
        """Whether the data contradict what was stated or use it up: findings then say what may be wrong."""
        return self in (Status.INCONSISTENT, Status.DOUBTFUL)


_MESSAGES = {
    Status.WAITING: "no complete window of data yet; the bounds are the prior's",
    Status.NOT_EXCITED: "bounds are proven, but the motion so far leaves directions blind",
    Status.PROVEN: "bounds are proven under the stated assumptions",
    Status.INCONSISTENT: "no parameters explain the data under the stated assumptions; no bounds are claimed",
    Status.DOUBTFUL: "the data do not look like the calibration: the bounds may miss the truth and are not proven",
    Status.UNWEIGHED: "too few windows yet to weigh the data against the calibration; the bounds are the prior's",
    Status.ESTIMATED: "bounds come from a first-order sensitivity analysis or rest on a posterior, and are not proven",
}


@dataclass(frozen=True)
class Excitation:
    """Measure of how well the motion so far tells the ten parameters apart.

    Attributes:
        condition_number: 2-norm condition number of the body's stacked regressor Y; inf while rank deficient.
        singular_values: (10,) of Y with columns scaled by the prior's half-widths, descending.
        blind: parameters, or combinations in words, that the data do not see better than the prior does.
    """

    condition_number: float
    singular_values: Array
    blind: tuple[str, ...]


@dataclass(frozen=True)
class Contradiction:
    """The windows and the assumption that contradict one another, after an empty set was proven.

    Attributes:
        windows: ids of the windows in the proof.
        times: (k, 2) start and end of those windows [s].
        assumption: the assumption whose smallest relaxation explains the data.
        factors: for each assumption, the factor its uncertainty would have to grow by (inf: would not help).
        payload_changed: the data before `change_time` and after it are each consistent by themselves.
        change_time: stamp of the first window of the later data [s], or None.
        unstated: assumptions that rest on defaults alone; nobody is blamed for having stated them.
        calibrated: assumptions that a calibration found.
    """

    windows: tuple[int, ...]
    times: Array
    assumption: str
    factors: Mapping[str, float]
    payload_changed: bool = False
    change_time: float | None = None
    unstated: frozenset[str] = frozenset()
    calibrated: frozenset[str] = frozenset()

    def other_explanations(self, most: int = 2) -> list[tuple[str, float]]:
        """The next assumptions to doubt, and the factors on their uncertainty, mildest first.

        The mildest relaxation of all is the likeliest culprit and no more: data cannot tell which assumption is false.
        """
        others = [(name, factor) for name, factor in self.factors.items() if name != self.assumption]
        return sorted((entry for entry in others if np.isfinite(entry[1])), key=lambda entry: entry[1])[:most]

    def sentence(self) -> str:
        """The finding in one short line; with what else would explain the data, see `alternatives`."""
        if self.payload_changed and self.change_time is not None:
            return f"the payload changed at about t = {self.change_time:.3f} s, or else the robot did"
        if not self.windows:
            return f"the stated assumptions contradict one another; the nearest to blame is the {self.assumption}"
        first, last = float(self.times.min()), float(self.times.max())
        factor = self.factors.get(self.assumption, float("inf"))
        grow = f"; {times_text(factor)} times it would do" if np.isfinite(factor) else ""
        whose = f"assumed (default) {self.assumption}" if self.assumption in self.unstated else ""
        whose = f"{self.assumption} of the calibration" if self.assumption in self.calibrated else whose
        whose = whose or f"stated {self.assumption}"
        return f"windows from {first:.3f} to {last:.3f} s contradict the {whose}{grow}"

    def alternatives(self) -> str:
        """The next explanations in one short line; empty where there is none, or a changed payload explains it all."""
        if self.payload_changed or not self.windows:
            return ""
        others = ", ".join(f"the {name} {times_text(times)} times" for name, times in self.other_explanations())
        return f"so would {others} as large" if others else ""


def times_text(factor: float) -> str:
    """A factor above 1 with two decimals or as many as it takes to tell it from 1, rounded up so that it is enough."""
    for digits in (2, 3, 4, 5, 6):
        power = 10.0**digits
        rounded = np.ceil(factor * power - 1e-6) / power
        if round((rounded - 1.0) * power) >= 1 and rounded - factor < 0.5 * (factor - 1.0) + 1e-9:
            return f"{rounded:.{digits}f}"
    return "a hair over 1"


LEVEL = 0.95
"""Confidence of the intervals of an `Estimate`."""


@dataclass(frozen=True)
class Estimate:
    """Statistics beside the guarantee: confidence intervals, and what was estimated along with the body.

    Attributes:
        lower, upper: (10,) ends of intervals that contain the truth with confidence LEVEL, inside the proven ones.
        coulomb: (n,) friction [N m]. viscous: (n,) [N m s/rad]. offset: (n,) of the torque reading [N m].
        load_friction: (n,) share of the transmitted torque that drives lose [1].
        torque_sigma: (n,) spread of the windows' mean torque about the fit [N m].
    """

    lower: Array
    upper: Array
    coulomb: Array
    viscous: Array
    offset: Array
    load_friction: Array
    torque_sigma: Array


@dataclass(frozen=True)
class IdentificationResult:
    """State of knowledge about a body after some window.

    Attributes:
        status: meaning of the bounds.
        t: stamp of the last sample used [s].
        nominal: (10,) physically consistent robust estimate inside the bounds (NaN when INCONSISTENT).
        lower: (10,) proven lower ends (NaN when INCONSISTENT).
        upper: (10,) proven upper ends (NaN when INCONSISTENT).
        excitation: condition number and blind directions.
        window: id of the last window used.
        samples_used: samples that entered a window so far.
        samples_rejected: samples not used so far, by reason.
        solve_time: wall time of this step [s].
        tightened: at least one bound moved in this step.
        contradiction: windows and assumption to blame, when status is INCONSISTENT.
        costs: what each assumption costs of the width of each interval: assumption -> (10,) [parameter's unit].
        estimate: statistics of the nominal; None where there are none.
    """

    status: Status
    t: float
    nominal: Array
    lower: Array
    upper: Array
    excitation: Excitation
    window: int
    samples_used: int
    samples_rejected: Mapping[str, int]
    solve_time: float
    tightened: bool
    contradiction: Contradiction | None = None
    costs: Mapping[str, Array] = field(default_factory=dict)
    estimate: Estimate | None = None
