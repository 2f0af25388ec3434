# SPDX-License-Identifier: Apache-2.0
"""What is stated of an arm as a prior, and a posterior as constants that other systems read."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from shared.bare_arm import UR10_GAIN

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.known_robot import known_box
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.systems.bayesian import BayesianConfig
from sysid_nodes.systems.bayesian.arm_posterior import arm_constants, arm_prior
from sysid_nodes.systems.bayesian.mechanism import build_mechanism

KNOWN = replace(UR10_GAIN.known_robot, gain=(0.9,), load_friction=(0.15,), viscous_power=(0.7, 0.7, 1.0, 1.0, 1.0, 1.0))


def prior() -> tuple[Robot, BayesianConfig]:
    t = 0.004 * np.arange(100.0)
    still = np.zeros((100, 6))
    robot = load_robot("ur10")
    return arm_prior(robot, KNOWN, [JointSamples(robot.joint_names, t, still, still, still)])


def test_a_prior_is_as_wide_as_what_is_stated() -> None:
    robot, config = prior()
    own = build_mechanism(robot, config, power=False).parameters
    centre, radius = (part[60:].reshape(-1, 6) for part in known_box(load_robot("ur10"), KNOWN))
    for row, name in enumerate(("coulomb", "viscous", "armature", "offset")):
        np.testing.assert_allclose(own.mean[own.joint(name)], centre[row])
        np.testing.assert_allclose(own.sigma[own.joint(name)], radius[row].max())
    np.testing.assert_allclose(own.sigma[own.joint("gain")], 0.2)  # relative, about one
    np.testing.assert_allclose(own.sigma[own.joint("load_friction")], 0.15)
    assert config.step == pytest.approx(0.01)
    np.testing.assert_array_equal(own.viscous_power, KNOWN.viscous_power)
    assert len(own.free) == 16 * 6


def test_constants_move_as_the_coordinates_do() -> None:
    """Covariance of one coordinate at a time against differences of the constants themselves."""
    robot, config = prior()
    own = build_mechanism(robot, config, power=False).parameters
    rng = np.random.default_rng(0)
    theta = (own.mean + 0.3 * own.sigma * np.abs(rng.standard_normal(own.mean.shape)))[own.free]
    gain = np.full(6, 0.9)

    def constants(theta: np.ndarray, covariance: np.ndarray) -> Any:
        return arm_constants(SimpleNamespace(theta=theta, covariance=covariance), robot, gain, config)  # type: ignore[arg-type]

    eps = 1e-6
    for direction in rng.standard_normal((5, theta.size)) * own.sigma[own.free]:
        slope = constants(theta, np.outer(direction, direction)).covariance
        ends = [constants(theta + s * eps * direction, np.zeros((96, 96))).mean for s in (1.0, -1.0)]
        moved = (ends[0] - ends[1]) / (2.0 * eps)
        np.testing.assert_allclose(slope, np.outer(moved, moved), rtol=1e-5, atol=1e-9 * np.abs(slope).max())


def test_readings_mean_what_they_meant() -> None:
    """gain * reading = torque + offset of both parametrisations."""
    robot, config = prior()
    own = build_mechanism(robot, config, power=False).parameters
    x = own.mean.copy()
    x[own.joint("gain")], x[own.joint("offset")] = 1.1, 0.4
    p = arm_constants(
        SimpleNamespace(theta=x[own.free], covariance=np.zeros((96, 96))), robot, np.full(6, 0.9), config  # type: ignore[arg-type]
    ).mean  # fmt: skip
    torque = 7.0
    reading = (1.1 * torque + 0.4) / 0.9  # the readings are multiplied by the nominal gain, then explained
    np.testing.assert_allclose(p[84:90] * reading, torque + p[78:84])
