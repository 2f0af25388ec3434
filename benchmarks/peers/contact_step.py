# SPDX-License-Identifier: Apache-2.0
"""One step of the paper's smoothed contact dynamics (eq. 17), by Newton's method.

With z = (V_n / mu, V_t), V = (gap / dt + v_n, v_t), and impulses l = (mu lambda_n, lambda_t), the stationarity of (17)
is z = eps l^-1 in the Jordan algebra of the second-order cone, eps = 2 / kappa, with V = V_free + W lambda. Both sides
are written z = p(w), l = p(-w) (sysid_nodes/models/contact.py), which holds the cones and their product for every w:

    A p(-w) + b - p(w) = 0,   A = S W S', b = S V_free.

Newton on the log-barrier itself, primal or dual, needs a feasible start and takes many short steps when a contact opens
or closes; here any w will do, and a warm start takes two to five steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dgesv

Array = npt.NDArray[np.float64]

_MOST = 30
_TOLERANCE = 1e-10
"""Of the residual [m/s] against the largest free velocity, or 1 m/s."""


@dataclass(frozen=True)
class ContactSolution:
    """Outcome of a step.

    Attributes:
        impulse: (nc, 3) in scaled cone coordinates.
        w: (nc, 3), a warm start for a similar problem.
        steps: Newton steps.
    """

    impulse: Array
    w: Array
    steps: int


def solve_contacts(a: Array, b: Array, eps: float, start: Array) -> ContactSolution:
    """The impulses.

    Args:
        a: (3 nc, 3 nc) positive semidefinite.
        b: (3 nc,).
        eps: smoothing [J].
        start: (nc, 3) w.
    """
    tolerance = _TOLERANCE * max(1.0, float(np.abs(b).max()))
    solution = _newton(a, b, eps, start, tolerance)
    if solution is not None:
        return solution
    # From far away the corners of a small smoothing turn Newton in circles: follow the solution down.
    w, steps = np.zeros_like(start), _MOST
    for level in np.geomspace(max(eps, 1.0), eps, 12):
        step = _newton(a, b, float(level), w, tolerance)
        if step is not None:
            w, steps = step.w, steps + step.steps
            solution = step
    return solution if solution is not None else ContactSolution(cone_pair(w, eps)[1], w, steps)


def _newton(a: Array, b: Array, eps: float, w: Array, tolerance: float) -> ContactSolution | None:
    nc = len(w)
    at = np.arange(nc)
    z, impulse, slope = cone_pair(w, eps)
    residual = a @ impulse.ravel() + b - z.ravel()
    size = float(np.abs(residual).max())
    for number in range(_MOST):
        if size <= tolerance:
            return ContactSolution(impulse, w, number)
        blocks = np.zeros((nc, 3, nc, 3))
        blocks[at, :, at, :] = slope
        by_z = blocks.reshape(3 * nc, 3 * nc)
        _, _, step, info = dgesv(a @ by_z - a - by_z, -residual)
        if info:
            return None
        square, share = float(residual @ residual), 1.0
        while True:
            trial = w + share * step.reshape(nc, 3)
            z, impulse, slope = cone_pair(trial, eps)
            residual = a @ impulse.ravel() + b - z.ravel()
            if float(residual @ residual) <= (1.0 - 0.1 * share) * square:
                break
            share *= 0.5
            if share < 1e-3:
                return None
        w, size = trial, float(np.abs(residual).max())
    return None


def cone_pair(w: Array, eps: float) -> tuple[Array, Array, Array]:
    """p(w), p(-w) (nc, 3) and dp/dw (nc, 3, 3), in as few calls as possible: this is most of a peer's time."""
    tail = w[:, 1:]
    length = np.hypot(tail[:, 0], tail[:, 1])
    direction = tail / np.maximum(length, 1e-300)[:, None]
    values = np.array([w[:, 0] - length, w[:, 0] + length])
    roots = np.sqrt(values**2 + 4.0 * eps)
    # Sum of two numbers of one sign, then the other from their product: no cancellation.
    larger = 0.5 * (np.abs(values) + roots)
    smaller = eps / larger
    positive = values > 0.0
    ends = np.where(positive, larger, smaller)
    others = np.where(positive, smaller, larger)
    z, impulse = np.empty_like(w), np.empty_like(w)
    z[:, 0], impulse[:, 0] = 0.5 * (ends[0] + ends[1]), 0.5 * (others[0] + others[1])
    z[:, 1:] = (0.5 * (ends[1] - ends[0]))[:, None] * direction
    impulse[:, 1:] = (0.5 * (others[1] - others[0]))[:, None] * direction
    slopes = ends / roots
    mean, half = 0.5 * (slopes[1] + slopes[0]), 0.5 * (slopes[1] - slopes[0])
    across = 0.5 + w[:, 0] / (roots[0] + roots[1])
    slope = np.empty((len(w), 3, 3))
    slope[:, 0, 0] = mean
    slope[:, 0, 1:] = slope[:, 1:, 0] = half[:, None] * direction
    slope[:, 1:, 1:] = (mean - across)[:, None, None] * direction[:, :, None] * direction[:, None, :]
    slope[:, 1, 1] += across
    slope[:, 2, 2] += across
    return z, impulse, slope
