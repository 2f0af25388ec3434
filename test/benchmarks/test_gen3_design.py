# SPDX-License-Identifier: Apache-2.0
"""The design of the Gen3's exciting motion: what it asks for, and that it gets better and repeats itself."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.gen3_design import AMPLITUDE, HELD_OBJECT, clearance, design_excitation, payload_condition
from sysid_nodes.robots import load_robot
from sysid_nodes.simulation.arm.excitation import FourierTrajectory, at_rest, limit_use
from sysid_nodes.simulation.arm.gen3 import CENTRE, PERIOD, gen3_excitation


def test_gen3_motion_is_clear_of_the_arm_and_the_floor() -> None:
    robot = load_robot("kinova_gen3")
    q = gen3_excitation()(np.linspace(0.0, PERIOD, 300)).q
    assert clearance(robot, q, (HELD_OBJECT,)).min() > 0.01


def test_clearance_sees_a_folded_arm_and_the_floor() -> None:
    robot = load_robot("kinova_gen3")
    upright, folded, down = np.zeros(7), np.zeros(7), np.zeros(7)
    folded[[3, 5]] = 2.57, 2.0
    down[1] = 2.2
    upright_gap, folded_gap, down_gap = clearance(robot, np.array([upright, folded, down]))
    assert upright_gap > 0.1
    assert folded_gap < 0.0
    assert down_gap < -0.2
    assert clearance(load_robot("ur10"), np.zeros((2, 6))).tolist() == [np.inf, np.inf]


def test_gen3_motion_is_better_conditioned_than_chance() -> None:
    robot, rng = load_robot("kinova_gen3"), np.random.default_rng(0)
    ours = payload_condition(robot, gen3_excitation())
    assert ours < 6.5
    chance = [
        payload_condition(
            robot,
            FourierTrajectory(PERIOD, np.array(CENTRE), *at_rest(*(0.1 * rng.standard_normal((2, 7, 5))))),
        )
        for _ in range(10)
    ]
    assert min(chance) > 1.3 * ours


@pytest.mark.slow
def test_design_improves_its_starts_and_repeats_itself() -> None:
    robot = load_robot("kinova_gen3", variant="bare")

    def design(iterations: int) -> FourierTrajectory:
        rng = np.random.default_rng(3)
        return design_excitation(
            robot, np.array(CENTRE), np.array(AMPLITUDE), rng, harmonics=2, starts=2, iterations=iterations, margin=-1.0
        )

    start, first, again = design(0), design(2), design(2)
    np.testing.assert_array_equal(first.sine, again.sine)
    np.testing.assert_array_equal(first.cosine, again.cosine)
    assert payload_condition(robot, first) < payload_condition(robot, start)
    assert max(use.max() for use in limit_use(first, robot.limits).values()) < 1.0
