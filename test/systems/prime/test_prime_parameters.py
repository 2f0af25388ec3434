# SPDX-License-Identifier: Apache-2.0
"""Coordinates of the constants in which the moving horizon keeps what it knows."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.robots import load_robot
from sysid_nodes.systems.prime import InertiaConfig, PrimeConfig, ProcessConfig, build_model
from sysid_nodes.systems.prime.parameters import Parameters

CONFIGS = {
    "default": ("go2", PrimeConfig()),
    "rotors unstated": ("g1", PrimeConfig()),
    "links known": ("go2", PrimeConfig(inertia=InertiaConfig(links_sigma=0.0))),
    "friction": ("go2", PrimeConfig(process=ProcessConfig(coulomb=0.02, viscous=0.01))),
    "nothing of drives": ("go2", PrimeConfig(process=ProcessConfig(armature=0.0))),
}


def drawn(name: str) -> tuple[Parameters, np.ndarray]:
    robot, config = CONFIGS[name]
    parameters = build_model(load_robot(robot), config).parameters
    noise = np.random.default_rng(3).standard_normal(parameters.count)
    return parameters, parameters.mean + parameters.sigma * noise


@pytest.mark.parametrize("name", CONFIGS)
def test_derivative_of_the_linear_coordinates(name: str) -> None:
    """Central differences, good to 1e-8 of values up to ten."""
    parameters, theta = drawn(name)
    steps = 1e-6 * np.eye(parameters.count)
    wanted = [(parameters.linear(theta + e) - parameters.linear(theta - e)) / 2e-6 for e in steps]
    np.testing.assert_allclose(parameters.linear_jacobian(theta), np.transpose(wanted), atol=1e-7)


def test_one_coordinate_alone_says_how_heavy_everything_is() -> None:
    """Masses and rotors larger, readings of torques and the ground's give smaller by a factor: all but its logarithm
    stay what they are."""
    parameters, theta = drawn("default")
    heavier, factor = theta.copy(), 1.1
    heavier[0] += 0.5 * np.log(factor)
    heavier[parameters.masses] += np.log(factor)
    heavier[parameters.drives.stop - 1] += np.log(factor)
    heavier[parameters.give] /= factor
    gains = slice(parameters.gains.start, parameters.gains.stop - 1)
    heavier[gains] += (1.0 / factor - 1.0) * (1.0 + theta[gains] + theta[gains.stop])
    changed = parameters.linear(heavier) - parameters.linear(theta)
    wanted = np.zeros(parameters.count)
    wanted[parameters.masses] = np.log(factor)
    np.testing.assert_allclose(changed, wanted, atol=1e-9)
    before, after = parameters.inertia(theta), parameters.inertia(heavier)
    np.testing.assert_allclose(after, factor * before, rtol=1e-12)
