# SPDX-License-Identifier: Apache-2.0
"""Plain least squares on one rollout of a joint's whole log: SciPy's `least_squares`, derivatives by differences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from sysid_nodes.solvers.shooting.problem import Array
from sysid_nodes.systems.actuators.fit import parameters_of
from sysid_nodes.systems.actuators.joint_problem import JointProblem


@dataclass(frozen=True)
class SingleShot:
    """Result: parameters (K,), and rollouts of the whole log."""

    parameters: Array
    rollouts: int


def fit_single(problem: JointProblem, guess: Array) -> SingleShot:
    """The same law, kernel and bounds as ours; one segment from the first measured state, squares of all errors."""
    motion, first = problem.motion, np.zeros(1, dtype=np.int64)
    start = problem.start(first)[0]
    fitted = parameters_of(problem.names)
    spent = 0

    def residual(parameters: Array) -> Array:
        nonlocal spent
        spent += 1
        own = problem.with_law(problem.with_parameters(parameters))
        off = own.simulate(np.zeros(0), first, start).position - motion.q
        return np.asarray(np.where(np.isfinite(off), off, 1e3)[motion.measured])

    lower, upper = np.array([p.lower for p in fitted]), np.array([p.upper for p in fitted])
    inside = np.clip(guess, lower, upper)
    found = least_squares(residual, inside, bounds=(lower, upper), x_scale="jac", diff_step=np.array(1e-4))
    return SingleShot(np.asarray(found.x), spent)
