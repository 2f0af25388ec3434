# SPDX-License-Identifier: Apache-2.0
"""Weights of the readings of a whole log by the noise that their residuals show.

Motion and constants are estimated together from readings that are all noisy. Torque readings, accelerations and the
inertia between them are a regression with errors in both variables: it is consistent where the stated noises have the
ratio of the true ones and biased otherwise, without a trace in the sigmas (Fuller, Measurement error models, 1987, sec.
1.3). With a readings' noise s and S of torque and acceleration against the stated 1 and 1, an inertia M costs

    (M^2 S^2 + s^2) / (M^2 + 1)

a reading on average, which falls towards smaller inertias where torques are better than stated. Hence the smaller of
the stated noise and that of the residuals weighs a reading. It is estimated as in observed_noise.py, per sensor, for
torques per joint. Larger noise than stated is left to the verdict on the log.

Neighbouring means over triangles share readings. With accelerations, differences of what neighbouring stages say, it is
the noise of differences that competes, 1 - TRIANGLE of the variance.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.trajectory_least_squares import assemble
from sysid_nodes.solvers.trajectory_least_squares.factor import factorise
from sysid_nodes.solvers.trajectory_least_squares.influence import leverages
from sysid_nodes.solvers.trajectory_least_squares.posterior import covariances
from sysid_nodes.solvers.trajectory_least_squares.variance_components import STATED
from sysid_nodes.systems.prime.noise_variances import squares_and_redundancy
from sysid_nodes.systems.prime.observed_noise import TRIANGLE, overlaps
from sysid_nodes.systems.prime.parameters import JOINTS
from sysid_nodes.systems.prime.problem import PrimeProblem
from sysid_nodes.systems.prime.sensing import Readings
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]

_FINEST = 0.04
"""Least variance of a reading in units of the stated one."""


def weigh_readings(problem: PrimeProblem, point: Trajectory) -> PrimeProblem:
    """The problem with its readings of torque, joints and motion weighed by the noise that they show at a point.

    Orientations and poses keep what they state: their errors last, and compete with no acceleration.
    """
    blocks = problem.linearise(point)
    factor = factorise(assemble(blocks, problem.layout), 0.0)
    found = None if factor is None else covariances(factor)
    if factor is None or found is None:
        return problem
    chosen = [k for k, name in enumerate(problem.groups) if name == "dynamics" or _tells_motion(problem, name)]
    taken = [blocks[k] for k in chosen]
    roots: dict[str, Array] = {}
    for k, group, own in zip(chosen, taken, leverages(taken, factor, found), strict=True):
        name = problem.groups[k]
        squares, free = (part.sum(axis=0) for part in squares_and_redundancy(problem, name, group, own))
        if name == "dynamics":
            squares, free = squares[6:], free[6:]
        else:
            squares, free = squares.sum(keepdims=True), free.sum(keepdims=True)
        variance = (squares + STATED) / (free + STATED)
        if overlaps(problem, name):
            variance = variance * (1.0 - TRIANGLE)
        roots[name] = 1.0 / np.sqrt(np.clip(variance, _FINEST, 1.0))

    def weigh(readings: Readings) -> Readings:
        root, samples = roots.get(readings.sensor.name), readings.samples
        return readings if root is None else replace(readings, samples=replace(samples, weights=samples.weights * root))

    inner = problem.inner.weigh_torques(roots["dynamics"])
    return replace(problem, inner=inner, readings=tuple(weigh(readings) for readings in problem.readings))


def _tells_motion(problem: PrimeProblem, name: str) -> bool:
    return name == JOINTS or name in problem.model.moving
