# SPDX-License-Identifier: Apache-2.0
"""Constants that cannot be: far from their priors, or moved by more than was learnt of them meanwhile.

An estimate x of a constant that uses all readings so far moves from a time s to a later t by what is learnt between
them: Var(x_t - x_s) = Var(x_s) - Var(x_t), whatever was learnt before (Hausman, Specification tests in econometrics,
1978). One that moves many such standard deviations claims to know what it does not. Stages that leave a window were
linearised at older estimates, which is worth half a standard deviation more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.results.prime import PrimeEstimate
from sysid_nodes.sessions.prime.config import TrustConfig

Array = npt.NDArray[np.float64]

FAR, MOVED = "constants", "estimates of constants"
"""Names of what is looked at."""

_SPACING = 0.4
"""Time between two estimates that later ones are compared with, at first [s]."""

_MOST = 16
"""Of them; every other one goes when there are more, and their distance doubles."""

_RELINEARISED = 0.5
"""Standard deviations by which an estimate may move without learning anything."""

_LOG_CHOLESKY = 10
"""Constants of an identified body, the logarithm of its mass first: their prior says next to nothing."""

_DRIVES = ("links.", "joint.", "joint_torque.gain")
"""Constants that, with the bodies' masses, forces are measured by, and that stay the same.

Ground, feet and encoders are not looked at: ground gives way, and what a late stream says is put down to them. Nor is
how a body's mass is spread, which is learnt late and all at once.
"""


@dataclass(frozen=True)
class Excess:
    """By how much a constant is where it cannot be.

    Attributes:
        ratio: in standard deviations.
        line: what is wrong, in words.
    """

    ratio: float
    line: str


class ConstantsWatch:
    """Compares estimates of constants with their priors and with the estimates before.

    Args:
        config: limits of trust.
        memory: time over which constants may drift by their prior's standard deviation [s]; 0: they do not.
    """

    def __init__(self, config: TrustConfig, memory: float = 0.0) -> None:
        self._far, self._moved, self._memory = config.far, config.moved, memory
        self.restart()

    def restart(self) -> None:
        """Estimates that follow do not go on from those before."""
        self._spacing = _SPACING
        self._before: list[tuple[float, Array, Array]] = []  # time, estimate, variance

    def excesses(self, estimate: PrimeEstimate) -> Mapping[str, Excess]:
        """The worst constant of each kind of excess, where there is one."""
        found: dict[str, Excess] = {}
        names, bodies = estimate.parameter_names, _LOG_CHOLESKY * len(estimate.bodies)
        if not names:
            return found
        far = np.abs(estimate.prior_distance)
        far[:bodies] = 0.0
        if np.max(far) > self._far:
            k = int(np.argmax(far))
            line = f"'{names[k]}' is {far[k]:.2g} standard deviations from what is known of it"
            found[FAR] = Excess(float(far[k]), f"{line}: that of another robot, or what else is wrong put down to it")
        weighing = [k % _LOG_CHOLESKY == 0 if k < bodies else name.startswith(_DRIVES) for k, name in enumerate(names)]
        moved = np.where(weighing, self._movement(estimate), 0.0)
        if np.max(moved) > self._moved:
            k = int(np.argmax(moved))
            line = f"'{names[k]}' has moved {moved[k]:.2g} times as far as its standard deviations allow"
            found[MOVED] = Excess(float(moved[k]), f"{line}: the estimates of before contradict those of now")
        return found

    def remember(self, estimate: PrimeEstimate) -> None:
        """Takes an estimate that is trusted as one that later ones are compared with, if it is time."""
        t = float(estimate.t[-1])
        variance = np.diag(estimate.parameter_covariance)
        if not variance.size or not np.isfinite(variance).all():
            return
        if self._before and t - self._before[-1][0] < self._spacing:
            return
        self._before.append((t, estimate.parameters, variance))
        if len(self._before) > _MOST:
            self._before, self._spacing = self._before[::2], 2.0 * self._spacing

    def _movement(self, estimate: PrimeEstimate) -> Array:
        """(p,) the largest movement of each constant since an estimate before, in standard deviations."""
        out, variance = np.zeros(len(estimate.parameters)), np.diag(estimate.parameter_covariance)
        if not np.isfinite(variance).all():
            return out
        for t, before, spread in self._before:
            own = np.maximum(spread - variance, 0.0) + _RELINEARISED**2 * variance
            if self._memory > 0.0:
                own += (float(estimate.t[-1]) - t) / self._memory * estimate.prior_sigma**2
            out = np.maximum(out, np.abs(estimate.parameters - before) / np.sqrt(own))
        return out
