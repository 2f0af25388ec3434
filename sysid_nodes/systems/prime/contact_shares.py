# SPDX-License-Identifier: Apache-2.0
"""How the points of a foot share its load, as far as the foot's force and moment leave that open.

Which corner of a stiff sole bears how much is decided by fractions of a millimetre that last, and no motion tells them.
Any shares of a foot's load F among its m points count as equally likely, which is a variance of

    F^2 / (m (m + 1))

for each before their sum is known (of a flat Dirichlet distribution), along the ground times the friction. Given the
foot's force and moment, what is left of it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.rotations import skew
from sysid_nodes.systems.prime.contacts import ContactLaw

Array = npt.NDArray[np.float64]


def share_covariance(law: ContactLaw, foot: npt.NDArray[np.int64], place: Array, force: Array) -> Array:
    """(K, nc, 3, 3) of each point's force given that of its foot; zero of a foot with one point.

    Args:
        law: friction and ground.
        foot: (nc,) that each point belongs to.
        place: (K, nc, 3) of the points [m].
        force: (K, nc, 3) in the world [N].
    """
    axes, out = law.plane.axes, np.zeros((*force.shape, 3))
    shape = axes.T @ np.diag([1.0, law.config.friction, law.config.friction]) @ axes
    for own in (np.flatnonzero(foot == k) for k in range(int(foot.max(initial=-1)) + 1)):
        m = len(own)
        if m < 2:
            continue
        load = np.maximum(force[:, own].sum(axis=1) @ axes[0], 0.0)
        arms = place[:, own] - place[:, own].mean(axis=1, keepdims=True)
        to_moment = skew(arms) / np.maximum(np.abs(arms).max(axis=(1, 2)), 1e-6)[:, None, None, None]
        to_wrench = np.concatenate([np.broadcast_to(np.eye(3), to_moment.shape), to_moment], axis=2) @ shape
        rows = to_wrench.transpose(0, 2, 1, 3).reshape(len(load), 6, 3 * m)
        open_ = np.eye(3 * m) - np.linalg.pinv(rows, rcond=1e-6) @ rows
        each = np.arange(m)
        left = open_.reshape(-1, m, 3, m, 3)[:, each, :, each].swapaxes(0, 1)
        out[:, own] = (load**2 / (m * (m + 1)))[:, None, None, None] * (shape @ left @ shape)
    return out
