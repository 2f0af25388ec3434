# SPDX-License-Identifier: Apache-2.0
"""Measurement errors at their bound: random ones, and ones chosen to do harm.

A pattern gives signs s (N, n) in [-1, 1]; the reading then misses the true torque by exactly s times its bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

TORQUE_PATTERNS = (
    "uniform",  # independent at every sample
    "bang-bang",  # +- the bound, independent at every sample
    "bias",  # + the bound or - the bound at every joint and sample
    "bias per joint",  # the same with a sign of its own for each joint
    "square",  # +- the bound, switching slowly
    "sine",  # slowly varying
    "regressor",  # the sign of one parameter's regressor column
    "least squares",  # the sign that moves one parameter's least-squares estimate the furthest
)

SENSOR_PATTERNS = (
    "uniform",
    "bang-bang",
    "bias per joint",
    "sine",
    "window edges",  # + the bound at one window's edge, - at the next: the worst for differences of momentum
)


@dataclass(frozen=True)
class Context:
    """View of a pattern: (N,) times, the body's regressor (N, n, 10), the parameter and windows that it aims at."""

    t: Array
    body_regressor: Array
    parameter: int
    window: float


def influence(body_regressor: Array) -> Array:
    """(N, n, 10) derivative of the least-squares estimate of theta with respect to each torque sample."""
    flat = body_regressor.reshape(-1, 10)
    gram = flat.T @ flat
    gram += 1e-12 * np.trace(gram) * np.eye(10)
    return np.asarray(body_regressor @ np.linalg.inv(gram))


def signs(pattern: str, rng: np.random.Generator, context: Context) -> Array:
    """(N, n) in [-1, 1]."""
    size = context.body_regressor.shape[:2]
    n = size[1]
    if pattern == "uniform":
        return rng.uniform(-1.0, 1.0, size)
    if pattern == "bang-bang":
        return rng.choice([-1.0, 1.0], size)
    if pattern == "bias":
        return np.full(size, rng.choice([-1.0, 1.0]))
    if pattern == "bias per joint":
        return np.broadcast_to(rng.choice([-1.0, 1.0], n), size).copy()
    if pattern == "window edges":
        edge = np.where(np.round(context.t / context.window) % 2.0 == 0.0, 1.0, -1.0)
        return np.asarray(edge[:, None] * rng.choice([-1.0, 1.0], n))
    if pattern in ("square", "sine"):
        frequency, phase = rng.uniform(0.1, 2.0, n), rng.uniform(0.0, 2.0 * np.pi, n)
        wave = np.sin(2.0 * np.pi * frequency * context.t[:, None] + phase)
        return np.asarray(np.where(wave >= 0.0, 1.0, -1.0) if pattern == "square" else wave)
    aim = context.body_regressor if pattern == "regressor" else influence(context.body_regressor)
    towards = rng.choice([-1.0, 1.0])
    return np.asarray(np.where(towards * aim[:, :, context.parameter] >= 0.0, 1.0, -1.0))


def reading(torque: Array, sign: Array, relative: float, absolute: float) -> Array:
    """The reading e that solves torque - e = s (relative |e| + absolute), s = sign: at its bound where |s| is 1."""
    rest = torque - sign * absolute  # e has its sign
    return np.asarray(rest / (1.0 + sign * relative * np.sign(rest)))
