# SPDX-License-Identifier: Apache-2.0
"""A joint without readings of its torque, as drivers have it, tells nothing, and takes nothing from the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.bayesian_robots import bench_robot
from benchmarks.bayesian_world import bench_log, readings, simulate
from sysid_nodes.results.bayesian import BayesianStatus
from sysid_nodes.systems.bayesian import identify


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
