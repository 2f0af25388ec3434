# SPDX-License-Identifier: Apache-2.0
"""Fisher information of a walk that has not taken place: that of the identification's own residuals on its clips.

The walk is simulated, read by perfect sensors at the real ones' instants, and cut into clips; derivatives are the
identification's (`problem`), with the start states eliminated clip by clip:

    F = sum_clips (J' J - J' S (S' S + L)^-1 S' J),

J and S the derivatives of a clip's whitened residuals by parameters and by its start, and L what a guessed start knows.
The same clips in half the step (`gauss_newton.Others`) leave residuals r, which pull at the estimate by

    g = sum_clips g_c,   g_c = (J' - J' S (S' S + L)^-1 S') r:

what these have in common does not become less with more of the same motion, as noise does. What differs from clip to
clip does, yet it is no part of F: sum_clips g_c g_c' is what the sandwich of the identification will show of it. Of a
robot that hops it leaves several times what noise does. No clip weighs less for it (`clip_loss`): the identification
finds starts with which clips fit to the noise nearly, and is pulled in full. How gears hold is told by every log, and
no error of a walk.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.rollouts import Simulator
from sysid_nodes.rollouts.rotations import drift, vertical
from sysid_nodes.systems.sampling.config import NoiseConfig
from sysid_nodes.systems.sampling.log import MotionLog
from sysid_nodes.systems.sampling.problem import ClipProblem
from sysid_nodes.systems.sampling.unknowns import Unknowns

Array = npt.NDArray[np.float64]

_FAR = 4.0  # residual from which on an identification lets it pull no harder (`horizons.robust`)


@dataclass(frozen=True)
class WalkInformation:
    """Knowledge of K parameters from motion.

    Attributes:
        information: (..., K, K).
        pull: (..., K) on the estimate, by what half a step changes.
        scatter: (..., K, K) sum of the squares of single clips' pulls.
    """

    information: Array
    pull: Array
    scatter: Array

    @classmethod
    def without_pull(cls, information: Array) -> WalkInformation:
        """Of motion (K, K) that errors of the simulations leave alone."""
        return cls(information, np.zeros(len(information)), np.zeros_like(information))

    def __add__(self, other: WalkInformation) -> WalkInformation:
        return WalkInformation(
            self.information + other.information, self.pull + other.pull, self.scatter + other.scatter
        )

    def times(self, factor: float) -> WalkInformation:
        """So much of the same motion."""
        return WalkInformation(factor * self.information, factor * self.pull, factor * self.scatter)

    def __getitem__(self, k: int) -> WalkInformation:
        return WalkInformation(self.information[k], self.pull[k], self.scatter[k])


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
    finer: Simulator,
    vector: Array,
    length: int,
    clips: int,
) -> WalkInformation:
    """The mean that a clip of each of B walks tells.

    Args:
        states, targets, step, pose_rate: as of `simulated_log`.
        finer: of half the step.
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
    by_parameters = found.by_parameters.reshape(len(first), -1, len(vector))
    by_start = found.by_start.reshape(len(first), -1, start.shape[1])
    square = np.swapaxes(by_start, 1, 2) @ by_start + np.diag(known) + 1e-9 * np.eye(len(known))

    def follow(columns: Array) -> Array:
        """Columns (C, R, m) of residuals less what starts that follow take of them."""
        return columns - by_start @ np.linalg.solve(square, np.swapaxes(by_start, 1, 2) @ columns)

    slopes, own = follow(by_parameters), found.residual.reshape(len(first), -1)
    rest = np.clip(np.nan_to_num(replace(problem, simulator=finer).residuals(vector) - own, nan=0.0), -_FAR, _FAR)
    information = np.swapaxes(by_parameters, 1, 2) @ slopes
    pull = np.einsum("crk,cr->ck", slopes, rest)
    finite = np.asarray(np.isfinite(information).all(axis=(1, 2)))
    information, pull = np.where(finite[:, None, None], information, 0.0), np.where(finite[:, None], pull, 0.0)
    parts = (information, pull, np.einsum("ck,cl->ckl", pull, pull))
    return WalkInformation(*(part.reshape(count, clips, *part.shape[1:]).mean(axis=1) for part in parts))
