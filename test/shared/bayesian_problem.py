# SPDX-License-Identifier: Apache-2.0
"""A Bayesian problem of the four-bar leg with every term, and a point near its start."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.bayesian_log import CONFIG, leg, leg_log, leg_run
from sysid_nodes.systems.bayesian.config import (
    BayesianConfig,
    DrivePriorConfig,
    FrictionPriorConfig,
    InertiaPriorConfig,
)
from sysid_nodes.systems.bayesian.descent import start_point, stated_noise
from sysid_nodes.systems.bayesian.estimate import Estimate, LogInformation
from sysid_nodes.systems.bayesian.mechanism import build_mechanism
from sysid_nodes.systems.bayesian.problem import MechanismProblem

ALL_TERMS = replace(
    CONFIG,
    friction=FrictionPriorConfig(
        motors="stribeck",
        passive="stribeck",
        turning_speed=0.3,
        turning_sigma=0.2,
        stribeck_speed=0.8,
        viscous_power=(0.7, 1.0, 0.8, 1.0),
        load_sigma=0.2,
    ),
    drive=DrivePriorConfig(armature_sigma=0.05, offset_sigma=0.5, gain_sigma=0.1, delay_sigma=0.01),
    inertia=InertiaPriorConfig(total_mass=3.4),
)


def problem_and_point(duration: float = 0.4, config: BayesianConfig = ALL_TERMS) -> tuple[MechanismProblem, Estimate]:
    mechanism = build_mechanism(leg(), config, power=True)
    log = leg_log(leg_run(0, duration)[1])
    start = start_point(mechanism, log, mechanism.parameters.mean)
    rng = np.random.default_rng(0)
    own = mechanism.parameters
    x = start.x.copy()
    x[own.free] += 0.2 * own.sigma[own.free] * np.abs(rng.standard_normal(len(own.free)))
    q = start.q + 0.003 * rng.standard_normal(start.q.shape)
    rows = (3, len(own.free))
    told = LogInformation(rng.standard_normal(rows), rng.standard_normal(3))
    point = Estimate(q, start.force + rng.standard_normal(start.force.shape), x)
    turning = rng.random((log.stages - 2, 2)) < 0.2
    problem = MechanismProblem(mechanism, log, stated_noise(mechanism, ALL_TERMS), turning, told)
    return problem, point
