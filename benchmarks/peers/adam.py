# SPDX-License-Identifier: Apache-2.0
"""Adam on a cost that JAX differentiates and compiles, with the compilation's time apart; absent without JAX."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sysid_nodes.solvers.shooting.problem import Array

try:
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    AVAILABLE = True
except ImportError:
    AVAILABLE = False

_KEEP, _KEEP_SQUARES, _SMALL = 0.9, 0.999, 1e-12


@dataclass(frozen=True)
class Descent:
    """Result of a descent.

    Attributes:
        values: as the start.
        compiling, running: CPU time [s].
        gradients: made; every one is a rollout there and back.
    """

    values: Array
    compiling: float
    running: float
    gradients: int


def descend(
    cost: Callable[[Any], Any], start: Array, lower: Array, upper: Array, *, rate: float, steps: int
) -> Descent:
    """Adam from a start within bounds.

    Args:
        cost: of values; differentiable by JAX.
        start: (...) values.
        lower, upper: of them, as start.
        rate: of the first step, relative to the bounds' distance; falls to nothing along a cosine.
        steps: how many.
    """
    began = time.process_time()
    gradient = jax.jit(jax.grad(cost)).lower(start).compile()
    compiling, began = time.process_time() - began, time.process_time()
    span, values = upper - lower, np.array(start)
    mean, square = np.zeros_like(values), np.zeros_like(values)
    for k in range(1, steps + 1):
        slope = np.nan_to_num(np.asarray(gradient(values))) * span
        mean, square = _KEEP * mean + (1.0 - _KEEP) * slope, _KEEP_SQUARES * square + (1.0 - _KEEP_SQUARES) * slope**2
        share = 0.5 * rate * (1.0 + np.cos(np.pi * (k - 1) / steps))
        step = mean / (1.0 - _KEEP**k) / (np.sqrt(square / (1.0 - _KEEP_SQUARES**k)) + _SMALL)
        values = np.clip(values - share * span * step, lower, upper)
    return Descent(values, compiling, time.process_time() - began, steps)
