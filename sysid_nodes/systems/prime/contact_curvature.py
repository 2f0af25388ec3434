# SPDX-License-Identifier: Apache-2.0
"""Curvature of the cost in the contact variables, which the linear model of the residuals lacks.

Where a contact opens or closes p(w) turns within the square root of the smoothing, and a residual of one sigma there
curves the cost ten times as much as the squared slopes do. Steps of a model without it overshoot at every such stage,
and a log has some at each touch-down. With u = d cost / d p(-w) less d cost / d p(w), the cost of a contact curves by

    C = d (p'(w) u) / dw,

of which the positive part is added: it makes steps shorter, never longer. A solution does not move, nor do covariances.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.contact import smooth_projection_jacobian
from sysid_nodes.solvers.trajectory_least_squares import Blocks
from sysid_nodes.systems.prime.contacts import ContactLaw

Array = npt.NDArray[np.float64]

_DIFFERENCE = 1e-5
"""Of w, for the derivative of p'."""


def contact_curvature(law: ContactLaw, w: Array, dynamics: Blocks, contact: Blocks) -> Array:
    """(K, 3 nc, 3 nc) rows whose squares are the positive part of C.

    Args:
        law: contact model of the ground as the constants have it.
        w: (K, nc, 3) of the stages of the blocks.
        dynamics, contact: rows there, with derivatives.
    """
    count, nc = w.shape[:2]
    by_force = law.force_jacobian(w)
    assert dynamics.local_jacobian is not None
    pulled = np.einsum("kvi,kv->ki", dynamics.local_jacobian, dynamics.residual).reshape(w.shape)
    moved, pushed = contact.residual.reshape(count, 2, nc, 3).swapaxes(0, 1)
    # Of what a force's derivative is multiplied with, the slope by the force itself.
    by = np.linalg.solve(by_force.swapaxes(-1, -2), pulled[..., None])[..., 0] + pushed / law.config.force_sigma
    by[..., 0] += law.scale[..., 0] * law.per_gap * law.give * moved[..., 0]
    u = by * law.per_force - moved * law.scale
    by_w = [_DIFFERENCE * np.eye(3)[j] for j in range(3)]
    ends = [[smooth_projection_jacobian(w + sign * by, law.smoothing) for by in by_w] for sign in (1.0, -1.0)]
    turned = np.einsum("jkcab,kcb->kcaj", (np.array(ends[0]) - ends[1]) / (2.0 * _DIFFERENCE), u)
    value, axes = np.linalg.eigh(0.5 * (turned + turned.swapaxes(-1, -2)))
    root, each = np.zeros((count, nc, 3, nc, 3)), np.arange(nc)
    own = np.sqrt(np.maximum(value, 0.0))[..., None] * axes.swapaxes(-1, -2)
    root[:, each, :, each] = own.swapaxes(0, 1)
    return root.reshape(count, 3 * nc, 3 * nc)


def curvature_blocks(root: Array, contact: Blocks, size: int) -> Blocks:
    """Blocks of such rows (K, 3 nc, 3 nc), which are zero; of the first stages of contact blocks, n = size each."""
    count, rows, _ = root.shape
    none = np.broadcast_to(np.zeros(size), (count, rows, size))
    assert contact.local is not None
    return Blocks(
        contact.first[:count], np.zeros((count, rows)), none, local_jacobian=root, local=contact.local[:count]
    )
