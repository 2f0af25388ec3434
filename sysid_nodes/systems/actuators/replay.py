# SPDX-License-Identifier: Apache-2.0
"""Replay by what was told alone: from the first sample to the last, or in pieces where that is torques."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.results.actuators import ReplayError
from sysid_nodes.robots import Robot
from sysid_nodes.solvers.shooting.normal_equations import assemble
from sysid_nodes.solvers.shooting.problem import Gaussian, segments
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.joint_problem import JointProblem
from sysid_nodes.systems.actuators.preparation import JointMotion, prepare

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_STEPS = 5  # towards the start states of segments; two are enough where no joint sticks


def replay_joint(motion: JointMotion, law: Array, config: ActuatorConfig) -> Array:
    """(S,) positions [rad] of one rollout from the first sample, anew only after a hole in the log.

    A joint that is driven by torques alone, which nothing holds where it should be, starts anew with every segment
    (`shooting.open_horizons`), from the state there that follows the segment best.
    """
    problem = JointProblem(motion, config, law, ())
    length = len(motion.t)
    if motion.open_loop:
        length = max(round(config.shooting.open_horizons[-1] / (motion.step * motion.stride)), 2)
    first = segments(len(motion.t), length, motion.breaks)
    start = _best_starts(problem, first) if motion.open_loop else problem.start(first)[0]
    return problem.simulate(np.zeros(0), first, start).position


def _best_starts(problem: JointProblem, first: IntArray) -> Array:
    """(G, 2) states [rad, rad/s] at the segments' first samples, fitted to what follows by Gauss-Newton steps."""
    nothing, free = np.zeros(0), np.zeros(0, dtype=np.bool_)
    guess, information = problem.start(first)
    best, least, start = guess, np.full(len(first), np.inf), guess
    for _ in range(_STEPS):
        rollout = problem.rollout(nothing, first, start)
        prior = Gaussian.uninformative(0)
        equations = assemble(rollout, first, nothing, prior, start - guess, information, None)
        better = equations.costs < least
        best, least = np.where(better[:, None], start, best), np.where(better, equations.costs, least)
        start = start + equations.step(0.0, nothing, nothing, nothing, free).start
    return best


def replay_error(motion: JointMotion, replayed: Array) -> ReplayError:
    """Of replayed positions (S,) where there was a measurement."""
    error = np.abs(replayed - motion.q)[motion.measured]
    return ReplayError(float(np.sqrt(np.mean(error**2))), float(np.mean(error)), float(error.max()))


def replay_log(
    log: ActuatorLog, robot: Robot, laws: Sequence[Array], config: ActuatorConfig
) -> tuple[tuple[JointMotion, Array, ReplayError], ...]:
    """Motion, replayed positions and error of each joint of another log.

    Raises:
        LogError, ExcitationError, ConfigError: see `prepare`.
    """
    found = []
    for motion, law in zip(prepare(log, robot, config), laws, strict=True):
        replayed = replay_joint(motion, law, config)
        found.append((motion, replayed, replay_error(motion, replayed)))
    return tuple(found)
