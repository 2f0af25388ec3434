# SPDX-License-Identifier: Apache-2.0
"""Residuals of an impact: of momentum, of the heights of what strikes and of its speeds (contacts.py).

Heights and speeds are of the instant s after stage k: q = q_k + v_k s + a_k s^2 / 2, v- = v_k + a_k s, v+ = v- + dv.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.systems.bayesian.contacts import Impact
from sysid_nodes.systems.bayesian.mechanism import Mechanism, Motion

Array = npt.NDArray[np.float64]


class ImpactResiduals(NamedTuple):
    """Momentum (n,), heights (s,) and speeds (s,), m rows; their derivatives by the motion of stage k (m, n) and by all
    constants (m, P)."""

    value: Array
    by_q: Array
    by_v: Array
    by_a: Array
    by_x: Array


def linearise_impact(mechanism: Mechanism, impact: Impact, motion: Motion, s: float, x: Array) -> ImpactResiduals:
    """An impact at a point.

    Args:
        mechanism: which strikes.
        impact: its equalities and constants.
        motion: at the last stage before, one sample.
        s: time of the impact since then [s].
        x: (P,) all constants.
    """
    closures, strikes, n = mechanism.closures, impact.striking, mechanism.parameters.n
    change, c = x[impact.jump], len(impact.striking)
    e = np.where(impact.restitution >= 0, x[impact.restitution], 0.0)
    q, before = motion.q + s * motion.v + 0.5 * s**2 * motion.a, (motion.v + s * motion.a)[0]
    impulse = np.zeros((1, closures.count))
    impulse[0, impact.held] = x[impact.impulse]
    height, jacobian = (part[0] for part in closures.linearise(q))
    momentum, by_q, mass, by_x = (part[0] for part in mechanism.momentum(q, change[None], x))
    by_place, by_speed = np.zeros((n + 2 * c, n)), np.zeros((n + 2 * c, n))
    by_x = np.concatenate([by_x, np.zeros((2 * c, len(x)))])
    by_place[:n] = by_q - closures.force_jacobian(q, impulse)[0]
    by_x[:n, impact.jump], by_x[:n, impact.impulse] = mass, -jacobian[impact.held].T
    by_place[n : n + c] = across = jacobian[strikes]
    by_speed[n + c :] = (1.0 + e)[:, None] * across
    by_x[n + c :, impact.jump] = across
    for i, row in enumerate(strikes):
        along = closures.force_jacobian(q, np.eye(closures.count)[row][None])[0]
        by_place[n + c + i] = along @ ((1.0 + e[i]) * before + change)
        if impact.restitution[i] >= 0:
            by_x[n + c + i, impact.restitution[i]] = across[i] @ before
    by_x[:, impact.instant] = by_place @ before + by_speed @ motion.a[0]
    value = [momentum - jacobian.T @ impulse[0], height[strikes], (1.0 + e) * (across @ before) + across @ change]
    by_v, by_a = s * by_place + by_speed, 0.5 * s**2 * by_place + s * by_speed
    return ImpactResiduals(np.concatenate(value), by_place, by_v, by_a, by_x)
