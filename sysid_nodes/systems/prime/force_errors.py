# SPDX-License-Identifier: Apache-2.0
"""Errors of contact forces that are the model's and no noise: they go on top of a solution's covariances."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.models import contact
from sysid_nodes.models.floating_base import ContactKinematics
from sysid_nodes.systems.prime.contacts import ContactLaw
from sysid_nodes.systems.prime.problem import PrimeProblem
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]


def smoothing_error(law: ContactLaw, w: Array, force: Array) -> Array:
    """(K, nc, 3, 3): squared force-at-a-distance, which a foot in the air owes to the smoothing alone.

    The share of a force that is the smoothing's is that of the velocity side in the cone pair: one in the air, none in
    firm contact. It is an error of the model, not noise, so it goes on top of the covariance. Where a contact is open
    the direction means nothing either: along the ground it may be off by as much as friction lets it turn.
    """
    velocity = contact.smooth_projection(w, law.smoothing)[..., :1]
    pressed = contact.smooth_projection(-w, law.smoothing)[..., :1]
    share = velocity / (velocity + pressed)
    own, axes = share * force, law.plane.axes
    along = (law.config.friction * share[..., 0] * (own @ axes[0])) ** 2
    return np.asarray(own[..., :, None] * own[..., None, :] + along[..., None, None] * (axes[1:].T @ axes[1:]))


def touching_force(law: ContactLaw, force: Array, gap: Array) -> Array:
    """(K, nc, 3, 3): squared force of a foot that touches or leaves within the step beside a stage at which it is up.

    A stage's force is a mean over a triangle of a step to both sides, of which one that begins a share x of the step
    later has (1 - x)^2 / 2. x is what the gap says, of which the ground's shape leaves its standard deviation open.

    Args:
        force: (K, nc, 3) at the inner stages [N].
        gap: (K + 2, nc) of all [m].
    """
    up = force @ law.plane.axes[0] < law.config.threshold
    open_gap = np.hypot(law.config.gap_sigma, law.config.foothold_sigma)
    out = np.zeros((*force.shape, 3))
    for by in (-1, 1):
        beside = np.zeros(force.shape)
        here, there = (slice(1, None), slice(-1)) if by < 0 else (slice(-1), slice(1, None))
        beside[here] = np.where(up[there, :, None], 0.0, force[there])
        way = np.maximum(gap[1:-1] - gap[1 + by : len(gap) - 1 + by], np.finfo(float).tiny)
        later = np.clip((gap[1:-1] - open_gap) / way, 0.0, 1.0)
        part = (up * 0.5 * (1.0 - later) ** 2)[..., None] * beside
        out += part[..., :, None] * part[..., None, :]
    return out


def missing_force(
    problem: PrimeProblem, point: Trajectory, kinematics: ContactKinematics, law: ContactLaw, first: int
) -> Array:
    """(K, nc, 3, 3): squared force that the dynamics lack at a stage and that this contact alone would supply.

    Whether a foot presses is settled by its gap as well. On ground that is higher than the plane it seems to be in the
    air while it bears, to a hundredth of a newton: a local minimum, which its curvature does not know to be one. What
    the residuals of the dynamics leave of such a force tells of it, where it is more than their noise.
    """
    base = problem.model.base
    rows = problem.inner.dynamics.after(first).at(base, point.theta)
    count, nc = len(kinematics.centre) - 2, base.contacts
    columns = rows.contact_columns(kinematics, law).reshape(count, -1, nc, 3).transpose(0, 2, 1, 3)
    left = problem.inner.residuals(point, problem.law)[0][first:]
    information = columns.swapaxes(-1, -2) @ columns + np.eye(3) / law.config.force_sigma**2
    asked = np.einsum("kcvi,kv->kci", columns, left)
    lacking = np.linalg.solve(information, asked[..., None])[..., 0]
    lacking[np.einsum("kci,kci->kc", lacking, asked) < _NOISE] = 0.0
    along = lacking @ law.plane.axes
    return np.asarray(along[..., :, None] * along[..., None, :])


def unseen_force(
    problem: PrimeProblem, point: Trajectory, kinematics: ContactKinematics, law: ContactLaw, spread: Array, gap: Array
) -> Array:
    """(K, nc, 3, 3): squared force on a foot that seems to be up where no torque was read and its leg is unseen.

    In a gap of the readings of a leg nothing but the gap to the ground says whether it bears, and that is not known
    either. It may bear any share of the weight, each as likely; a contact that is open has a curvature of none.

    Args:
        spread: (N, nv, nv) covariances of the configurations, from the first stage that is asked for on.
        gap: (N, nc) of these stages [m].
    """
    base, axes, first = problem.model.base, law.plane.axes, problem.stages - len(gap)
    normal = np.einsum("kcav,a->kcv", kinematics.linear[1:-1], axes[0])
    sigma = np.sqrt(np.einsum("kcv,kvw,kcw->kc", normal, spread[1:-1], normal))
    open_ = law.force(point.w[first + 1 : -1])[..., 0] < problem.model.config.contact.threshold
    unseen = open_ & ~problem.inner.dynamics.read[first:, None] & (gap[1:-1] < _MAY_TOUCH * sigma)
    mass = float(problem.model.parameters.inertia(point.theta)[:, 0].sum())
    weight = mass * float(np.linalg.norm(base.tree.gravity))
    along = np.diag([1.0, law.config.friction, law.config.friction]) @ axes
    return np.asarray(unseen[..., None, None] * (weight**2 / 3.0) * (along.T @ along))


_MAY_TOUCH = 3.0
"""Standard deviations of a gap within which a foot may touch."""

_NOISE = 9.0
"""Decrease of a stage's sum of squares below which no force is taken to be missing."""
