# SPDX-License-Identifier: Apache-2.0
"""What was not read tells nothing, and takes nothing from the rest: torques of a joint; positions of a stage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.bayesian_robots import bench_robot
from benchmarks.bayesian_world import bench_log, readings, simulate, true_mechanism
from sysid_nodes.results.bayesian import BayesianStatus
from sysid_nodes.solvers.trajectory_least_squares.feasible_descent import linear_model
from sysid_nodes.systems.bayesian import identify
from sysid_nodes.systems.bayesian.descent import descend, start_point, stated_noise
from sysid_nodes.systems.bayesian.problem import MechanismProblem


def test_the_torques_that_are_read_tell_the_links() -> None:
    own = bench_robot("pendulum")
    q, torque, _ = readings(own, simulate(own, 1, 4.0), 1e-4, 1)
    torque = torque.copy()
    torque[:, 1] = np.nan
    log = bench_log(own, q, torque, None)
    assert log.unread.tolist() == [False, True]
    assert log.torque_stages.mean() > 0.9
    result = identify(log, own.robot, replace(own.config, held_out=0.2))
    assert result.status is BayesianStatus.FOUND
    told = {parameter.name: parameter for parameter in result.parameters}
    first, second = own.robot.joint_names
    assert told[f"{first}.viscous"].verdict == "observed"
    assert told[f"{second}.viscous"].verdict == "not observed"
    assert result.held_out is not None
    assert result.held_out.joints == (first,)
    nominal, _, identified = result.held_out.rms[:, 0]
    assert identified < 0.3 * nominal
    assert [level.name for level in result.noise if "torque" in level.name] == [f"torque of {first}"]


def test_a_position_that_was_neither_read_nor_told_by_torques_leaves_the_rest_as_it_is() -> None:
    """An arm that starts from rest, where friction turns, its second stage without a reading."""
    own = bench_robot("pendulum")
    mechanism, truth = true_mechanism(own), simulate(own, 1, 1.0)
    q, torque, _ = readings(own, truth, 3e-4, 1)
    log = bench_log(own, q, torque, None)
    gap = log.position.copy()
    gap[1] = np.nan
    turning = np.zeros((log.stages - 2, 2), dtype=np.bool_)
    turning[:2] = True
    found = []
    for each in (log, replace(log, position=gap)):
        start = start_point(mechanism, each, mechanism.parameters.mean)
        problem = MechanismProblem(mechanism, each, stated_noise(mechanism, own.config), turning)
        point = descend(problem, start, own.config).point
        assert linear_model(problem, point).factor is not None
        found.append(point.point.x)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6, atol=1e-8)  # where descents end
