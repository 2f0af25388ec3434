# SPDX-License-Identifier: Apache-2.0
"""Curves over time for the report: gaps of the loops, power measured and accounted for."""

from __future__ import annotations

import numpy as np

from sysid_nodes.results.bayesian import BayesianSeries
from sysid_nodes.systems.bayesian.estimate import Estimate
from sysid_nodes.systems.bayesian.problem import MechanismProblem


def result_series(problem: MechanismProblem, point: Estimate) -> BayesianSeries:
    """Of the estimated motion."""
    mechanism, own = problem.mechanism, problem.mechanism.parameters
    motion = problem.motion(point)
    (motors,) = np.nonzero(own.motors)
    torque = mechanism.torque(motion, point.x)[:, motors]
    mechanical = np.sum(torque * motion.v[:, motors], axis=1)
    drawn = mechanism.power(motion, torque, point.x)
    gap = np.zeros(len(motion.q))
    if mechanism.closures.count:
        gap = np.abs(mechanism.closures.gaps(motion.q)).max(axis=1)
    power = np.stack([problem.log.power[1:-1], mechanical, drawn])
    return BayesianSeries(problem.log.t[1:-1], motion.q, gap, power)
