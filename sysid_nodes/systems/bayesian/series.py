# SPDX-License-Identifier: Apache-2.0
"""Curves over time for the report: gaps of the loops, power measured and accounted for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.results.bayesian import BayesianSeries
from sysid_nodes.systems.bayesian.estimate import Estimate
from sysid_nodes.systems.bayesian.problem import MechanismProblem

Array = npt.NDArray[np.float64]


def loop_gaps(problem: MechanismProblem, point: Estimate) -> Array:
    """(N,) largest gap of what is closed at each stage [m], of axes [1]; zero where nothing is."""
    mechanism, out = problem.mechanism, np.zeros(len(point.q))
    if mechanism.loops.count:
        out = np.abs(mechanism.loops.gaps(point.q)).max(axis=1)
    if mechanism.contacts.touching:
        own = slice(mechanism.loops.count, None)
        height = (np.abs(mechanism.closures.value(point.q)) * problem.holds)[:, own]
        out = np.maximum(out, height.max(axis=1))
    return np.asarray(out)


def result_series(problem: MechanismProblem, point: Estimate) -> BayesianSeries:
    """Of the estimated motion."""
    mechanism, own = problem.mechanism, problem.mechanism.parameters
    motion = problem.motion(point)
    (motors,) = np.nonzero(own.motors)
    torque = mechanism.torque(motion, point.x)[:, motors]
    mechanical = np.sum(torque * mechanism.of_motors(motion.v)[:, motors], axis=1)
    drawn = mechanism.power(motion, torque, point.x)
    gap = loop_gaps(problem, point)[1:-1]
    power = np.stack([problem.log.power[1:-1], mechanical, drawn])
    return BayesianSeries(problem.log.t[1:-1], motion.q, gap, power)
