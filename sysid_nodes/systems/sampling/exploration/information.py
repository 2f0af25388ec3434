# SPDX-License-Identifier: Apache-2.0
"""Fisher information of a walk that has not taken place: that of the identification's own residuals on its clips.

The walk is simulated, read by perfect sensors at the real ones' instants, and cut into clips; derivatives are the
identification's (`problem`), with the start states eliminated clip by clip:

    F = sum_clips (J' J - J' S (S' S + L)^-1 S' J),

J and S the derivatives of a clip's whitened residuals by parameters and by its start, L what a guessed start knows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.rollouts import Simulator
from sysid_nodes.rollouts.rotations import vertical
from sysid_nodes.systems.sampling.config import NoiseConfig
from sysid_nodes.systems.sampling.log import MotionLog
from sysid_nodes.systems.sampling.problem import ClipProblem
from sysid_nodes.systems.sampling.residuals import instant_rates
from sysid_nodes.systems.sampling.unknowns import Unknowns

Array = npt.NDArray[np.float64]


def simulated_log(states: Array, targets: Array, step: float, pose_rate: float) -> MotionLog:
    """Walks (B, T + 1, nq + nv) with set-points (B, T, n), one after the other, as perfect sensors would have them."""
    n = targets.shape[2]
    flat, rates = (part[:, :-1].reshape(-1, part.shape[2]) for part in (states, instant_rates(states[..., 7 + n :])))
    t = np.arange(len(flat), dtype=np.float64) * step
    every = max(round(1.0 / pose_rate / step), 1)
    return MotionLog(
        t=t,
        step=step,
        q=flat[:, 7 : 7 + n],
        w=rates[:, 6:],
        torque=None,
        target=targets.reshape(-1, n),
        up=vertical(flat[:, 3:7]),
        gyro=rates[:, 3:6],
        position=flat[:, :3],
        rotation=flat[:, 3:7],
        posed=np.arange(len(flat)) % every == 0,
        usable=np.ones(len(flat), dtype=bool),
    )


def walks_information(
    states: Array,
    targets: Array,
    step: float,
    pose_rate: float,
    unknowns: Unknowns,
    noise: NoiseConfig,
    simulator: Simulator,
    vector: Array,
    length: int,
    clips: int,
) -> Array:
    """(B, K, K) mean information of a clip of each of B walks.

    Args:
        states, targets, step, pose_rate: as of `simulated_log`.
        unknowns, noise, simulator: of the identification.
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
    own = np.swapaxes(by_parameters, 1, 2) @ by_parameters
    mixed = np.swapaxes(by_start, 1, 2) @ by_parameters
    square = np.swapaxes(by_start, 1, 2) @ by_start + np.diag(known) + 1e-9 * np.eye(len(known))
    information = own - np.swapaxes(mixed, 1, 2) @ np.linalg.solve(square, mixed)
    finite = np.asarray(np.isfinite(information).all(axis=(1, 2)))
    information = np.where(finite[:, None, None], information, 0.0)
    return np.asarray(information.reshape(count, clips, len(vector), len(vector)).mean(axis=1))
