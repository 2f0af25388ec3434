# SPDX-License-Identifier: Apache-2.0
"""PRIME's log-barrier of a contact, straight from the paper."""

from __future__ import annotations

import numpy as np


def barrier_impulse(velocity: np.ndarray, friction: float, stiffness: float) -> np.ndarray:
    """lambda [N s] of the paper's log-barrier (eqs. 18-20), kappa = stiffness [1/J], for (V, v_t) [m/s]."""
    slack = (velocity[0] / friction) ** 2 - velocity[1:] @ velocity[1:]
    return np.array([2.0 * velocity[0] / friction**2, *(-2.0 * velocity[1:])]) / (stiffness * slack)
