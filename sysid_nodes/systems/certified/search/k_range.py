# SPDX-License-Identifier: Apache-2.0
"""Displacements that keep a trajectory's own position and velocity inside limits: an interval a joint.

A trajectory is affine in k, so at every instant each limit cuts one joint's k to an interval.
"""

from __future__ import annotations

import numpy as np

from sysid_nodes.models.bezier import Bezier, State
from sysid_nodes.robots.robot import Array, JointLimits

_SAMPLES = 65


def k_range(
    start: State, duration: float, limits: JointLimits, widest: Array, position_gap: Array, velocity_gap: Array
) -> tuple[Array, Array]:
    """Ends (n,) of the intervals of k [rad]; where limits leave nothing, both are the least bad value.

    Args:
        start: (n,) state.
        duration: t_f [s].
        widest: (n,) largest |k|.
        position_gap, velocity_gap: (n,) kept from the limits.
    """
    still = Bezier(*start, np.zeros(len(start.q)), duration)
    t = np.linspace(0.0, duration, _SAMPLES)
    state, (place, rate, _) = still(t), still.derivative_wrt_k(t)
    lower, upper = -widest.astype(np.float64), widest.astype(np.float64)
    speed = np.maximum(limits.velocity - velocity_gap, 0.05 * np.minimum(limits.velocity, 1.0))
    cuts = (
        (place, limits.position_lower + position_gap - state.q, limits.position_upper - position_gap - state.q),
        (rate, -speed - state.qd, speed - state.qd),
    )
    for share, least, most in cuts:
        counts = share > 1e-6  # neither ever decreases with k
        lower = np.maximum(lower, (least[counts] / share[counts, None]).max(axis=0))
        upper = np.minimum(upper, (most[counts] / share[counts, None]).min(axis=0))
    middle = 0.5 * (lower + upper)
    empty = lower > upper
    return np.where(empty, middle, lower), np.where(empty, middle, upper)
