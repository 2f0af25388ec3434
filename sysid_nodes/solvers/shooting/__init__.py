# SPDX-License-Identifier: Apache-2.0
"""Multiple shooting: parameters and start states of segments that make rollouts of a model fit measurements."""

from sysid_nodes.solvers.shooting.bounded_interval import bounded_interval
from sysid_nodes.solvers.shooting.covariance import Covariance, block_jackknife
from sysid_nodes.solvers.shooting.problem import Gaussian, Rollout, ShootingProblem
from sysid_nodes.solvers.shooting.runs import BetweenRuns, combine_runs
from sysid_nodes.solvers.shooting.solve import ShootingConfig, ShootingResult, shoot

__all__ = [
    "BetweenRuns",
    "Covariance",
    "Gaussian",
    "Rollout",
    "ShootingConfig",
    "ShootingProblem",
    "ShootingResult",
    "block_jackknife",
    "bounded_interval",
    "combine_runs",
    "shoot",
]
