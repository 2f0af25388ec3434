# SPDX-License-Identifier: Apache-2.0
"""Fisher information of a walk that has not taken place: that of the identification's own residuals on its clips.

The walk is simulated, read by perfect sensors at the real ones' instants, and cut into clips; derivatives are the
identification's (`problem`), with the start states eliminated clip by clip:

    F = sum_clips (J' J - J' S (S' S + L)^-1 S' J),

J and S the derivatives of a clip's residuals by parameters and by its start, and L what a guessed start knows.
Residuals are whitened as there (`step_errors`): by noise, and by what the same clips in half and in a quarter of the
step would change, which is of each clip's own covariance. So a clip whose landing steps put elsewhere tells less.
By how much whole and half steps would have residuals otherwise, r, the clips may have in common, and then

    g = sum_clips (J' - J' S (S' S + L)^-1 S') r

is how far it pulls at the estimate. How gears hold is told by every log, and no error of a walk.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.rollouts import Simulator
from sysid_nodes.rollouts.rotations import drift, vertical
from sysid_nodes.systems.sampling.config import NoiseConfig
from sysid_nodes.systems.sampling.gauss_newton import Others
from sysid_nodes.systems.sampling.log import MotionLog
from sysid_nodes.systems.sampling.problem import ClipProblem
from sysid_nodes.systems.sampling.step_errors import changes, unknown_parts, whiten
from sysid_nodes.systems.sampling.unknowns import Unknowns

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class WalkInformation:
    """Knowledge of K parameters from motion.

    Attributes:
        information: (..., K, K).
        pull: (..., K) on the estimate, by what the step's size may do to all clips alike.
    """

    information: Array
    pull: Array

    @classmethod
    def without_pull(cls, information: Array) -> WalkInformation:
        """Of motion (K, K) that errors of the simulations leave alone."""
        return cls(information, np.zeros(len(information)))

    def __add__(self, other: WalkInformation) -> WalkInformation:
        return WalkInformation(self.information + other.information, self.pull + other.pull)

    def times(self, factor: float) -> WalkInformation:
        """So much of the same motion."""
        return WalkInformation(factor * self.information, factor * self.pull)

    def __getitem__(self, k: int) -> WalkInformation:
        return WalkInformation(self.information[k], self.pull[k])


def simulated_log(states: Array, targets: Array, step: float, pose_rate: float) -> MotionLog:
    """Walks (B, T + 1, nq + nv) with set-points (B, T, n), one after the other, as perfect sensors would have them."""
    n = targets.shape[2]
    flat = drift(states[:, :-1], -0.5 * step).reshape(-1, states.shape[2])
    t = np.arange(len(flat), dtype=np.float64) * step
    every = max(round(1.0 / pose_rate / step), 1)
    return MotionLog(
        t=t,
        step=step,
        q=flat[:, 7 : 7 + n],
        w=flat[:, 13 + n :],
        torque=None,
        target=targets.reshape(-1, n),
        up=vertical(flat[:, 3:7]),
        gyro=flat[:, 10 + n : 13 + n],
        position=flat[:, :3],
        rotation=flat[:, 3:7],
        posed=np.arange(len(flat)) % every == 0,
        usable=np.ones(len(flat), dtype=bool),
    )


def clip_information(
    states: Array,
    targets: Array,
    step: float,
    pose_rate: float,
    unknowns: Unknowns,
    noise: NoiseConfig,
    simulator: Simulator,
    others: Others,
    vector: Array,
    length: int,
    clips: int,
) -> WalkInformation:
    """The mean that a clip of each of B walks tells.

    Args:
        states, targets, step, pose_rate: as of `simulated_log`.
        others: simulations in half and in a quarter of the step.
        vector: (K,) parameters that the walks were simulated with.
        length: instants of a clip.
        clips: of each walk, evenly spread.
    """
    count, instants = targets.shape[:2]
    log = simulated_log(states, targets, step, pose_rate)
    places = np.linspace(0, instants - length - 1, clips).astype(np.int64)
    first = (instants * np.arange(count)[:, None] + places).ravel()
    guess = states[:, places].reshape(len(first), -1)
    problem = ClipProblem(log, noise, unknowns, simulator, first, length, guess)
    start, known = problem.start(first)
    found = problem.rollout(vector, first, start)
    parts = (found.by_parameters, found.by_start, found.residual[..., None])
    columns = np.concatenate([part.reshape(len(first), -1, part.shape[2]) for part in parts], axis=2)
    half, quarter = (replace(problem, simulator=other).residuals(vector) for other in (others.finer, others.finest))
    rough = unknown_parts(*changes(columns[..., -1], half, quarter))
    columns[..., -1] = rough[0]  # residuals of a clip that is read without noise are none
    columns = whiten(columns, rough)
    told, by_start = np.delete(columns, np.s_[len(vector) : -1], axis=2), columns[..., len(vector) : -1]
    across = np.swapaxes(by_start, 1, 2)
    square = across @ by_start + np.diag(known) + 1e-9 * np.eye(len(known))
    # Of parameters and of the pull, with starts that follow.
    left = np.swapaxes(told[..., :-1], 1, 2) @ (told - by_start @ np.linalg.solve(square, across @ told))
    left = np.where(np.isfinite(left).all(axis=(1, 2), keepdims=True), left, 0.0)
    left = left.reshape(count, clips, *left.shape[1:]).mean(axis=1)
    return WalkInformation(left[..., :-1], left[..., -1])
