# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from shared.actuator_stand import chirp_log, leg

from sysid_nodes.models.actuator import law_vector
from sysid_nodes.models.actuator_network import ActuatorNetwork, first_weights
from sysid_nodes.systems.actuators import ActuatorConfig
from sysid_nodes.systems.actuators.methods.network_rollout import NetworkRollout
from sysid_nodes.systems.actuators.preparation import prepare
from sysid_nodes.systems.actuators.replay import replay_joint

CONFIG = ActuatorConfig()
LAW = law_vector({"armature": 0.02, "delay": 0.004, "viscous": 0.2, "coulomb": 0.3, "stribeck_speed": 0.1})
FIRST = np.array([0, 40, 500, 3000])
LENGTH = 40


def network(rng: np.random.Generator, *, width: float = 1.0) -> ActuatorNetwork:
    weights = first_weights(8, rng) + 0.3 * rng.standard_normal(len(first_weights(8, rng)))
    half = width * np.array([0.1, 0.2, 1.0])
    centre = np.array([0.0, 0.0, 0.0])
    return ActuatorNetwork(weights, 8, centre, np.array([0.05, 0.2, 1.0]), -half, half, 0.5 * half, 2.0)


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("width", [1e3, 0.4], ids=["inside", "at the edge"])
def test_the_adjoint_is_the_derivative(residual: bool, width: float) -> None:
    rng = np.random.default_rng(3)
    motion = prepare(chirp_log()[1], leg(), CONFIG)[0]
    rollout = NetworkRollout.along(motion, LAW, CONFIG, residual=residual)
    net = network(rng, width=width)
    start = np.stack([motion.q[FIRST // motion.stride], motion.velocity[FIRST // motion.stride]], axis=1)
    states = rollout.states(net, FIRST, LENGTH, start)
    to_q, to_v = rng.standard_normal((2, len(FIRST), LENGTH + 1))
    to_v *= 0.1

    def loss(weights: np.ndarray) -> float:
        other = ActuatorNetwork(**{**vars(net), "weights": weights})
        found = rollout.states(other, FIRST, LENGTH, start)
        return float(np.sum(to_q * found.position) + np.sum(to_v * found.velocity))

    slope = rollout.pull(net, FIRST, states, to_q, to_v)
    for direction in rng.standard_normal((4, len(net.weights))):
        ends = [loss(net.weights + sign * 1e-6 * direction) for sign in (1.0, -1.0)]
        assert slope @ direction == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=2e-5, abs=1e-7)
    assert states.outside.any() == (width < 1.0)


@pytest.mark.parametrize("residual", [True, False])
def test_outside_of_its_range_there_is_the_law_alone(residual: bool) -> None:
    motion = prepare(chirp_log()[1], leg(), CONFIG)[0]
    rollout = NetworkRollout.along(motion, LAW, CONFIG, residual=residual)
    start = np.array([[motion.q[0], motion.velocity[0]]])
    states = rollout.states(network(np.random.default_rng(1), width=1e-6), np.array([0]), 500, start)
    lawful = replay_joint(motion, LAW, CONFIG)
    np.testing.assert_allclose(states.position[0, :: motion.stride], lawful[: 500 // motion.stride + 1], atol=1e-8)
