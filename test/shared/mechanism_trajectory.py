# SPDX-License-Identifier: Apache-2.0
"""A point that slides on a curve with a motor at it: a small nonlinear problem with stage equalities and constraints.

Stage (x, y, z) on the cylinder x^2 + y^2 = 1 with z = x y, two equalities, one degree of freedom. Its angle is measured
badly by x alone, and its motion is that of a mass m with friction, theta = (log m, coulomb, viscous, weight): forces u
are measured, accelerations are differences of z and y.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_nodes.solvers.trajectory_least_squares.parameter_program import ParameterRows
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, Layout
from sysid_nodes.solvers.trajectory_least_squares.stage_equalities import StageEqualities

STEP = 0.1  # [s]
TRUTH = np.array([0.3, 0.05, 0.2, 0.7])


@dataclass(frozen=True)
class SlidingPoint:
    stage: Array
    theta: Array
    local: Array


@dataclass(frozen=True)
class Sliding:
    """The problem of measured x (T + 1,) and forces (T - 1,)."""

    x: Array
    force: Array
    sum_of_last: float | None = None
    bounded: bool = True
    prior: float = 1.0

    @property
    def layout(self) -> Layout:
        return Layout(len(self.x), 3, 4)

    def residuals(self, point: SlidingPoint) -> list[Array]:
        return [blocks.residual for blocks in self.linearise(point)]

    def linearise(self, point: SlidingPoint) -> list[Blocks]:
        s, theta, stages = point.stage, point.theta, len(self.x)
        measured = Blocks(
            np.arange(stages),
            (s[:, :1] - self.x[:, None]) / 0.005,
            np.tile([[[1.0 / 0.005, 0.0, 0.0]]], (stages, 1, 1)),
        )
        inner = stages - 2
        y = s[:, 1]
        v, a = (y[2:] - y[:-2]) / (2 * STEP), (y[2:] - 2 * y[1:-1] + y[:-2]) / STEP**2
        mass, sign = np.exp(theta[0]), np.tanh(v / 0.3)
        value = mass * a + theta[1] * sign + theta[2] * v + theta[3] * s[1:-1, 2] - self.force
        by_v = theta[1] * (1 - sign**2) / 0.3 + theta[2]
        jacobian = np.zeros((inner, 1, 9))
        jacobian[:, 0, 1] = mass / STEP**2 - by_v / (2 * STEP)
        jacobian[:, 0, 4] = -2 * mass / STEP**2
        jacobian[:, 0, 7] = mass / STEP**2 + by_v / (2 * STEP)
        jacobian[:, 0, 5] = theta[3]
        by_theta = np.stack([mass * a, sign, v, s[1:-1, 2]], axis=1)[:, None]
        dynamics = Blocks(np.arange(inner), value[:, None] / 0.1, jacobian / 0.1, by_theta / 0.1)
        prior = Blocks(np.array([0]), (theta / self.prior)[None], np.zeros((1, 4, 3)), np.eye(4)[None] / self.prior)
        return [measured, dynamics, prior]

    def stage_equalities(self, point: SlidingPoint) -> StageEqualities:
        x, y, z = point.stage.T
        value = np.stack([x**2 + y**2 - 1.0, z - x * y], axis=1)
        jacobian = np.zeros((len(x), 2, 3))
        jacobian[:, 0, 0], jacobian[:, 0, 1] = 2 * x, 2 * y
        jacobian[:, 1] = np.stack([-y, -x, np.ones(len(x))], axis=1)
        return StageEqualities(value, jacobian)

    def parameter_rows(self, point: SlidingPoint) -> ParameterRows:
        equality = np.zeros((0, 5))
        if self.sum_of_last is not None:
            # Nonlinear on purpose: exp(log m) + weight is known.
            mass = np.exp(point.theta[0])
            equality = np.array([[mass, 0.0, 0.0, 1.0, mass + point.theta[3] - self.sum_of_last]])
        lower = np.full(4, -np.inf)
        if self.bounded:
            lower[1:3] = -point.theta[1:3]
        return ParameterRows(equality, lower, np.full(4, np.inf))

    def retract(self, point: SlidingPoint, stage: Array, parameter: Array, local: Array) -> SlidingPoint:
        assert local.shape[1] == 0
        return replace(point, stage=point.stage + stage, theta=point.theta + parameter)


def true_stages(count: int) -> Array:
    t = STEP * np.arange(count)
    angle = 1.1 + 0.8 * np.sin(0.9 * t) + 0.3 * np.sin(2.3 * t)
    x, y = np.cos(angle), np.sin(angle)
    return np.stack([x, y, x * y], axis=1)


def sliding(count: int, seed: int, truth: Array = TRUTH, **options: object) -> Sliding:
    """Measurements of the true motion with noise."""
    rng = np.random.default_rng(seed)
    s = true_stages(count)
    y = s[:, 1]
    v, a = (y[2:] - y[:-2]) / (2 * STEP), (y[2:] - 2 * y[1:-1] + y[:-2]) / STEP**2
    force = np.exp(truth[0]) * a + truth[1] * np.tanh(v / 0.3) + truth[2] * v + truth[3] * s[1:-1, 2]
    return Sliding(
        s[:, 0] + 0.005 * rng.standard_normal(count),
        force + 0.1 * rng.standard_normal(count - 2),
        **options,  # type: ignore[arg-type]
    )


def start(problem: Sliding) -> SlidingPoint:
    """Measured x, y on the circle, z off the curve."""
    x = np.clip(problem.x, -0.99, 0.99)
    return SlidingPoint(np.stack([x, np.sqrt(1 - x**2), 0.3 * x], axis=1), np.zeros(4), np.zeros((len(x), 0)))
