# SPDX-License-Identifier: Apache-2.0
"""Attitude from a biased gyroscope and two known directions: stages on SO(3), the bias a parameter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, Layout

DT = 0.05
DIRECTIONS = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])


@dataclass(frozen=True)
class AttitudePoint:
    """Rotations (T + 1,), body to world, and the gyroscope's bias (3,) [rad/s]."""

    rotation: Rotation
    bias: Array


@dataclass(frozen=True)
class Attitude:
    """Rates (T, 3) over the intervals and directions (T + 1, 2, 3) seen from the body; steps act on the right."""

    rates: Array
    seen: Array
    rate_sigma: float = 0.01
    direction_sigma: float = 0.05

    @property
    def layout(self) -> Layout:
        return Layout(self.seen.shape[0], 3, 3)

    def start(self) -> AttitudePoint:
        return AttitudePoint(Rotation.identity(self.seen.shape[0]), np.zeros(3))

    def linearise(self, point: AttitudePoint) -> list[Blocks]:
        turned, error = self._errors(point)
        sigma = self.rate_sigma * DT
        inverse = right_jacobian_inverse(error)
        before = -inverse @ (point.rotation[1:].inv() * point.rotation[:-1]).as_matrix()
        bias = inverse @ Rotation.from_rotvec(-error).as_matrix() @ right_jacobian(turned) * DT
        turn = Blocks(
            np.arange(error.shape[0]), error / sigma, np.concatenate([before, inverse], axis=2) / sigma, bias / sigma
        )
        stages = np.arange(self.seen.shape[0])
        groups = [turn]
        for i, residual in enumerate(self.residuals(point)[1:]):
            expected = point.rotation.inv().apply(DIRECTIONS[i])
            groups.append(Blocks(stages, residual, skew(expected) / self.direction_sigma))
        return groups

    def residuals(self, point: AttitudePoint) -> list[Array]:
        seen = [point.rotation.inv().apply(v) - self.seen[:, i] for i, v in enumerate(DIRECTIONS)]
        return [self._errors(point)[1] / (self.rate_sigma * DT), *(r / self.direction_sigma for r in seen)]

    def retract(
        self, point: AttitudePoint, stage_step: Array, parameter_step: Array, local_step: Array
    ) -> AttitudePoint:
        assert local_step.size == 0
        return AttitudePoint(point.rotation * Rotation.from_rotvec(stage_step), point.bias + parameter_step)

    def _errors(self, point: AttitudePoint) -> tuple[Array, Array]:
        turned = (self.rates - point.bias) * DT
        ahead = point.rotation[:-1] * Rotation.from_rotvec(turned)
        return turned, (ahead.inv() * point.rotation[1:]).as_rotvec()


def simulate(rng: np.random.Generator, stages: int, bias: Array) -> tuple[Attitude, AttitudePoint]:
    """A tumbling body, measured, and the truth."""
    problem = Attitude(np.zeros((stages - 1, 3)), np.zeros((stages, 2, 3)))
    t = np.arange(stages - 1) * DT
    rates = np.stack([np.sin(t), 0.7 * np.cos(1.3 * t), 0.5 * np.sin(0.6 * t + 1.0)], axis=1)
    rotation = [Rotation.from_rotvec([0.3, -0.2, 0.9])]
    for rate in rates:
        rotation.append(rotation[-1] * Rotation.from_rotvec(rate * DT))
    truth = AttitudePoint(Rotation.concatenate(rotation), bias)
    seen = np.stack([truth.rotation.inv().apply(v) for v in DIRECTIONS], axis=1)
    measured = Attitude(
        rates + bias + problem.rate_sigma * rng.normal(size=rates.shape),
        seen + problem.direction_sigma * rng.normal(size=seen.shape),
    )
    return measured, truth


def skew(v: Array) -> Array:
    """(B, 3, 3) matrices of the cross product with (B, 3)."""
    x, y, z = v.T
    zero = np.zeros_like(x)
    return np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=1).reshape(-1, 3, 3)


def right_jacobian(v: Array) -> Array:
    """d log(exp(v)^-1 exp(v + dv)) / d dv."""
    angle = np.linalg.norm(v, axis=1)[:, None, None] + 1e-12
    s = skew(v)
    return np.asarray(np.eye(3) - (1.0 - np.cos(angle)) / angle**2 * s + (angle - np.sin(angle)) / angle**3 * s @ s)


def right_jacobian_inverse(v: Array) -> Array:
    return np.asarray(np.linalg.inv(right_jacobian(v)))
