# SPDX-License-Identifier: Apache-2.0
"""Uncertainty of a robot's place after a distance walked without a reading of it.

Without motion capture nothing sees where on the ground the base is. Standing feet carry its place on, and their
errors do not average out: a foot that lands or lifts off within a step slides the same way every time, some
millimetres a stride. White noise of creep in the contacts grows with the square root of time and soon promises too
much. So the place is taken to be wrong, besides, by a share of the distance (`process.drift`) that is always the same.

Where nothing has seen the place since a motion began, a moving window holds it where the motion began, and what that
leaves open is added to the covariances. Were it free in the windows, each would tell a little of it: on ground that
slopes the base is higher farther on, and windows that have another slope disagree by an amount that looks like news.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.rotations import quaternion_matrix
from sysid_nodes.results.prime import PrimeEstimate
from sysid_nodes.signals.samples import Samples
from sysid_nodes.systems.prime.arrival import loosen
from sysid_nodes.systems.prime.model import Model
from sysid_nodes.systems.prime.problem import Arrival
from sysid_nodes.systems.prime.score import Score
from sysid_nodes.systems.prime.surroundings import contact_law_with

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

PLACES = ("mocap_pose",)
"""Sensors that measure the place of the base."""

_HELD = 1e-4
"""Standard deviation of a place that is held [m]: far below what anything tells of a motion."""


def stages_with_place(samples: Mapping[str, Samples], stages: int) -> Flags:
    """(N,) whether a stage has a reading of the base's place."""
    seen = np.zeros(stages, dtype=bool)
    for name in PLACES:
        if name in samples:
            steps = samples[name].steps
            seen[steps[steps < stages]] = True
    return seen


def ground_distances(model: Model, q: Array) -> Array:
    """(N - 1,) distances along the ground between successive configurations (N, nq) [m]."""
    return np.asarray(np.linalg.norm(np.diff(q[:, :3], axis=0) @ model.law.plane.axes[1:].T, axis=1))


def distance_since_seen(way: Array, seen: Flags, before: float = np.inf) -> Array:
    """(N,) distance since the last stage with a reading of place [m].

    Args:
        way: (N - 1,) distances between stages [m].
        seen: (N,) whether a stage has a reading of place.
        before: distance of the first stage if it has none [m].
    """
    total = np.concatenate([[0.0], np.cumsum(way)])
    last = np.maximum.accumulate(np.where(seen, np.arange(len(seen)), -1))
    return np.where(last < 0, before + total, total - total[last])


def loosen_place(model: Model, arrival: Arrival, before: float, after: float) -> Arrival:
    """Widens an arrival for the distance since the last reading of place.

    The standard deviation along the ground grows in proportion to the way: its square by the difference of squares.

    Args:
        model: of the robot.
        arrival: to be loosened.
        before, after: way that it accounts for, and that it has to [m].
    """
    sigma = model.config.process.drift * np.sqrt(max(after**2 - before**2, 0.0))
    return loosen(arrival, sigma * _moves(arrival, model.law.plane.axes[1:])) if sigma > 0.0 else arrival


def hold_place(model: Model, arrival: Arrival) -> Arrival:
    """An arrival of nothing but a first stage (first_arrival), which is where it is along the ground."""
    start, prior, axes = model.config.start, arrival.prior, model.law.plane.axes
    root = prior.root.copy()
    sigma = np.array([start.position_sigma, _HELD, _HELD])
    root[:3, :3] = axes @ quaternion_matrix(arrival.q[0, 3:7]) / sigma[:, None]
    return replace(arrival, prior=replace(prior, root=root), score=Score.as_stated(root))


def release_place(model: Model, arrival: Arrival, theta: Array) -> Arrival:
    """An arrival whose place was held until now, as something sees it for the first time."""
    return loosen(arrival, model.config.start.position_sigma * _moves(arrival, _slope(model, theta)))


def add_place_unseen(model: Model, estimate: PrimeEstimate, theta: Array) -> PrimeEstimate:
    """Adds what is not known of a place that is held: it may be anywhere along the ground, and as much higher."""
    along = _slope(model, theta) @ quaternion_matrix(estimate.q[:, 3:7])
    covariance = estimate.q_covariance.copy()
    covariance[:, :3, :3] += model.config.start.position_sigma**2 * (along.swapaxes(-1, -2) @ along)
    return replace(estimate, q_covariance=covariance)


def _slope(model: Model, theta: Array) -> Array:
    """(2, 3) directions along the ground as theta (p,) has it."""
    return contact_law_with(model.law, model.parameters, theta).plane.axes[1:]


def _moves(arrival: Arrival, directions: Array) -> Array:
    """(width n + p, k) changes of an arrival's unknowns by moves of all its stages along directions (k, 3)."""
    prior = arrival.prior
    columns = np.zeros((prior.root.shape[1], len(directions)))
    for stage, q in enumerate(arrival.q):
        first = stage * prior.size
        columns[first : first + 3] = quaternion_matrix(q[3:7]).T @ directions.T
    return columns


def add_place_drift(model: Model, estimate: PrimeEstimate, seen: Flags) -> PrimeEstimate:
    """Adds the drift of place between its readings to the covariances of a whole log's estimate.

    A stage's distance is that to the nearer of the readings before and after it, or to the first stage without any.
    """
    way = ground_distances(model, estimate.q)
    if seen.any():
        far = np.minimum(distance_since_seen(way, seen), distance_since_seen(way[::-1], seen[::-1])[::-1])
    else:
        far = distance_since_seen(way, seen, 0.0)
    along = model.law.plane.axes[1:] @ quaternion_matrix(estimate.q[:, 3:7])
    covariance = estimate.q_covariance.copy()
    growth = (model.config.process.drift * far) ** 2
    covariance[:, :3, :3] += growth[:, None, None] * (along.swapaxes(-1, -2) @ along)
    return replace(estimate, q_covariance=covariance)
