# SPDX-License-Identifier: Apache-2.0
"""Signs that gears couple joints of which the configuration says nothing.

Where the motor of a joint turns with c times another's angle as well, its torque T acts on the other by c T
(couplings.py): without c, the other's residual is T to a factor. The friction and the rotor that c leaves out of the
first's go with the other's motion, and so with its torque, too.
"""

from __future__ import annotations

import numpy as np

from sysid_nodes.systems.bayesian.contradictions import LASTING
from sysid_nodes.systems.bayesian.descent import Fitted
from sysid_nodes.systems.bayesian.noise import Correlation

_SHARE = 0.5  # of a residual's variance that another motor's torque explains
_SURE = 5.0  # standard deviations from chance


def coupled_joints(fitted: Fitted, kept: Correlation) -> tuple[str, ...]:
    """In words, of each joint whose errors last and follow another's torque.

    Args:
        fitted: the minimum.
        kept: how long its residuals keep.
    """
    problem, at = fitted.problem, fitted.found.best.point.point
    mechanism, log, own = problem.mechanism, problem.log, problem.mechanism.parameters
    (motors,) = np.nonzero(own.motors)
    read = np.nan_to_num(log.torque[1:-1])
    torque = mechanism.torque(problem.motion(at), at.x)[:, motors]
    missed = own.constants(at.x, "gain")[motors] * torque + own.constants(at.x, "offset")[motors] - read
    names, found = np.array(own.joints)[motors], list[str]()
    for i in np.flatnonzero(kept.torque > LASTING):
        used = log.torque_stages[1:-1] & ~problem.uncounted[:, i]
        if used.sum() <= 3.0 * kept.torque[i]:
            continue
        error, others = (rows[used] - rows[used].mean(axis=0) for rows in (missed[:, i], read))
        size = np.sum(others**2, axis=0) * np.sum(error**2)
        share = (error @ others) ** 2 / np.maximum(size, np.finfo(float).tiny)
        share[i] = 0.0
        j, independent = int(np.argmax(share)), used.sum() / kept.torque[i]
        if share[j] > _SHARE and share[j] * (independent - 2.0) > _SURE**2 * (1.0 - share[j]):
            found.append(
                f"errors at '{names[i]}' follow the torque of '{names[j]}': do gears couple them (mechanism.couplings)?"
            )
    return tuple(found)
