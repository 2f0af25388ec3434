# SPDX-License-Identifier: Apache-2.0
"""The statistical estimate of the identified body, window by window, inside whatever is proven."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy import special  # not stats, which takes a third of a node's start

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.inertia import PSEUDO_INERTIA_BASIS
from sysid_nodes.models.chain import Chain
from sysid_nodes.results.identification import LEVEL, Estimate
from sysid_nodes.solvers.semidefinite import constrained_quadratic
from sysid_nodes.systems.interval.estimate.belief import Belief
from sysid_nodes.systems.interval.estimate.robust_fit import RobustFit, robust_fit
from sysid_nodes.systems.interval.estimate.untold_effects import Effect, clearest_effect
from sysid_nodes.systems.interval.estimate.window_model import WindowModel
from sysid_nodes.systems.interval.momentum_rows import MomentumRows
from sysid_nodes.systems.interval.unknowns import Unknowns

Array = npt.NDArray[np.float64]

_MOST_WINDOWS = 800
"""Windows kept; of more every second one goes."""

_GROWTH = 1.25
"""Growth of the number of windows at which the fit is made anew: all fits together cost five times the last one."""

_MARGIN = 1e-9
"""Smallest eigenvalue asked of the pseudo-inertia, relative to the mass, so that the estimate is strictly physical."""

VAGUE = 3.0
"""Standard deviation of the body before any data, in half-widths of the prior box: next to nothing."""

_KNOWN = 1e-24
"""Variance of a parameter that the prior fixes."""

LOAD_FRICTION = 0.1
"""Standard deviation of the share of a torque that drives lose, before any data; UR10e: .06."""

_DRIFT = 0.15
"""Friction of a run relative to that of the calibration, one standard deviation: drives get warm."""


def before_any_data(unknowns: Unknowns, load_friction: Array) -> Belief:
    """Belief about the known robot's 15 n parameters and n load frictions, of which load_friction (n,) is the sigma."""
    size = 15 * unknowns.joints
    radius = np.abs(unknowns.basis[:size, 10:]).sum(axis=1)
    point = np.concatenate([unknowns.known_centre[:size], np.zeros(unknowns.joints)])
    return Belief.gaussian(point, np.concatenate([radius / np.sqrt(3.0), load_friction]))


def since_calibration(belief: Belief, spread: Array) -> Belief:
    """A calibration's belief for another run: friction and offsets have moved meanwhile.

    Args:
        belief: of the calibration.
        spread: (n,) of its residuals [N m].
    """
    n = len(spread)
    moved = np.zeros(len(belief.point))
    moved[10 * n : 12 * n] = _DRIFT * np.abs(belief.point[10 * n : 12 * n])
    moved[13 * n : 14 * n] = np.hypot(_DRIFT * belief.point[10 * n : 11 * n], spread)
    return belief.drift(moved)


