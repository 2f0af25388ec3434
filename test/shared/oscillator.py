# SPDX-License-Identifier: Apache-2.0
"""A driven oscillator as a problem of multiple shooting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.solvers.shooting import Rollout

TRUTH = np.array([9.0, 0.8])
"""Stiffness and damping of a unit mass."""

DT = 0.05


def drive(samples: int) -> np.ndarray:
    t = DT * np.arange(samples)
    return 5.0 * np.sin((1.0 + 0.25 * t) * t)


@dataclass(frozen=True)
class Oscillator:
    """x'' = u - p_0 x - p_1 x', by exact steps of its linear system; x is measured with noise `sigma`.

    Attributes:
        measured: (S,) positions; not a number where there is none.
        sigma: standard deviation.
        breaks: see `ShootingProblem`.
    """

    measured: np.ndarray
    sigma: float
    breaks: tuple[int, ...] = ()

    @property
    def samples(self) -> int:
        return len(self.measured)

    def start(self, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        filled = np.nan_to_num(self.measured)
        return np.stack([filled[first], np.gradient(filled, DT)[first]], axis=1), np.array([0.0, 1e-2])

    def rollout(self, parameters: np.ndarray, first: np.ndarray, start: np.ndarray) -> Rollout:
        x, by_parameters, by_start = simulate(parameters, first, start, self.samples)
        known = np.isfinite(self.measured)
        residual = np.where(known, x - self.measured, 0.0) / self.sigma
        weight = np.where(known, 1.0 / self.sigma, 0.0)[:, None, None]
        return Rollout(residual[:, None], weight * by_parameters[:, None], weight * by_start[:, None])


def simulate(
    parameters: np.ndarray, first: np.ndarray, start: np.ndarray, samples: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions (S,), their derivatives by parameters (S, 2) and by the own start (S, 2); semi-implicit Euler."""
    u, begins = drive(samples), dict(zip(first.tolist(), start, strict=True))
    x, by_parameters, by_start = np.zeros(samples), np.zeros((samples, 2)), np.zeros((samples, 2))
    state, ds, dp = np.zeros(2), np.eye(2), np.zeros((2, 2))
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(samples):
            if k in begins:
                state, ds, dp = begins[k].copy(), np.eye(2), np.zeros((2, 2))
            x[k], by_parameters[k], by_start[k] = state[0], dp[0], ds[0]
            stiffness, damping = parameters
            speed = state[1] + DT * (u[k] - stiffness * state[0] - damping * state[1])
            turn = np.array([[0.0, 0.0], [-DT * stiffness, 1.0 - DT * damping]])
            push = np.array([[0.0, 0.0], [-DT * state[0], -DT * state[1]]])
            turn[0], push[0] = np.array([1.0, 0.0]) + DT * turn[1], DT * push[1]
            state, ds, dp = np.array([state[0] + DT * speed, speed]), turn @ ds, turn @ dp + push
    return x, by_parameters, by_start


def measurement(samples: int, sigma: float, rng: np.random.Generator) -> np.ndarray:
    """Positions of the true oscillator from rest, with noise."""
    x, _, _ = simulate(TRUTH, np.array([0]), np.zeros((1, 2)), samples)
    return x + sigma * rng.standard_normal(samples)
