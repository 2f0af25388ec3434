# SPDX-License-Identifier: Apache-2.0
"""Noise of a log, estimated with everything else: descents and variance components in turn, until both stay.

What the stated noise was to begin with hardly matters then. A torque's noise is of its reading and of all that the
model misses; where that errs the same way for some time, a reading counts as less than one: variances of torque and
power are those of their means, which grow by the residuals' correlation time. Noise of passive joints is not estimated:
loop forces take their rows up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.trajectory_least_squares.feasible_descent import FeasiblePoint, LinearModel, linear_model
from sysid_nodes.solvers.trajectory_least_squares.influence import influences
from sysid_nodes.solvers.trajectory_least_squares.variance_components import correlation_time, variance_ratios
from sysid_nodes.systems.bayesian.problem import GROUPS, Estimate, MechanismProblem, Noise

Array = npt.NDArray[np.float64]

SETTLED = 0.05
"""Relative change of a standard deviation from which on another round would show nothing."""

WHITE = 1.5
"""Correlation times below that are chance's."""

_LEAST = 0.02  # of the information in the rows of a kind that must be left to tell their noise
_FACTOR = 30.0  # by which a round may change a standard deviation


@dataclass(frozen=True)
class NoiseUpdate:
    """A further estimate.

    Attributes:
        noise: with correlation in it.
        correlation: times of torques (m,) and power, in stages; 1 for white noise.
        change: largest relative change of a standard deviation.
    """

    noise: Noise
    torque_correlation: Array
    power_correlation: float
    change: float


def update_noise(
    problem: MechanismProblem, at: FeasiblePoint[Estimate], model: LinearModel[Estimate] | None = None
) -> NoiseUpdate | None:
    """The noise that a minimum's residuals show, or None where the data leave a coordinate undetermined."""
    model = model or linear_model(problem, at)
    found = None if model.factor is None else influences(model.blocks, model.factor)
    if found is None:
        return None
    own = dict(zip(GROUPS, found[1], strict=True))
    noise, ratios = problem.noise, {}
    for name in ("position", "torque", "power"):
        columns = own[name].residual.shape[1]
        if own[name].residual.size == 0:
            ratios[name] = np.ones(columns)
            continue
        ratio = variance_ratios(own[name], np.arange(columns), columns)
        left = 1.0 - own[name].leverage.mean(axis=0)
        ratios[name] = np.where(left > _LEAST, np.clip(ratio, _FACTOR**-2, _FACTOR**2), 1.0)
    correlation = {name: _correlation(own[name].residual) for name in ("torque", "power")}
    for name, time in correlation.items():
        ratios[name] = ratios[name] * time
    read = np.flatnonzero(np.any(np.isfinite(problem.log.position), axis=0))
    position = noise.position.copy()
    position[read] *= np.sqrt(ratios["position"])
    torque = noise.torque * np.sqrt(ratios["torque"]) if len(own["torque"].residual) else noise.torque
    power = noise.power * float(np.sqrt(ratios["power"][0])) if len(own["power"].residual) else noise.power
    used = [ratio for name, ratio in ratios.items() if len(own[name].residual)]
    change = max((float(np.abs(np.sqrt(ratio) - 1.0).max()) for ratio in used), default=0.0)
    power_time = float(correlation["power"][0]) if len(own["power"].residual) else 1.0
    return NoiseUpdate(
        replace(noise, position=position, torque=torque, power=power), correlation["torque"], power_time, change
    )


def _correlation(residual: Array) -> Array:
    """(m,) correlation times, 1 where the residuals may as well be white."""
    if len(residual) < 8:
        return np.ones(residual.shape[1])
    time = correlation_time(residual)
    return np.where(time > WHITE, time, 1.0)
