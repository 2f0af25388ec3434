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
from scipy.signal import savgol_filter

from sysid_nodes.systems.bayesian.estimate import Estimate
from sysid_nodes.systems.bayesian.mechanism import Motion
from sysid_nodes.systems.bayesian.noise import Correlation
from sysid_nodes.systems.bayesian.problem import GROUPS, MechanismProblem

Array = npt.NDArray[np.float64]

_ALONG, _DEGREE = 15, 5  # stages of a local polynomial, its degree
_READ = ("torque", "passive", "power")


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
