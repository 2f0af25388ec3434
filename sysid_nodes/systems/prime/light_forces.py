# SPDX-License-Identifier: Apache-2.0
"""Errors of forces on contacts: by them light ones tell the friction hardly anything.

A foot that slides says how large the friction is, by the ratio of its forces; so does one that hardly bears, of which
the mean over a stage at a landing, unknown torques and the smoothing leave a newton or two. An error F of its force
along the ground passes for a friction that is wrong by the share F / (mu f_n): six per cent of a foot that slides under
40 N, all of one that lands. Residuals do not show it. A walk that hardly slides told its friction by three landings,
under 2 to 3 N, to a tenth, and was wrong by a third.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.trajectory_least_squares import Blocks
from sysid_nodes.systems.prime.problem import PrimeProblem
from sysid_nodes.systems.prime.surroundings import contact_law_with
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]

ERROR = 2.0
"""Standard deviation of a force on a contact along the ground at a stage, beyond noise [N]."""

LEAST = 0.01
"""Force below which a contact tells nothing [N]."""


def friction_errors(problem: PrimeProblem, contact: Blocks, gain: Array, point: Trajectory) -> Array:
    """(B nc, c) errors of some unknowns by the force of each contact at each stage, independent of one another.

    Args:
        problem: of a window or of a whole log.
        contact: rows of its contacts with derivatives, of B stages.
        gain: (B, m, c) of the unknowns by these rows.
        point: of linearisation.
    """
    columns, count = problem.model.parameters.friction, gain.shape[2]
    if columns.start == columns.stop:
        return np.zeros((0, count))
    assert contact.local is not None
    assert contact.parameter_jacobian is not None
    law = contact_law_with(problem.law, problem.model.parameters, point.theta)
    normal = law.force(point.w[contact.local])[..., 0]
    share = ERROR / (law.config.friction * np.maximum(normal, LEAST))
    split = 3 * normal.shape[1]
    by = contact.parameter_jacobian[:, :split, columns.start].reshape(*normal.shape, 3) * share[:, :, None]
    return np.asarray(np.einsum("bir,birc->bic", by, gain[:, :split].reshape(*by.shape, count)).reshape(-1, count))
