# SPDX-License-Identifier: Apache-2.0
"""How far an estimate is from the truth: the figures that the PRIME benchmarks compare."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.peers.estimate import PeerEstimate
from benchmarks.prime_log import AlignedLog
from sysid_nodes.models.discrete_motion import difference
from sysid_nodes.reports.prime.truth import feet, sum_by_foot

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

EDGE = 3
"""Steps at both ends that are not compared: torques there are missing or means over half a window."""

THRESHOLD = 2.0
"""True normal force above which a foot counts as on the ground [N]."""


@dataclass(frozen=True)
class Score:
    """Errors of one estimate; NaN where a method gives no such thing.

    Attributes:
        force: relative force error over all feet, |F - F_true| / |F_true| (the paper's RelativeError_F).
        rms: of a foot's force error vector [N] (the paper's RMSE_F).
        corner: relative error over the single contact points; as `force` where a foot has one.
        mass: relative error of the identified body's mass.
        total: the same error relative to the robot's total mass.
        com: distance of the identified body's centre of mass from the true one [m].
        position, turn: RMS errors of the base: |p - p_true| [m] and angle [rad].
        f1: of contact on and off, by foot.
    """

    force: float
    rms: float
    corner: float
    mass: float
    total: float
    com: float
    position: float
    turn: float
    f1: float


def score(estimate: PeerEstimate, log: AlignedLog) -> Score:
    """Errors of an estimate on the log's steps."""
    truth = log.around if estimate.window == "around" else log.after
    inner = slice(EDGE, len(log.steps) - EDGE)
    _, index = feet(log.robot)
    wrong, true = estimate.force[inner] - truth[inner], truth[inner]
    by_foot, true_by_foot = sum_by_foot(wrong, index), sum_by_foot(true, index)
    corner = float(np.linalg.norm(wrong) / np.linalg.norm(true)) if estimate.corners else np.nan
    turn, shift = _pose_error(log.q[inner], estimate.q[inner])
    mass, total, com = np.nan, np.nan, np.nan
    if estimate.theta is not None:
        mass = float(estimate.theta[0]) / log.mass - 1.0
        total = (float(estimate.theta[0]) - log.mass) / log.truth.total_mass
        if estimate.com_known:
            com = float(np.linalg.norm(estimate.theta[1:4] / estimate.theta[0] - log.com))
    return Score(
        force=float(np.linalg.norm(by_foot) / np.linalg.norm(true_by_foot)),
        rms=float(np.sqrt(np.mean(np.sum(by_foot**2, axis=-1)))),
        corner=corner,
        mass=mass,
        total=total,
        com=com,
        position=shift,
        turn=turn,
        f1=_best_f1(
            sum_by_foot(estimate.force[inner], index)[..., 2], true_by_foot[..., 2] > THRESHOLD, estimate.threshold
        ),
    )


def raw_pose(log: AlignedLog) -> tuple[float, float]:
    """RMS errors of the mocap's readings themselves: position [m], angle [rad]."""
    mocap = log.steps.samples["mocap_pose"]
    turn, shift = _pose_error(log.q[mocap.steps], np.concatenate([mocap.values, log.q[mocap.steps, 7:]], axis=1))
    return shift, turn


def _pose_error(true: Array, found: Array) -> tuple[float, float]:
    error = difference(true, found)[:, :6]
    square = np.sum(error.reshape(-1, 2, 3) ** 2, axis=-1).mean(axis=0)
    return float(np.sqrt(square[1])), float(np.sqrt(square[0]))


def _best_f1(normal: Array, true: BoolArray, threshold: float | None) -> float:
    """F1 at a threshold; without one, at the best of many (a peer is not to lose by ours)."""
    thresholds = np.geomspace(1.0, 100.0, 21) if threshold is None else np.array([threshold])
    values = [2.0 * np.sum((normal > t) & true) / max(np.sum(normal > t) + np.sum(true), 1) for t in thresholds]
    return float(max(values))
