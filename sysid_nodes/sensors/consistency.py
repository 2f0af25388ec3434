"""Sensors that are wrong and yet plausible: their residuals are larger than their noise and the estimate's allow.

A whitened residual r (m,) of a sensor whose model and noise are right has r' S^-1 r distributed as chi-square with m
degrees of freedom, S = 1 + C, C being the covariance of the prediction in the same whitened units. Residuals after a
fit are smaller than that (the fit has followed them), so that a sensor which fails has failed; one that passes may be
wrong in a way the others follow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt
from scipy import special

from sysid_nodes.data.config import option
from sysid_nodes.exceptions import InputError
from sysid_nodes.signals.plausibility import Finding

Array = npt.NDArray[np.float64]

_FEWEST = 10
"""Residuals needed before a sensor is judged."""

_OUTLIER = 20.0
"""A square counts at most so many times its expectation: one reading in a hundred does not condemn a sensor, a
quarter of them does."""


@dataclass(frozen=True)
class ConsistencyConfig:
    """When residuals contradict a sensor's stated noise."""

    gate: float = option(
        1e-5, "share of good readings that may be turned away one by one", unit="1", minimum=1e-12, maximum=0.5
    )
    alarm: float = option(
        1e-6, "probability of an alarm while sensor and noise are right", unit="1", minimum=1e-15, maximum=0.5
    )
    tolerance: float = option(
        2.0, "residuals up to this many times their stated size are put up with", unit="1", minimum=1.0
    )
    memory: int = option(100, "residuals that a sensor is judged by", minimum=_FEWEST)


class Verdict(Enum):
    """Verdict on a sensor, from its residuals."""

    TOO_FEW = "too few residuals to judge"
    CONSISTENT = "residuals agree with the stated noise"
    INCONSISTENT = "residuals are larger than the stated noise allows"


def normalised_square(residual: Array, prediction: Array | None = None) -> Array:
    """r' (1 + C)^-1 r (K,).

    Args:
        residual: (K, m) whitened with the sensor's noise.
        prediction: (K, m, m) covariance C of the prediction in the same units; None for a prediction taken as exact.
    """
    if prediction is None:
        return np.asarray(np.einsum("ki,ki->k", residual, residual))
    solved = np.linalg.solve(np.eye(residual.shape[1]) + prediction, residual[:, :, None])
    return np.asarray(np.einsum("ki,ki->k", residual, solved[:, :, 0]))


def chi_square_limit(rows: int, probability: float) -> float:
    """The value that a chi-square with so many degrees of freedom exceeds with that probability."""
    return float(special.chdtri(rows, probability))


class ConsistencyMonitor:
    """Judges sensors by their latest residuals.

    Args:
        rows: numbers m in a residual of each sensor, by its name.
        config: when they contradict the stated noise.
    """

    def __init__(self, rows: Mapping[str, int], config: ConsistencyConfig | None = None) -> None:
        self._rows, self._config = dict(rows), config or ConsistencyConfig()
        self.reset()

    def reset(self) -> None:
        """Forgets every residual."""
        most = self._config.memory
        self._squares: dict[str, deque[float]] = {name: deque(maxlen=most) for name in self._rows}
        self._residuals: dict[str, deque[Array]] = {name: deque(maxlen=most) for name in self._rows}

    def add(self, name: str, residual: Array, prediction: Array | None = None) -> npt.NDArray[np.bool_]:
        """Takes residuals of a sensor and says which of them pass the gate, each on its own.

        A residual that is not finite does not pass, and counts as an outlier.

        Args:
            name: of the sensor.
            residual: (K, m) whitened.
            prediction: (K, m, m) or None, see ``normalised_square``.

        Raises:
            InputError: the sensor is unknown or its residuals have another length.
        """
        if name not in self._rows or residual.shape[1:] != (self._rows[name],):
            raise InputError(f"no sensor '{name}' with residuals of shape {residual.shape} is watched")
        limit = chi_square_limit(self._rows[name], self._config.gate)
        squares = normalised_square(residual, prediction)
        squares = np.where(np.isfinite(squares), squares, np.inf)
        self._squares[name].extend(np.minimum(squares, _OUTLIER * self._rows[name]).tolist())
        self._residuals[name].extend(np.nan_to_num(residual, nan=0.0, posinf=0.0, neginf=0.0))
        return squares <= limit

    def ratio(self, name: str) -> float:
        """Root mean square of a sensor's residuals (outliers bounded) over its noise; NaN without any."""
        squares = self._squares[name]
        return float(np.sqrt(np.mean(squares) / self._rows[name])) if squares else float("nan")

    def verdict(self, name: str) -> Verdict:
        """Whether the latest residuals, taken together, can be explained.

        Their sum is chi-square with K m degrees of freedom; it has to be improbable even where residuals are
        `tolerance` times as large as stated.
        """
        squares = self._squares[name]
        if len(squares) < _FEWEST:
            return Verdict.TOO_FEW
        total = float(np.sum(squares)) / self._config.tolerance**2
        limit = chi_square_limit(len(squares) * self._rows[name], self._config.alarm)
        return Verdict.INCONSISTENT if total > limit else Verdict.CONSISTENT

    def findings(self, time: float) -> list[Finding]:
        """A line for every sensor that fails, the worst first: the others may fail only because of it.

        Args:
            time: of the latest residuals [s].
        """
        wrong = [name for name in self._rows if self.verdict(name) is Verdict.INCONSISTENT]
        return [self._finding(name, time) for name in sorted(wrong, key=self.ratio, reverse=True)]

    def _finding(self, name: str, time: float) -> Finding:
        mean = np.mean(np.array(self._residuals[name]), axis=0)
        worst = int(np.argmax(np.abs(mean)))
        line = f"residuals of '{name}' are {self.ratio(name):.3g} times what its stated noise explains"
        if abs(mean[worst]) > 1.0:
            line += f"; component {worst} is off by {mean[worst]:.3g} sigma on average"
        return Finding("consistency", name, time, line)
