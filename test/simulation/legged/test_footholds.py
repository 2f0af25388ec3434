# SPDX-License-Identifier: Apache-2.0
"""Ground that is at another height wherever a foot comes down."""

from __future__ import annotations

import numpy as np

from sysid_nodes.simulation.legged import LeggedRobotSim, LeggedSimulationConfig

HIGHEST = 0.01


def test_a_foot_finds_another_height_after_a_swing() -> None:
    """Each foot stands within the stated heights, not always at one, and on its own ground: loaded it is a few
    millimetres below, and never bears above."""
    config = LeggedSimulationConfig(motion="trot", footholds=HIGHEST)
    sim = LeggedRobotSim(config, np.random.default_rng(1))
    for _ in sim.run(2.0):
        pass
    truth = sim.series()
    assert not sim.fallen
    ground = truth.position[..., 2] - truth.gap
    assert np.abs(ground).max() <= HIGHEST
    assert all(len(np.unique(height.round(9))) >= 3 for height in ground.T)
    pressed = truth.force[..., 2] > 0.0
    assert truth.gap[pressed].max() < 1e-4
    assert truth.gap[pressed].min() > -0.008
    changed = np.abs(np.diff(ground, axis=0)) > 1e-9
    assert truth.gap[:-1][changed].min() > 0.01  # only in the air
