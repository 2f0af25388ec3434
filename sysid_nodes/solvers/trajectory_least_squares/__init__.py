# SPDX-License-Identifier: Apache-2.0
"""Least squares over trajectories with shared parameters and local variables, in time and memory linear in length.

A `Problem` gives `Blocks` of whitened residuals on windows of consecutive stages; `solve` minimises it, and
`feasible_descent` does so on the manifold that hard equalities of single stages leave. From the blocks at the solution,
`posterior(assemble(...))` gives covariances and `marginalise` the arrival cost of a window that moves on.
"""

from sysid_nodes.solvers.trajectory_least_squares.gaussian_prior import GaussianPrior
from sysid_nodes.solvers.trajectory_least_squares.levenberg_marquardt import LevenbergMarquardtConfig, solve
from sysid_nodes.solvers.trajectory_least_squares.marginal import Marginal, marginalise
from sysid_nodes.solvers.trajectory_least_squares.normal_equations import NormalEquations, assemble
from sysid_nodes.solvers.trajectory_least_squares.posterior import Posterior, posterior
from sysid_nodes.solvers.trajectory_least_squares.problem import Blocks, Layout, Problem
from sysid_nodes.solvers.trajectory_least_squares.robust import Cauchy

__all__ = [
    "Blocks",
    "Cauchy",
    "GaussianPrior",
    "Layout",
    "LevenbergMarquardtConfig",
    "Marginal",
    "NormalEquations",
    "Posterior",
    "Problem",
    "assemble",
    "marginalise",
    "posterior",
    "solve",
]
