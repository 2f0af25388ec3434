# SPDX-License-Identifier: Apache-2.0
"""Constants that a robot at rest does not tell: drives, links, how the ground gives, delays, and of a body how high its
mass is and how it is spread.

An estimate of them would take noise for motion, and call them known. While the robot rests they are held at their
prior's mean, and what is estimated beside them has that prior in its covariance (Schmidt's consider filter, 1966). With
x what is told, h what is not and R the triangular root of all rows,

    R = [R_xx R_xh; 0 R_hh]:   the first rows tell x if h were known and go on; the last, of h alone, do not.

The feet's places tell slope, feet and encoders' offsets beside the base's attitude: these are estimated. A robot that
stands and waves its arms is not at rest: their links, drives and delays show in what moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.signals.samples import Samples
from sysid_nodes.systems.prime.config import PrimeConfig
from sysid_nodes.systems.prime.observability import largest_rms
from sysid_nodes.systems.prime.parameters import Parameters
from sysid_nodes.systems.prime.problem import Arrival
from sysid_nodes.systems.prime.score import Score

Array = npt.NDArray[np.float64]

_APART = 5
"""Steps over which positions tell a joint's velocity: noise of one alone would pass for motion."""


def base_rests(samples: Mapping[str, Samples], config: PrimeConfig) -> bool:
    """Whether the gyroscope says that the base never turned as fast as an inertia needs to be seen."""
    gyro = samples.get("gyroscope")
    if gyro is None or not len(gyro):
        return False
    return bool(largest_rms(gyro.values, config.step).max() < config.inertia.least_turning)


def is_at_rest(samples: Mapping[str, Samples], config: PrimeConfig) -> bool:
    """Whether the base rests, and every joint that is read."""
    joints = samples.get("joint_position")
    if joints is None or len(joints) <= _APART or not base_rests(samples, config):
        return False
    velocity = (joints.values[_APART:] - joints.values[:-_APART]) / (_APART * config.step)
    return bool(largest_rms(velocity, config.step).max() < config.inertia.least_swing)


def open_covariance(parameters: Parameters, covariance: Array) -> Array:
    """(p, p) covariance of an estimate whose untold constants were held, of that (p, p) as if they had been told."""
    untold = np.flatnonzero(parameters.is_untold_at_rest)
    sigma = parameters.sigma[untold]
    told = covariance[np.ix_(untold, untold)] / np.outer(sigma, sigma)
    gain = np.linalg.solve(told, covariance[untold] / sigma[:, None]).T
    return np.asarray(covariance + gain @ (np.eye(len(untold)) - told) @ gain.T)


def forget_untold(parameters: Parameters, arrival: Arrival) -> Arrival:
    """An arrival without what it tells of untold constants alone; all else as if these were known.

    Nothing is carried of effects that are left out: a robot at rest tells none.
    """
    prior, p = arrival.prior, arrival.prior.parameters
    count = prior.root.shape[1]
    untold = np.concatenate([np.zeros(count - p, dtype=bool), parameters.is_untold_at_rest])
    order, told = np.argsort(untold, kind="stable"), count - int(untold.sum())
    linear = parameters.linear_jacobian(arrival.theta)
    slope, back = np.eye(count), np.eye(count)
    slope[-p:, -p:], back[-p:, -p:] = linear, np.linalg.inv(linear)
    slope, back = slope[:, order], back[order]
    rows = np.asarray(np.linalg.qr(np.column_stack([prior.root @ slope, prior.offset]), mode="r"))
    kept = rows[:told]
    size = np.maximum(np.linalg.norm(kept[:, :told], axis=0), np.finfo(float).tiny)
    by_untold = np.linalg.lstsq(kept[:, :told] / size, kept[:, told:-1], rcond=None)[0] / size[:, None]
    new = np.concatenate([np.eye(told), by_untold], axis=1) @ back
    score = arrival.score.change_unknowns(slope)
    return replace(
        arrival,
        prior=replace(prior, root=kept[:, :-1] @ back, offset=kept[:, -1]),
        score=Score(score.covariance[:told, :told], score.pull[:told]).change_unknowns(new),
    )
