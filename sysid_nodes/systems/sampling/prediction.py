# SPDX-License-Identifier: Apache-2.0
"""Open-loop prediction of recorded motion: how far simulations go astray (the paper's J_rpos, J_pja and J_rvel).

Clips are simulated from their measured start with the recorded set-points and with nothing of what is measured later.
Start states are the same for all robots that are compared; fitted to one of them they would favour it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import LogError
from sysid_nodes.robots import Robot
from sysid_nodes.systems.sampling.config import SamplingConfig
from sysid_nodes.systems.sampling.identify import cut_at_fall, prepare
from sysid_nodes.systems.sampling.log import MotionLog
from sysid_nodes.systems.sampling.problem import ClipProblem, place_clips

Array = npt.NDArray[np.float64]

ERRORS = ("root position", "joint angles", "root velocity")
"""Names of the errors; in m, rad (mean of the joints) and m/s."""

_EVERY = 0.02  # between two instants that are compared [s]
_RESAMPLES = 2000


@dataclass(frozen=True)
class Prediction:
    """Errors of M robots on C clips.

    Attributes:
        errors: (M, C, 3) means over each clip, of `ERRORS`.
        length: of the clips [s].
    """

    errors: Array
    length: float

    @property
    def means(self) -> Array:
        """(M, 3)."""
        return np.asarray(self.errors.mean(axis=1))

    def ratio(self, robot: int, other: int, rng: np.random.Generator) -> Array:
        """(3, 3) a robot's errors over another's, for each of `ERRORS`: ratio of the means, and its 95 % interval.

        By the bootstrap over clips; clips side by side may be correlated, and the interval is then too narrow.
        """
        picks = rng.integers(0, self.errors.shape[1], (_RESAMPLES, self.errors.shape[1]))
        own, others = (self.errors[k][picks].mean(axis=1) for k in (robot, other))
        ends = np.quantile(own / others, [0.025, 0.975], axis=0)
        return np.column_stack([self.means[robot] / self.means[other], *ends])


def predict(
    log: MotionLog, robot: Robot, config: SamplingConfig, vectors: Sequence[Array], length: float, count: int
) -> Prediction:
    """Simulates clips of a log with several robots.

    Args:
        log: that was not identified from.
        robot: nominal.
        vectors: (K,) of its unknowns, one for each robot.
        length: of the clips [s].
        count: of clips, at most as many as fit side by side.

    Raises:
        LogError: there is no room for a clip, or the robot falls at once.
        ConfigError, RobotError: see `prepare`.
    """
    log = cut_at_fall(log)
    setting = prepare(log, robot, config)
    try:
        instants = round(length / config.step) + 1
        first = place_clips(log, instants, count, np.random.default_rng(config.seed))
        if not len(first):
            raise LogError(f"has no room for a clip of {length:g} s with all streams")
        guess = setting.guess.at(first)
        problem = ClipProblem(log, config.noise, setting.unknowns, setting.simulator, first, instants, guess)
        seen = np.arange(0, instants, max(round(_EVERY / config.step), 1))
        measured = setting.guess.at(problem.instants[:, seen].ravel()).reshape(len(first), len(seen), -1)
        none = np.zeros((len(first), problem.coordinates.size))
        found = [_errors(problem.states(vector, none)[:, seen], measured, robot.n) for vector in vectors]
        return Prediction(np.array(found), length)
    finally:
        setting.close()


def _errors(states: Array, measured: Array, n: int) -> Array:
    """(C, 3)."""
    off = states - measured
    parts = (
        np.linalg.norm(off[..., :3], axis=2),
        np.abs(off[..., 7 : 7 + n]).mean(axis=2),
        np.linalg.norm(off[..., 7 + n : 10 + n], axis=2),
    )
    return np.asarray(np.stack(parts, axis=-1).mean(axis=1))
