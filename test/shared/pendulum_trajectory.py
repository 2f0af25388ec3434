# SPDX-License-Identifier: Apache-2.0
"""A damped pendulum with unknown stiffness and damping, whose outliers may be loose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sysid_nodes.solvers.trajectory_least_squares.gaussian_prior import GaussianPrior
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, Layout, Loss

TRUTH = np.array([9.0, 0.3])  # g / l [1/s^2], damping [1/s]
DT = 0.02


@dataclass(frozen=True)
class PendulumPoint:
    """Angle and rate (T + 1, 2), the two parameters."""

    stage: Array
    parameter: Array


@dataclass(frozen=True)
class Pendulum:
    """Angles measured with `sigma`; semi-implicit Euler dynamics disturbed by `disturbance` [rad/s^2]."""

    angles: Array
    sigma: float = 0.02
    disturbance: float = 0.05
    loss: Loss | None = None
    prior: GaussianPrior | None = None
    reference: PendulumPoint | None = None

    @property
    def layout(self) -> Layout:
        return Layout(self.angles.size, 2, 2)

    def start(self) -> PendulumPoint:
        stage = np.stack([self.angles, np.gradient(self.angles, DT)], axis=1)
        return PendulumPoint(stage, np.array([5.0, 0.0]))

    def linearise(self, point: PendulumPoint) -> list[Blocks]:
        stages = np.arange(self.angles.size)
        measured = Blocks(
            stages,
            (point.stage[:, :1] - self.angles[:, None]) / self.sigma,
            np.tile(np.array([[[1.0 / self.sigma, 0.0]]]), (stages.size, 1, 1)),
            loss=self.loss,
        )
        groups = [measured, self._kinematics(point, 1e-4), self._dynamics(point, self.disturbance * DT)]
        if self.prior is not None:
            groups.append(self.prior.blocks(*self._differences(point)))
        return groups

    def residuals(self, point: PendulumPoint) -> list[Array]:
        return [blocks.residual for blocks in self.linearise(point)]

    def retract(self, point: PendulumPoint, stage: Array, parameter: Array, local: Array) -> PendulumPoint:
        assert local.size == 0
        return PendulumPoint(point.stage + stage, point.parameter + parameter)

    def _differences(self, point: PendulumPoint) -> tuple[Array, Array]:
        assert self.prior is not None and self.reference is not None
        width = self.prior.width
        return point.stage[:width] - self.reference.stage[:width], point.parameter - self.reference.parameter

    def _kinematics(self, point: PendulumPoint, sigma: float) -> Blocks:
        angle, rate = point.stage.T
        residual = (angle[1:] - angle[:-1] - DT * rate[1:])[:, None] / sigma
        jacobian = np.tile(np.array([[[-1.0, 0.0, 1.0, -DT]]]) / sigma, (residual.shape[0], 1, 1))
        return Blocks(np.arange(residual.shape[0]), residual, jacobian)

    def _dynamics(self, point: PendulumPoint, sigma: float) -> Blocks:
        angle, rate = point.stage[:-1].T
        stiffness, damping = point.parameter
        change = point.stage[1:, 1] - rate
        residual = (change + DT * (stiffness * np.sin(angle) + damping * rate))[:, None] / sigma
        jacobian = np.zeros((residual.size, 1, 4))
        jacobian[:, 0, 0] = DT * stiffness * np.cos(angle) / sigma
        jacobian[:, 0, 1] = (DT * damping - 1.0) / sigma
        jacobian[:, 0, 3] = 1.0 / sigma
        theta = np.stack([DT * np.sin(angle), DT * rate], axis=1)[:, None] / sigma
        return Blocks(np.arange(residual.size), residual, jacobian, theta)


def simulate(rng: np.random.Generator, stages: int, disturbance: float, start: Sequence[float] = (1.5, 0.0)) -> Array:
    """(T + 1, 2) true angle and rate."""
    found = np.zeros((stages, 2))
    found[0] = start
    for k in range(stages - 1):
        angle, rate = found[k]
        push = -TRUTH[0] * np.sin(angle) - TRUTH[1] * rate + disturbance * rng.normal()
        rate = rate + DT * push
        found[k + 1] = angle + DT * rate, rate
    return found
