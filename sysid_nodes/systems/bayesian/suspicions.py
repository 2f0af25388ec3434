# SPDX-License-Identifier: Apache-2.0
"""Properties of readings that a log shows and nobody stated: late torques, positions noisier at some stages.

Neither is a contradiction by itself, and either makes one of an honest log: a late torque looks like friction and
links that are not there, and a few bad positions of a joint bend its motion, each of which counts as much as any other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve

from sysid_nodes.solvers.trajectory_least_squares.feasible_descent import linear_model
from sysid_nodes.systems.bayesian.config import GAUSSIAN, BayesianConfig
from sysid_nodes.systems.bayesian.descent import Fitted
from sysid_nodes.systems.bayesian.noise import correlation

Array = npt.NDArray[np.float64]

_LATE = 0.1  # prior sigma of a delay of which nothing is known [s]
_STATED = 3.0  # sigmas of what was stated, from which on a delay is said
_SHOWN = 5.0  # sigmas of what a log shows, errors that last among them, likewise
_UNEVEN = 5.0  # root mean square of what is noise, over what most of it says: 1 if it is normal, to 4 of real logs
_QUANTISED = 100.0  # the same, from which on most readings repeat: a joint that stands


class Freed(NamedTuple):
    """Attributes: constants (m,) of the motors as if nothing were known of them; variances (m,) if errors are white;
    what errors that last add to these, which costs as much as all before."""

    value: Array
    variance: Array
    lasting: Callable[[], Array]


def freed_constants(fitted: Fitted, name: str, sigma: Array) -> Freed | None:
    """Linearised at the minimum; None where the readings hold no torque, or there is no such model.

    Args:
        fitted: the minimum.
        name: of the constant.
        sigma: (m,) prior, in place of the one that is stated.
    """
    problem, at = fitted.problem, fitted.found.best.point
    own = problem.mechanism.parameters
    index = np.arange(own.joint(name).start, own.joint(name).stop)[own.motors]
    if problem.told is not None or not np.isfinite(problem.log.torque).any():
        return None
    wide = own.sigma.copy()
    wide[index] = sigma
    freed = replace(own, sigma=wide)
    problem = replace(problem, mechanism=replace(problem.mechanism, parameters=freed))
    model = linear_model(problem, at)
    if model.factor is None:
        return None
    covariance = cho_solve((model.factor.corner, True), np.eye(len(freed.free)))
    places = np.searchsorted(freed.free, index)
    value = at.point.x[index] - (covariance @ model.factor.parameter_gradient)[places]
    return Freed(value, np.diag(covariance)[places], lambda: np.diag(correlation(problem, model).extra)[places])


def suspicions(fitted: Fitted, config: BayesianConfig) -> tuple[str, ...]:
    """In words, all of them that a log shows."""
    return tuple(words for words in (late_torques(fitted), uneven_noise(fitted, config)) if words)


def late_torques(fitted: Fitted) -> str:
    """In words, torques that come later, or earlier, than was stated; empty where none does."""
    own = fitted.problem.mechanism.parameters
    stated = own.sigma[own.joint("delay")][own.motors]
    if (
        fitted.problem.reference is not None
        or (freed := freed_constants(fitted, "delay", np.full(len(stated), _LATE))) is None
    ):
        return ""
    off, variance = np.abs(freed.value), freed.variance
    late = (off > _STATED * stated) & ~fitted.problem.log.unread
    if (late & (off > _SHOWN * np.sqrt(variance))).any():
        variance = variance + freed.lasting()
    late &= off > _SHOWN * np.sqrt(variance)
    names = np.array(own.joints)[own.motors]
    told = ", ".join(
        f"'{name}' ({value:.2g} s or so)" for name, value in zip(names[late], freed.value[late], strict=True)
    )
    return (
        f"torques are later than positions at {told}: state bayesian.drive.delay_sigma as large as that" if told else ""
    )


def uneven_noise(fitted: Fitted, config: BayesianConfig) -> str:
    """In words, joints some of whose positions are off by far more than most; empty where a loss allows for it."""
    log = fitted.problem.log
    if config.noise.loss != GAUSSIAN:
        return ""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = log.scatter / log.jitter
    uneven = (ratio > _UNEVEN) & (ratio < _QUANTISED)
    told = ", ".join(f"'{name}'" for name in np.array(fitted.problem.mechanism.chain.joint_names)[uneven])
    reason = "as under stamps that are not exact"
    return (
        f"some positions are off by far more than most at {told}, {reason}: try bayesian.noise.loss huber"
        if told
        else ""
    )
