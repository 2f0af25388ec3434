# SPDX-License-Identifier: Apache-2.0
"""Simulated motors that follow set-points."""

import numpy as np

from sysid_nodes.data.config import from_flat
from sysid_nodes.simulation.legged import LeggedRobotSim, LeggedSimulationConfig

STAND = {"motion": "stand", "drive.enabled": True}


def stand(**options):
    sim = LeggedRobotSim(from_flat(LeggedSimulationConfig, {**STAND, **options}), np.random.default_rng(0), start=5.0)
    for _ in range(50):
        sim.step()
    return sim


def test_set_points_are_stamped_once_a_control_period():
    sim = stand()
    stamps = np.array([stamp for stamp, _ in sim.set_points])
    np.testing.assert_allclose(stamps, 5.0 + 0.004 * np.arange(25), atol=1e-9)


def test_the_pd_law_acts_on_velocities_at_the_instant_and_set_points_over_the_step_s_time():
    sim = stand(timestep=0.002)
    series = sim.series()
    targets = np.repeat([target for _, target in sim.set_points], 2, axis=0)
    q, w = series.q[:, 7:], series.v[:, 6:]
    # A velocity belongs half a step before its configuration, and the force of a step acts half a step either side.
    before, told = (np.concatenate([x[:1], x[:-1]]) for x in (w, targets))
    expected = 40.0 * (0.5 * (told + targets) - q) - 1.0 * (1.5 * w - 0.5 * before)
    np.testing.assert_allclose(series.torque, expected, atol=1e-9)


def test_motors_saturate_at_their_strength():
    series = stand(**{"drive.strength": (3.0, 4.0, 5.0)}).series()
    strength = np.tile([3.0, 4.0, 5.0], 4)
    assert (np.abs(series.torque) <= strength).all()
    assert np.abs(series.torque[-1]).max() > 2.0


def test_without_it_there_are_no_set_points():
    assert not stand(**{"drive.enabled": False}).set_points
