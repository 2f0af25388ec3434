# SPDX-License-Identifier: Apache-2.0
"""Motion that stages miss, and by how much the constants are off for it.

Velocities and accelerations are central differences. Of q = sin(w t) they find w cos(w t) (1 - (w h)^2 / 6) and
-w^2 sin(w t) (1 - (w h)^2 / 12), whatever the noise: .05 % of an acceleration at 1.2 Hz and stages of 10 ms. Where
readings are so exact that a posterior is narrower than that, it would be wrong without a word. Derivatives of third and
fourth order are those of local polynomials along the estimate, whose own noise their differences would be full of.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve
from scipy.signal import savgol_filter

from sysid_nodes.solvers.trajectory_least_squares.feasible_descent import LinearModel
from sysid_nodes.systems.bayesian.estimate import Estimate
from sysid_nodes.systems.bayesian.mechanism import Motion
from sysid_nodes.systems.bayesian.noise import Correlation
from sysid_nodes.systems.bayesian.posterior import coordinate_names
from sysid_nodes.systems.bayesian.problem import GROUPS, MechanismProblem

Array = npt.NDArray[np.float64]

_ALONG, _DEGREE = 15, 5  # stages of a local polynomial, its degree
_READ = ("torque", "passive", "power")
# Of its second differences, that a joint's positions are off a local polynomial: .33 if all is noise, to .38 of real
# logs; .16 where six stages are a period's sixth, .7 where ten are.
_UNFOLLOWED = 0.5
_LEAST = 75  # stages of which that is told of a joint whose readings are noise, too
_TOLD = 0.5  # of a prior's standard deviation: of what a log does not tell, stages take nothing


@dataclass(frozen=True)
class _Finer(MechanismProblem):
    """The same, with velocities and accelerations of an order more."""

    def motion(self, point: Estimate) -> Motion:
        """The motion at the inner stages."""
        coarse, step = super().motion(point), self.log.step
        third, fourth = (
            savgol_filter(point.q, _ALONG, _DEGREE, deriv=order, delta=step, axis=0)[1:-1] for order in (3, 4)
        )
        return replace(coarse, v=coarse.v - step**2 / 6.0 * third, a=coarse.a - step**2 / 12.0 * fourth)


def missed_between_stages(problem: MechanismProblem, at: Estimate, kept: Correlation) -> Array:
    """(p,) by how much the constants are off, to first order; nothing where contacts break the motion.

    Args:
        problem: of the log.
        at: its minimum.
        kept: influences of its residuals.
    """
    off = np.zeros(len(problem.mechanism.parameters.free))
    if problem.mechanism.contacts.touching or problem.log.stages < _ALONG or not kept.own:
        return off
    finer = _Finer(**{one.name: getattr(problem, one.name) for one in fields(problem)})
    missed = zip(GROUPS, finer.residuals(at), problem.residuals(at), strict=False)
    for name, fine, coarse in missed:
        if name in _READ and name in kept.own and fine.size:
            off += np.einsum("bm,bmp->p", fine - coarse, kept.own[name].gain)
    return off


def stages_dominate(problem: MechanismProblem, model: LinearModel, missed: Array, extra: Array) -> str:
    """In words, where what stages miss moves a constant that is told by more than all noise; empty otherwise.

    Args:
        problem: of the log.
        model: at its minimum.
        missed: (p,) by how much constants are off.
        extra: (p, p) covariance that errors which last add to what white ones give.
    """
    own = problem.mechanism.parameters
    if model.factor is None or not missed.any():
        return ""
    noise = np.sqrt(np.diag(cho_solve((model.factor.corner, True), np.eye(len(missed))) + extra))
    told = np.hypot(noise, missed) < _TOLD * own.sigma[own.free]
    sizes = np.where(told, np.abs(missed) / noise, 0.0)
    k = int(np.argmax(sizes))
    if sizes[k] < 1.0:
        return ""
    name, step = coordinate_names(own)[k], 1e3 * problem.log.step
    return (
        f"stages of {step:.3g} ms are long for this motion: '{name}' is off by {sizes[k]:.2g} sigmas of noise for it; "
        "intervals allow for it, a shorter bayesian.step tells more"
    )


def unfollowed_motion(problem: MechanismProblem) -> tuple[str, ...]:
    """In words: joints that move too fast for stages to follow, or to tell by how much they do not."""
    log, found = problem.log, list[str]()
    if problem.mechanism.contacts.touching or log.stages < _LEAST:
        return ()
    counts = np.zeros(log.position.shape[1]) if log.counts is None else log.counts
    for name, q, count in zip(problem.mechanism.chain.joint_names, log.position.T, counts, strict=True):
        if not np.isfinite(q).all():
            continue
        off = np.abs(q - savgol_filter(q, _ALONG, _DEGREE))[_ALONG // 2 : -(_ALONG // 2)]
        bend = float(np.median(np.abs(np.diff(q, 2))))
        if bend > 0.0 and np.median(off) > max(_UNFOLLOWED * bend, count):
            found.append(f"'{name}' moves too fast for stages of {1e3 * log.step:.3g} ms: take shorter (bayesian.step)")
    return tuple(found)
