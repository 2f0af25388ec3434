# SPDX-License-Identifier: Apache-2.0
"""Measure of how much a motion tells about a body's ten inertial parameters (section V-B of the paper, eq. 30).

The information of a motion is F = int W_e' W_e dt, W_e the body's columns of the standard regressor; sums over equally
spaced samples stand for the integral. It adds up over plans, so a plan is judged together with all that was collected
before. That also serves the momentum regressor: its rows are integrals of W_e's over windows, and over windows short
against the motion both have the same condition number. All this is least squares: worst-case bounds under errors that
grow with the torque gain less from a good condition, and can lose where faster joints mean larger torques.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError, SamplesError
from sysid_nodes.models.bezier import Bezier, State
from sysid_nodes.models.body_regressor import body_regressor
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.regressors import body_columns

Array = npt.NDArray[np.float64]
Objective = Literal["condition", "log_det", "trace"]
OBJECTIVES: tuple[Objective, ...] = ("condition", "log_det", "trace")

_SINGULAR = 1e-14
"""Eigenvalues below this share of the largest are roundings."""


@dataclass(frozen=True, eq=False)
class ExcitationCost:
    """Excitation of a body by the plan with displacement k on top of what past motions gave.

    With rows divided by `noise` and columns multiplied by `scales`, F is past plus plan and the cost is

        condition   log of the 2-norm condition number of the stacked regressor, (log of that of F) / 2
        log_det     -1/2 log det(1 + F): the log of the volume that a unit ball of parameters shrinks to
        trace       1/2 log(trace((1 + F)^-1) / 10): the log of its root mean square width

    For the last two `scales` are the half-widths of the parameters' present bounds and `noise` the torque error, one
    independent reading of it a second; the 1 is what the bounds know already. The condition number needs neither.
    It is not smooth where its extreme eigenvalues meet others, and a motion that leaves a parameter unseen has a flat
    cost near 16: begin a search from a k that moves every joint.

    Attributes:
        body: index of the body, that of the joint carrying it.
        start: (n,) state the plan starts from.
        duration: t_f [s].
        samples: over the horizon.
        horizon: length of the plan that counts [s]; 0 for all of it.
        past: (10, 10) sum of `information` of past motions; empty for none.
        objective: condition, log_det or trace.
        scales: (10,) positive units of the parameters; empty for SI units.
        noise: (n,) positive torque errors [N m]; empty for 1 N m.

    Raises:
        SamplesError: an array has a wrong shape or values out of range, or the chain has no such body.
        ConfigError: the objective is unknown, or the horizon or the number of samples is out of range.
    """

    chain: Chain
    body: int
    start: State
    duration: float
    samples: int = 128
    horizon: float = 0.0
    past: Array | tuple[()] = ()
    objective: Objective = "condition"
    scales: Array | tuple[()] = ()
    noise: Array | tuple[()] = ()

    def __post_init__(self) -> None:
        body_columns(self.chain, self.body)
        Bezier(*self.start, np.zeros(self.chain.n), self.duration)
        if self.objective not in OBJECTIVES:
            raise ConfigError(f"unknown objective '{self.objective}'; known are {', '.join(OBJECTIVES)}")
        if self.samples < 1 or not 0.0 <= self.horizon <= self.duration:
            raise ConfigError(
                f"{self.samples} samples over {self.horizon:g} s do not describe a plan of {self.duration:g} s"
            )
        for name, default in (("past", np.zeros((10, 10))), ("scales", np.ones(10)), ("noise", np.ones(self.chain.n))):
            given = getattr(self, name)
            value = np.asarray(given if np.size(given) else default, dtype=np.float64)
            positive = name == "past" or bool((value > 0.0).all())
            if value.shape != default.shape or not np.isfinite(value).all() or not positive:
                raise SamplesError(
                    f"{name} must be finite numbers of shape {default.shape}, above 0 for scales and noise"
                )
            object.__setattr__(self, name, value)

    @property
    def step(self) -> float:
        """Spacing of the samples [s]; they lie in the middle of their steps."""
        return (self.horizon or self.duration) / self.samples

    def __call__(self, k: Array) -> tuple[float, Array]:
        """Value and gradient (n,) [1/rad]. Raises SamplesError if k is not (n,) finite numbers."""
        motion = Bezier(*self.start, k, self.duration)
        t = self.step * (np.arange(self.samples) + 0.5)
        regressor = body_regressor(self.chain, self.body, *motion(t))
        noise = np.asarray(self.noise)[regressor.joints, None, None]
        weighted = regressor.rows * (np.sqrt(self.step) / noise)
        scales = np.asarray(self.scales)
        information = scales[:, None] * (self.past + _gram(weighted)) * scales
        value, slope = _objective(self.objective, information)
        # d tr(slope F) for F = sum over rows w w': twice slope w, and the row's weight once more.
        slope = 2.0 * scales[:, None] * slope * scales
        pull = np.einsum("jpn,pr->jrn", weighted, slope) * (np.sqrt(self.step) / noise)
        in_k = zip(motion.derivative_wrt_k(t), regressor.pullback(pull), strict=True)
        return value, np.sum([rate @ part for rate, part in in_k], axis=0)

    def information(self, motion: Bezier, until: float = 0.0) -> Array:
        """(10, 10) what executing a motion adds to `past`, up to a time [s], by default all of it.

        Raises:
            SamplesError: the motion is of another robot.
            ConfigError: the time is not within the motion.
        """
        if not 0.0 <= until <= motion.duration:
            raise ConfigError(f"{until:g} s are not within a motion of {motion.duration:g} s")
        length = until or motion.duration
        count = max(1, round(length / self.step))
        t = length / count * (np.arange(count) + 0.5)
        regressor = body_regressor(self.chain, self.body, *motion(t))
        return _gram(regressor.rows * (np.sqrt(length / count) / np.asarray(self.noise)[regressor.joints, None, None]))


def executed_states(plans: Sequence[Bezier], replan: float | Sequence[float], rate: float) -> State:
    """(N, n) states of plans that follow one another at `rate` [1/s], the last one to its end.

    Args:
        plans: at least one.
        replan: time into each but the last at which the next takes over [s]; one number for all.
        rate: of the states [1/s].

    Raises:
        ConfigError: there is no plan, the rate is not positive, or a takeover is not within its plan.
    """
    if not plans or not rate > 0.0:
        raise ConfigError("executing plans needs at least one, and a positive rate")
    until = np.broadcast_to(np.asarray(replan, dtype=np.float64), len(plans) - 1)
    for t_p, plan in zip(until, plans, strict=False):
        if not 0.0 < t_p <= plan.duration:
            raise ConfigError(f"t_p = {t_p:g} s is not within every plan")
    begins = np.concatenate([[0.0], np.cumsum(until)])
    end = begins[-1] + plans[-1].duration
    t = np.arange(np.floor(end * rate + 1e-9) + 1.0) / rate
    which = np.searchsorted(begins, t + 1e-12, side="right") - 1
    parts = [plan(np.maximum(t[which == i] - begins[i], 0.0)) for i, plan in enumerate(plans)]
    return State(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _gram(rows: Array) -> Array:
    """(10, 10) sum of w w' over rows (m, 10, N)."""
    flat = np.moveaxis(rows, 1, 0).reshape(10, -1)
    return np.asarray(flat @ flat.T)


def _objective(objective: Objective, information: Array) -> tuple[float, Array]:
    """Value and its derivative in the information matrix, (10, 10)."""
    if objective == "condition":
        values, vectors = np.linalg.eigh(information)
        largest, low, high = values[-1], vectors[:, 0], vectors[:, -1]
        smallest = max(values[0], _SINGULAR * largest)
        if not largest > 0.0:  # nothing moves and nothing weighs
            return float(-0.5 * np.log(_SINGULAR)), np.zeros_like(information)
        slope = 0.5 * np.outer(high, high) / largest
        if values[0] == smallest:
            slope -= 0.5 * np.outer(low, low) / smallest
        return float(0.5 * np.log(largest / smallest)), slope
    values, vectors = np.linalg.eigh(information)
    left = 1.0 / (1.0 + np.maximum(values, 0.0))
    inverse = (vectors * left) @ vectors.T
    if objective == "log_det":
        return float(0.5 * np.log(left).sum()), -0.5 * inverse
    return float(0.5 * np.log(left.mean())), -0.5 * (inverse @ inverse) / left.sum()
