# SPDX-License-Identifier: Apache-2.0
"""Discrete velocities and accelerations: known motions, and derivatives against finite differences."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
from shared.moving_robot import by_stage, random_trajectory

from sysid_nodes.models.discrete_motion import (
    chain,
    chain_mean,
    difference,
    difference_jacobian,
    discrete_motion,
    retract,
)
from sysid_nodes.robots import load_robot

DT = 0.02


def test_difference_undoes_retract() -> None:
    rng = np.random.default_rng(0)
    q = random_trajectory("go2", 1)
    step = 0.5 * rng.normal(size=(5, 18))
    np.testing.assert_allclose(difference(q, retract(q, step)), step, atol=1e-13)


def test_difference_jacobian() -> None:
    q = random_trajectory("go2", 2, 2, 0.3)
    numeric = by_stage(lambda x: difference(q[:1], x[1:]), q, 1)
    np.testing.assert_allclose(difference_jacobian(q[:1], q[1:]), numeric, atol=1e-8)


def test_retract_is_pinocchios_to_first_order() -> None:
    q = random_trajectory("go2", 3, 2)[0]
    step = 1e-5 * np.random.default_rng(0).normal(size=18)
    model = load_robot("go2").model
    np.testing.assert_allclose(retract(q, step), pinocchio.integrate(model, q, step), atol=1e-9)  # step^2


def test_constant_acceleration_is_exact() -> None:
    """A base that falls without turning, joints at constant acceleration: second differences are exact."""
    t = DT * np.arange(4)
    q = np.zeros((4, 19))
    q[:, 3:7] = np.array([0.1, 0.2, 0.3, np.sqrt(1.0 - 0.14)])
    q[:, :3] = np.outer(t, [0.3, 0.0, 1.0]) + 0.5 * np.outer(t**2, [0.0, 0.0, -9.81])
    q[:, 7:] = 0.5 * np.outer(t**2, np.arange(12.0))
    motion = discrete_motion(q, DT)
    world = motion.rotation[1:-1] @ motion.acceleration[:, :3, None]
    np.testing.assert_allclose(world[..., 0], np.tile([0.0, 0.0, -9.81], (2, 1)), atol=1e-10)
    np.testing.assert_allclose(motion.acceleration[:, 6:], np.tile(np.arange(12.0), (2, 1)), atol=1e-10)
    np.testing.assert_allclose(motion.velocity[:, 6:], np.outer(t[1:-1], np.arange(12.0)), atol=1e-12)


def test_second_order_on_a_smooth_motion() -> None:
    """Against the exact motion of a base that turns and moves along a circle: the error falls with dt^2."""
    errors = []
    for dt in (0.02, 0.01):
        t = dt * np.array([-1.0, 0.0, 1.0]) + 0.3
        q = np.zeros((3, 7))
        q[:, :3] = np.column_stack([np.cos(2.0 * t), np.sin(2.0 * t), 0.1 * t])
        angle = 0.5 * (1.5 * t + np.sin(t))
        q[:, 5], q[:, 6] = np.sin(angle), np.cos(angle)
        motion = discrete_motion(q, dt)
        rate, growth = 1.5 + np.cos(0.3), -np.sin(0.3)
        world_velocity = np.array([-2.0 * np.sin(0.6), 2.0 * np.cos(0.6), 0.1])
        world_acceleration = np.array([-4.0 * np.cos(0.6), -4.0 * np.sin(0.6), 0.0])
        rotation = motion.rotation[1]
        velocity = np.concatenate([rotation.T @ world_velocity, [0.0, 0.0, rate]])
        spatial = rotation.T @ world_acceleration - np.cross(velocity[3:], velocity[:3])
        acceleration = np.concatenate([spatial, [0.0, 0.0, growth]])
        errors.append(
            [np.abs(motion.velocity[0] - velocity).max(), np.abs(motion.acceleration[0] - acceleration).max()]
        )
    assert np.all(np.array(errors[0]) < 1e-2)
    np.testing.assert_allclose(np.array(errors[0]) / np.array(errors[1]), 4.0, rtol=0.02)


@pytest.mark.parametrize("name", ["go2", "g1"])
@pytest.mark.parametrize("stage", [1, 2, 3])
def test_chain(name: str, stage: int) -> None:
    q = random_trajectory(name, 4)
    motion = discrete_motion(q, DT)
    nv = q.shape[1] - 1
    eye, zero = np.tile(np.eye(nv), (3, 1, 1)), np.zeros((3, nv, nv))
    both = chain(motion, np.concatenate([eye, zero], axis=1), np.concatenate([zero, eye], axis=1))
    alone = chain(motion, eye[:1], None, np.array([1]))

    def quantities(x: np.ndarray) -> np.ndarray:
        there = discrete_motion(x, DT)
        return np.concatenate([there.velocity[1], there.acceleration[1]])

    numeric = by_stage(quantities, q, stage)
    # Second differences of rounding: 1e-16 / (dt^2 step).
    np.testing.assert_allclose(both[1, :, stage - 1], numeric, atol=2e-6)
    np.testing.assert_allclose(alone[0, :, stage - 1], numeric[:nv], atol=1e-7)


@pytest.mark.parametrize("own", [0, 1])
def test_chain_mean(own: int) -> None:
    q = random_trajectory("go2", 5)
    intervals = np.array([0, 2])
    jacobian = chain_mean(discrete_motion(q, DT), np.tile(np.eye(18), (2, 1, 1)), intervals, own)
    for index, interval in enumerate(intervals):
        for offset in (0, 1):
            numeric = by_stage(lambda x, i=interval: discrete_motion(x, DT).mean_in(own)[i], q, interval + offset)
            np.testing.assert_allclose(jacobian[index, :, offset], numeric, atol=1e-7)
