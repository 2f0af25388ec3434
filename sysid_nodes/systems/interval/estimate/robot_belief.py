# SPDX-License-Identifier: Apache-2.0
"""Knowledge of a robot from its calibration runs, for estimates of what it carries and for predictions of torque."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.exceptions import ExcitationError
from sysid_nodes.systems.interval.estimate.belief import Belief
from sysid_nodes.systems.interval.estimate.estimator import LOAD_FRICTION, before_any_data
from sysid_nodes.systems.interval.estimate.robust_fit import RobustFit, log_evidence, robust_fit
from sysid_nodes.systems.interval.estimate.window_model import WindowModel
from sysid_nodes.systems.interval.momentum_rows import MomentumRows
from sysid_nodes.systems.interval.unknowns import identify_payload

Array = npt.NDArray[np.float64]

_UNLISTED_SHARE = 0.1
"""Standard deviation of what a bare arm's last link carries and its description lacks, in half-widths of the prior."""

_SEEN = 2.0
"""Standard deviations from which a load friction counts as seen. Friction takes energy: it is not negative."""

_GAIN = 0.02
"""Standard deviation of a joint's torque scale where none is stated. Of two real arms with torque sensors in their
joints, scales that differ by so much explain all logs better than equal ones, by up to e^35."""

_LINKS = (1.0, 0.5, 0.25, 0.125)
"""Errors of links, in units of the stated ones, of which the likeliest counts for predictions."""


@dataclass(frozen=True)
class Bare:
    """A robot without payload, before any data.

    Attributes:
        n: number of joints.
        body: joint that carries the payloads.
        centre, radius: (15 n,) box of its parameters.
        prior: box of what may be on that joint's link.
        unread: (n,) joints whose torque readings tell nothing; None: every joint's do.
    """

    n: int
    body: int
    centre: Array
    radius: Array
    prior: Bounds
    unread: npt.NDArray[np.bool_] | None = None

    def before(self, links: float = 1.0, gain: float = 0.0) -> Belief:
        """Belief (16 n) before any data.

        The link that is to carry payloads may carry a flange, a camera or a bracket that its description lacks. Held
        to that description, calibration would leave them over for the payload of the next run.

        Args:
            links: share of the stated errors of links that is expected.
            gain: standard deviation of the torque scale of joints for which none is stated.
        """
        n, radius = self.n, self.radius.copy()
        radius[: 10 * n] *= links
        radius[14 * n :] = np.where(radius[14 * n :] > 0.0, radius[14 * n :], np.sqrt(3.0) * gain)
        unknowns = identify_payload(n, self.body, self.centre, radius, _NOTHING)
        before = before_any_data(unknowns, np.full(n, LOAD_FRICTION))
        unlisted = np.zeros(16 * n)
        unlisted[10 * self.body : 10 * self.body + 10] = links * _UNLISTED_SHARE * self.prior.half_width
        return before.drift(unlisted)


_NOTHING = Bounds(np.zeros(10), np.zeros(10))


def statistical_belief(bare: Bare, rows: Sequence[MomentumRows], loads: Sequence[Bounds] = ()) -> tuple[Belief, Array]:
    """Statistical knowledge of the robot (16 n) from all runs, and the spread (n,) of the residuals [N m].

    Args:
        bare: the robot before any data.
        rows: of each run.
        loads: box of each run's payload, whose moments may be anything in it; none: no run has one.

    Raises:
        ExcitationError: the fit does not converge.
    """
    model, before = _windows(bare, bare.before(), rows, loads)
    fit = robust_fit(model, before)
    if fit is None or fit.jackknife is None:
        raise ExcitationError("the statistical fit of the runs does not converge; record a longer or livelier motion")
    point = _essential_point(model, before, fit, fit.jackknife.matrix)
    return replace(fit.after(), point=point).first(16 * bare.n), fit.spread


def predicting_point(bare: Bare, belief: Belief, rows: Sequence[MomentumRows], loads: Sequence[Bounds] = ()) -> Array:
    """(16 n,) parameters for the prediction of torque.

    A payload's mass rests on the stated scale of torque, and its interval on the stated errors. A prediction need not:
    joints' torque scales are estimated along, and how far links are from their description is learnt, as the share of
    the stated errors under which the runs are likeliest (empirical Bayes: H. Robbins, An empirical Bayes approach to
    statistics, Berkeley Symp. 1956). Load friction that the belief leaves out is left out.

    Args:
        bare: the robot before any data.
        belief: `statistical_belief` of the same runs.
        rows: of each run.
        loads: box of each run's payload; none: no run has one.
    """
    point, highest = belief.point, -np.inf
    for share in _LINKS:
        model, before = _windows(bare, bare.before(share, _GAIN), rows, loads)
        left_out = np.zeros(len(before.point), dtype=bool)
        left_out[15 * bare.n : 16 * bare.n] = belief.point[15 * bare.n :] == 0.0
        fit = robust_fit(model, before.hold(left_out))
        evidence = -np.inf if fit is None else log_evidence(model, fit)
        if fit is None or evidence <= highest:
            break  # the less is expected, the less likely from here on
        point, highest = fit.point[: 16 * bare.n], evidence
    return point


def _windows(
    bare: Bare, before: Belief, rows: Sequence[MomentumRows], loads: Sequence[Bounds]
) -> tuple[WindowModel, Belief]:
    """Windows of all runs, and the belief with the payloads of those that have one."""
    models, payloads = [], 0
    for run, load in zip(rows, loads or [_NOTHING] * len(rows), strict=True):
        loaded = load.upper[0] > 0.0
        models.append(WindowModel.of_rows(run, bare.body, payloads if loaded else -1, bare.unread))
        if loaded:
            before = before.and_also(Belief.gaussian(load.centre, load.half_width))
            payloads += 1
    return WindowModel.join(models), before


def _essential_point(model: WindowModel, before: Belief, fit: RobustFit, error: Array) -> Array:
    """(K,) the fit's point, but without load frictions that the runs do not show.

    Drives whose torque is measured behind the gear have none. What a fit of few windows finds of them all the same is
    noise, of either sign, that other motions pay for. error (K, K) is the covariance of the fit; a share within two of
    its sigmas may be there all the same, so that it stays what is known of the point.
    """
    own = slice(15 * model.joints, 16 * model.joints)
    unseen = np.zeros(len(fit.point), dtype=bool)
    unseen[own] = fit.point[own] < _SEEN * np.sqrt(error.diagonal()[own])
    again = robust_fit(model, before.hold(unseen)) if unseen.any() else None
    return fit.point if again is None else again.point