class StatisticalEstimator:
    """Robust least squares of the body along with friction, offsets and all else that is uncertain of the robot.

    Args:
        unknowns: the body's prior box and index.
        belief: about the known robot, (16 n) parameters.
        stated: the belief is stated boxes and no more (`before_any_data`). Their errors may be all alike: to the
            intervals they add what they do at worst.
        unread: (n,) joints whose torque readings tell nothing; None: every joint's do.
    """

    def __init__(
        self, unknowns: Unknowns, belief: Belief, *, stated: bool = False, unread: npt.NDArray[np.bool_] | None = None
    ) -> None:
        self._unknowns, self._unread = unknowns, unread
        prior = unknowns.prior
        self._box = np.zeros(len(belief.point) + 10)
        if stated:
            self._box[:-10] = np.sqrt(3.0) * belief.sigma
            belief = replace(belief, score_covariance=np.zeros_like(belief.score_covariance))
        self._belief = belief.and_also(Belief.gaussian(prior.centre, VAGUE * prior.half_width))
        self._windows: list[WindowModel] = []
        self._stride, self._seen, self._next = 1, 0, 1
        self._fit: RobustFit | None = None

    def add(self, rows: MomentumRows, posture: Array | None = None) -> bool:
        """Takes the rows of new windows, and their mean positions (W, n) for `clearest_effect`.

        Returns:
            Whether they made enough more for a new fit.
        """
        model = WindowModel.of_rows(rows, self._unknowns.body, 0, self._unread, posture)
        taken = np.flatnonzero((self._seen + np.arange(len(rows.t))) % self._stride == 0)
        self._seen += len(rows.t)
        if taken.size:
            self._windows.append(model.select(taken))
        if (held := sum(len(each.load) for each in self._windows)) > _MOST_WINDOWS:
            self._windows = [WindowModel.join(self._windows).select(np.arange(0, held, 2))]
            self._stride *= 2
        if due := self._seen >= self._next:
            self._fit = self._fit_anew()
            self._next = int(np.ceil(_GROWTH * self._seen))
        return due

    def clearest_effect(self, chain: Chain, coupling: Array | None, *, with_load: bool) -> Effect | None:
        """The effect that nobody stated and the last fit's windows show most clearly, see `clearest_effect`."""
        if self._fit is None:
            return None
        return clearest_effect(chain, WindowModel.join(self._windows), self._fit, coupling, with_load=with_load)

    def final(self) -> StatisticalEstimator:
        """One that has fitted all windows, for the end of a run; this one goes on as if it had not been asked."""
        if self._seen < self._next and self._seen:
            other = StatisticalEstimator.__new__(StatisticalEstimator)
            other.__dict__.update(self.__dict__)
            other._fit = other._fit_anew()
            return other
        return self

    def solve(self, bounds: Bounds) -> Array:
        """(10,) physically consistent estimate inside the bounds."""
        if self._fit is None:
            return project(np.diag(1.0 / np.maximum(bounds.half_width, 1e-12) ** 2), bounds.centre, bounds)
        body = slice(-10, None)
        covariance = self._fit.inverse[body, body].copy()
        np.fill_diagonal(covariance, np.maximum(covariance.diagonal(), _KNOWN))
        return project(np.asarray(np.linalg.inv(covariance)), self._fit.point[body], bounds)

    def estimate(self, bounds: Bounds) -> Estimate | None:
        """Confidence intervals inside the bounds and what was estimated with the body; None before any data.

        Where the fit leaves the bounds, or is no physical body, its interval hardly meets what is possible, and looks
        the surer the worse it fits (M. Mandelkern, Setting confidence intervals for bounded parameters, Stat. Sci. 17,
        2002). The nominal body, the nearest that is possible, is off by no more than the fit in the fit's own metric;
        so the interval is as wide about both.
        """
        if self._fit is None:
            return None
        fit, n = self._fit, self._unknowns.joints
        covariance, freedom = fit.covariance()
        nominal = self.solve(bounds)
        error = np.sqrt(covariance.diagonal()[-10:]) * special.stdtrit(freedom[-10:], 0.5 + 0.5 * LEVEL)
        error += fit.systematic(self._box)[-10:]
        point = fit.point[-10:]
        return Estimate(
            lower=np.clip(np.minimum(point, nominal) - error, bounds.lower, bounds.upper),
            upper=np.clip(np.maximum(point, nominal) + error, bounds.lower, bounds.upper),
            coulomb=fit.point[10 * n : 11 * n],
            viscous=fit.point[11 * n : 12 * n],
            offset=fit.point[13 * n : 14 * n],
            load_friction=fit.point[15 * n : 16 * n],
            torque_sigma=fit.spread,
        )

    @property
    def parameters(self) -> Array:
        """(16 n,) of the known robot."""
        found = self._belief if self._fit is None else self._fit
        return found.point[:-10]

    def _fit_anew(self) -> RobustFit | None:
        # A fit without numbers is rare, and no reason to end a run: what fewer windows said still holds.
        return robust_fit(WindowModel.join(self._windows), self._belief) or self._fit


def project(weight: Array, point: Array, bounds: Bounds) -> Array:
    """(10,) argmin (theta - point)' weight (theta - point) over the physical bodies inside the bounds."""
    scale = np.where(bounds.half_width > 0.0, bounds.half_width, 1.0)
    hessian = weight * np.outer(scale, scale)
    size = float(np.trace(hessian)) or 1.0
    # theta = centre + scale x: the constant part of the pseudo-inertia enters as one more, fixed, coordinate.
    constant = np.tensordot(bounds.centre, PSEUDO_INERTIA_BASIS, axes=1)[None]
    matrices = np.concatenate([PSEUDO_INERTIA_BASIS * scale[:, None, None], constant])
    half = bounds.half_width / scale
    x = constrained_quadratic(
        np.pad(hessian, (0, 1)) / size,
        np.append(hessian @ ((bounds.centre - point) / scale), 0.0) / size,
        np.append(-half, 1.0),
        np.append(half, 1.0),
        [(matrices, _MARGIN * max(float(bounds.upper[0]), 1e-6))],
    )
    theta = bounds.centre if x is None else bounds.centre + scale * x[:10]
    return np.clip(theta, bounds.lower, bounds.upper)
