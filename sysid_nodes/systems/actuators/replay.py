# SPDX-License-Identifier: Apache-2.0
"""Single-shot replay: from the first sample to the last by the commands alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.results.actuators import ReplayError
from sysid_nodes.robots import Robot
from sysid_nodes.solvers.shooting.problem import segments
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.joint_problem import JointProblem
from sysid_nodes.systems.actuators.preparation import JointMotion, prepare

Array = npt.NDArray[np.float64]


def replay_joint(motion: JointMotion, law: Array, config: ActuatorConfig) -> Array:
    """(S,) positions [rad] of one rollout from the first sample, anew only after a hole in the log.

    A joint that is driven by torques alone, which nothing holds where it should be, starts anew with every segment.
    """
    problem = JointProblem(motion, config, law, ())
    length = len(motion.t)
    if motion.open_loop:
        length = max(round(config.shooting.open_horizons[-1] / (motion.step * motion.stride)), 2)
    first = segments(len(motion.t), length, motion.breaks)
    return problem.simulate(np.zeros(0), first, problem.start(first)[0]).position


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
