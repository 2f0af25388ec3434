# SPDX-License-Identifier: Apache-2.0
"""How firmly gap and sliding follow from a contact's force."""

from __future__ import annotations

import numpy as np
import pytest
from shared.legged_log import simulate, simulated_config

from sysid_nodes.signals.samples import AlignedSteps
from sysid_nodes.simulation.legged import LeggedSimulationConfig
from sysid_nodes.systems.prime import HorizonConfig, MovingHorizon, build_model
from sysid_nodes.systems.prime.firmness import contact_firmness
from sysid_nodes.systems.prime.full_information import solve_by_continuation
from sysid_nodes.systems.prime.initialisation import initial_configurations
from sysid_nodes.systems.prime.problem import build_problem, first_arrival

GAP, SLIP = 2e-3, 0.05


def test_a_foot_that_stands_tells_both_one_that_slides_as_well() -> None:
    slip = np.array([[[0.0, 0.0]], [[0.3, -0.1]]])
    np.testing.assert_array_equal(contact_firmness(np.full((4, 1), 1e-3), slip, GAP, SLIP), np.ones((2, 1, 2)))


def test_a_landing_is_known_to_a_step() -> None:
    """10 mm down in the step before a stage, or after it: a gap anywhere in it, sliding not at all."""
    gap = np.array([[0.01, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, -0.01, 0.0]])
    found = contact_firmness(gap, np.full((1, 3, 2), 0.5), GAP, SLIP)
    landing = 0.01**2 / 3.0 / GAP**2
    assert found[0, :2, 0] == pytest.approx(1.0 / np.sqrt(1.0 + landing))
    speed = 0.5 * np.sqrt(2.0)
    assert found[0, :2, 1] == pytest.approx(SLIP / np.hypot(SLIP, speed * np.sqrt(landing / (1.0 + landing))))


def test_where_no_foot_stands_a_landing_counts_as_ever() -> None:
    gap = np.array([[0.01, 0.011], [0.0, 0.0], [-0.001, -0.001]])
    np.testing.assert_array_equal(contact_firmness(gap, np.full((1, 2, 2), 0.5), GAP, SLIP), np.ones((1, 2, 2)))


def test_whole_logs_and_windows_that_follow_one_another_have_it() -> None:
    log = simulate(LeggedSimulationConfig(motion="trot"), 0.5, seed=1, skip=0.8)
    model = build_model(log.robot, simulated_config())
    q = initial_configurations(model, log.steps.samples, len(log.q))
    problem = build_problem(model, log.steps.samples, len(log.q), first_arrival(model, q[0]))
    found, _ = solve_by_continuation(problem, q, model.parameters.mean)
    horizon = MovingHorizon(model, HorizonConfig())
    for first in range(0, len(log.q), 10):
        stop = min(first + 10, len(log.q))
        part = {name: samples.between(first, stop) for name, samples in log.steps.samples.items()}
        horizon.push(AlignedSteps(0, first, log.steps.times[first:stop], part))
        horizon.step()
    assert horizon._last is not None
    for one in (found, horizon._last.problem):
        assert one.inner.firmness.min() < 0.8, "feet land"
        assert np.median(one.inner.firmness) > 0.95, "and stand"
