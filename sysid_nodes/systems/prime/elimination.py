# SPDX-License-Identifier: Apache-2.0
"""Contact variables at their best for a given motion, stage by stage.

The pair p(w), p(-w) is the only strong nonlinearity of the problem: a linear step in w can turn a foot's force off that
should only have been halved. Given motion and parameters, each stage's w is a least-squares problem of its own,

    min_w |d + A f(w)|^2 + |S (z + c f_n(w) - p(w))|^2 + |f(w) / force_sigma|^2,

d what the contacts have to supply, A their columns, z the contact velocities, c what feet and ground give. Solved after
each step of the trajectory (as in variable projection), it leaves the outer iteration an almost linear problem: 62
iterations of a log of 1000 stages became 12.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.systems.prime.contacts import ContactLaw

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

FEW_ITERATIONS, CONTACT_ITERATIONS = 4, 20
"""At most, of motion that is far from its best, and near it. There single stages that have not settled would have every
step cut short, and corners of a sole that share a load take many."""

CONTACT_TOLERANCE = 1e-6
"""Change of a stage's sum of squares that ends its iterations before."""

WORTH = 1.0
"""Least decrease of a stage's sum of squares for which a contact is lifted or pressed that was not."""


def contact_iterations(settles: bool) -> int:
    """Iterations of a stage at most."""
    return CONTACT_ITERATIONS if settles else FEW_ITERATIONS


def solve_contacts(
    w: Array, wanted: Array, columns: Array, velocity: Array, law: ContactLaw, most: int, *, turns: bool = False
) -> Array:
    """w (K, nc, 3) after Levenberg-Marquardt steps, each stage with its own damping.

    If asked for, where a stage's sum of squares is larger than noise explains, each contact is turned over (w to -w:
    one that pressed is lifted, one that hung presses), the best of all is taken, and so on while that is worth it: a
    stage has a local minimum for each set of contacts that press.

    Args:
        w: (K, nc, 3) start.
        wanted: (K, nv) d.
        columns: (K, nv, 3 nc) A.
        velocity: (K, nc, 3) z.
        law: contact model.
        most: iterations of a descent.
        turns: whether contacts are turned over: not while the motion is far from its best, or a window's newest stages
            wait for readings.
    """
    w, cost = _descend(w, wanted, columns, velocity, law, most)
    expected = columns.shape[1] + columns.shape[2]
    going = np.flatnonzero(cost + np.sum(wanted**2, axis=1) > expected)
    for _ in range(w.shape[1] if turns else 0):
        here, best = w[going], cost[going]
        found = here.copy()
        for contact_number in range(w.shape[1]):
            turned = here.copy()
            turned[:, contact_number] *= -1.0
            turned, value = _descend(turned, wanted[going], columns[going], velocity[going], law.at(going), most)
            better = value < best
            found[better], best[better] = turned[better], value[better]
        worth = best < cost[going] - WORTH
        going, found, best = going[worth], found[worth], best[worth]
        w[going], cost[going] = found, best
        left = best + np.sum(wanted[going] ** 2, axis=1) > expected
        going = going[left]
    return w


def _descend(
    w: Array, wanted: Array, columns: Array, velocity: Array, law: ContactLaw, most: int
) -> tuple[Array, Array]:
    """w (K, nc, 3) and the (K,) sums of squares there, less that of `wanted`."""
    gram = columns.swapaxes(-1, -2) @ columns + np.eye(columns.shape[2]) / law.config.force_sigma**2
    linear = np.einsum("kvi,kv->ki", columns, wanted)
    w, damping, going = w.copy(), np.full(len(w), 1e-6), np.arange(len(w))

    def evaluate(w: Array, going: IntArray) -> tuple[Array, Array, Array]:
        pushed = law.force(w)
        force = pushed.reshape(len(w), linear.shape[1])
        slope = np.einsum("kij,kj->ki", gram[going], force) + linear[going]
        gap = law.at(going).misfit(w, velocity[going], pushed)
        cost = np.einsum("ki,ki->k", force, slope + linear[going]) + np.einsum("kci,kci->k", gap, gap)
        return slope, gap, cost

    slope, gap, cost = evaluate(w, going)
    for _ in range(most):
        here = w[going]
        by_force = law.force_jacobian(here)
        by_gap = law.at(going).misfit_jacobian(here, by_force)
        gradient = np.einsum("kcij,kci->kcj", by_force, slope[going].reshape(here.shape))
        gradient += np.einsum("kcij,kci->kcj", by_gap, gap[going])
        trial = here + _step(gram[going], by_force, by_gap, gradient, damping[going])
        slope_there, gap_there, cost_there = evaluate(trial, going)
        gain = cost[going] - cost_there
        better = gain > 0.0
        taken = going[better]
        w[taken], slope[taken], gap[taken] = trial[better], slope_there[better], gap_there[better]
        cost[taken] = cost_there[better]
        eased, raised = np.maximum(0.1 * damping[going], 1e-9), np.maximum(30.0 * damping[going], 1e-3)
        damping[going] = np.where(better, eased, raised)
        going = going[np.abs(gain) > CONTACT_TOLERANCE]
    return w, cost


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
    solved = np.asarray(np.linalg.solve(dense, gradient.reshape(count, 3 * nc, 1)), dtype=np.float64)
    return -solved.reshape(gradient.shape)
