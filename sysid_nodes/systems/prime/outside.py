# SPDX-License-Identifier: Apache-2.0
"""A force and a moment on the base from outside, as of a push or a rope: the disturbance of its six rows, when asked.

The rows of the base are the force that contacts and motion leave unexplained, over the standard deviation of all that
may act there. Of what is found, the model's own errors have the share of their variance. Its standard deviation is that
of the row's prediction, its leverage (influence.py), with the share that the model's errors leave open.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sysid_nodes.results.prime import OutsideWrench
from sysid_nodes.solvers.trajectory_least_squares import Blocks, Posterior
from sysid_nodes.solvers.trajectory_least_squares.factor import Factor
from sysid_nodes.solvers.trajectory_least_squares.influence import leverages
from sysid_nodes.systems.prime.dynamics import outside_variance, process_variance
from sysid_nodes.systems.prime.problem import PrimeProblem

Array = npt.NDArray[np.float64]


def outside_wrench(
    problem: PrimeProblem,
    theta: Array,
    residuals: Sequence[Array],
    blocks: Sequence[Blocks],
    factor: Factor,
    found: Posterior,
) -> OutsideWrench | None:
    """The wrench at every stage, NaN at both ends and where no covariance is known; None where none was asked for.

    Args:
        problem: solved.
        theta: (p,) its solution's constants.
        residuals: of its groups at the solution.
        blocks: its blocks at the last linearisation.
        factor: undamped, of their normal equations.
        found: its posterior.
    """
    process = problem.model.config.process
    if not process.asks_outside:
        return None
    asked, own = outside_variance(process), process_variance(process)
    share = asked / (asked + own)
    scale = problem.inner.dynamics.scale[:, :6] / problem.model.parameters.mass_ratio(theta)
    wrench, sigma = np.full((2, problem.stages, 6), np.nan)
    wrench[1:-1] = share * residuals[0][:, :6] / scale
    (leverage,) = leverages(blocks[:1], factor, found)
    sigma[1:-1] = np.sqrt(share**2 * leverage[:, :6] / scale**2 + share * own)
    return OutsideWrench(wrench, sigma)
