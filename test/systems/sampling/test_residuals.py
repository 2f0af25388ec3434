# SPDX-License-Identifier: Apache-2.0
from types import SimpleNamespace

import numpy as np

from sysid_nodes.rollouts.rotations import drift
from sysid_nodes.systems.sampling.config import NoiseConfig
from sysid_nodes.systems.sampling.residuals import residuals
from sysid_nodes.systems.sampling.unknowns import Sensing

STEP, RATE, N = 0.01, 5.0, 2


def test_a_simulation_at_constant_acceleration_has_no_residuals():
    """Semi-implicit Euler with velocities at instants and configurations half a step later: h^2 a / 8 is left."""
    t = STEP * np.arange(6)
    rates = np.zeros((6, 6 + N))
    rates[:, 0], rates[:, 5], rates[:, 6] = RATE * t, 0.3, RATE * t
    still = np.concatenate([np.zeros((6, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (6, 1)), np.zeros((6, N)), rates], axis=1)
    states = [drift(still[0], 0.5 * STEP)]
    for row in still[1:]:
        states.append(drift(np.concatenate([states[-1][: 7 + N], row[7 + N :]]), STEP))
    place, turn = 0.5 * RATE * t**2, 0.15 * t
    log = SimpleNamespace(
        step=STEP,
        q=np.column_stack([place, np.zeros(6)]),
        w=rates[:, 6:],
        position=np.column_stack([place, np.zeros((6, 2))]),
        rotation=np.column_stack([np.cos(turn), np.zeros((6, 2)), np.sin(turn)]),
        gyro=rates[:, 3:6],
        up=np.tile([0.0, 0.0, 1.0], (6, 1)),
        posed=np.ones(6, dtype=bool),
    )
    found = residuals(log, NoiseConfig(), np.arange(6), np.array(states), Sensing(np.zeros(3), np.zeros(3), 0.0))
    left = STEP**2 * RATE / 8.0
    np.testing.assert_allclose(found[:, :N] * 1e-3, 0.0, atol=1.01 * left)
    np.testing.assert_allclose(found[:, 2 * N : 2 * N + 3] * 2e-3, 0.0, atol=1.01 * left)
    np.testing.assert_allclose(found[:, N : 2 * N], 0.0, atol=1e-9)
    np.testing.assert_allclose(found[:, 2 * N + 3 :], 0.0, atol=1e-9)
