# SPDX-License-Identifier: Apache-2.0
"""Identification of a whole log, its last part held out, or of one part after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ExcitationError, LogError
from sysid_nodes.results.bayesian import BayesianResult
from sysid_nodes.robots import Robot
from sysid_nodes.systems.bayesian.conclusion import conclude
from sysid_nodes.systems.bayesian.config import BayesianConfig
from sysid_nodes.systems.bayesian.contacts import refuse_contacts
from sysid_nodes.systems.bayesian.descent import Progress, fit, refit
from sysid_nodes.systems.bayesian.held_out import predict_held_out
from sysid_nodes.systems.bayesian.knowledge import Knowledge
from sysid_nodes.systems.bayesian.log import LEAST_STAGES, MechanismLog
from sysid_nodes.systems.bayesian.mechanism import build_mechanism
from sysid_nodes.systems.bayesian.stuck import MOVES, refuse_stuck_readings

Array = npt.NDArray[np.float64]


def identify(
    log: MechanismLog, robot: Robot, config: BayesianConfig, progress: Progress | None = None
) -> BayesianResult:
    """Posterior of a robot's constants from a log.

    Raises:
        ConfigError: a joint or link that is named does not exist.
        RobotError: the base floats, or a loop cannot be closed.
        LogError: the log is too short, holds neither torque nor power, or its loops cannot be closed.
        ExcitationError: nothing moves.
    """
    power = _check(log, robot, config.mechanism.passive)
    mechanism = build_mechanism(robot, config, power=power)
    mechanism.contacts.check(log.stages, log.step)
    # Contacts are stated in time from the log's beginning, and what comes after them hangs on them.
    split = log.stages - int(config.held_out * log.stages) * (not mechanism.contacts.touching)
    if split < LEAST_STAGES:
        raise LogError(f"leaves {split} stages to identify with, {LEAST_STAGES} are needed")
    fitted = fit(mechanism, log.part(0, split), config, progress)
    used, rest = fitted.problem.log, log.part(split, log.stages)
    result = conclude(fitted, None, config, None)[0]
    if mechanism.contacts.touching:
        return result
    x = mechanism.parameters.mean.copy()
    x[mechanism.parameters.free] = result.theta
    return replace(result, held_out=predict_held_out(mechanism, used, rest, x))


def identify_further(
    known: Knowledge | None, log: MechanismLog, robot: Robot, config: BayesianConfig
) -> tuple[BayesianResult, Knowledge | None]:
    """Posterior from a part of a log and all parts before it; its torques are predicted before they are used.

    Args:
        known: what the parts before say; None for the first.
        log: the part.
        robot: nominal.
        config: of everything.

    Returns:
        The posterior, and what is known then; None where the part is not to be built upon.

    Raises:
        ConfigError, RobotError, LogError, ExcitationError: as for `identify`.
    """
    refuse_contacts(config)
    power = _check(log, robot, config.mechanism.passive)
    if known is None:
        return conclude(fit(build_mechanism(robot, config, power=power), log, config, None), None, config, None)
    mechanism = known.mechanism
    if not mechanism.parameters.sigma[mechanism.parameters.idle]:
        log = replace(log, power=np.full_like(log.power, np.nan))  # the meter was not there at the beginning
    fitted = refit(known, log, config)
    return conclude(fitted, predict_held_out(mechanism, None, log, known.weighed, fitted.read), config, known)


def _check(log: MechanismLog, robot: Robot, passive: Sequence[str]) -> bool:
    """Whether a power meter was read.

    Raises:
        LogError: the log holds no position, or neither torque nor power, or readings were stuck.
        ExcitationError: nothing moves.
    """
    power = bool(np.isfinite(log.power).any())
    if not power and not np.isfinite(log.torque).any():
        raise LogError("holds neither torques nor power: nothing tells what the motion costs")
    read = np.any(np.isfinite(log.position), axis=0)
    if not read.any():
        raise LogError("holds no joint position")
    travel = np.nanmax(log.position[:, read], axis=0) - np.nanmin(log.position[:, read], axis=0)
    if float(travel.max()) < MOVES:
        raise ExcitationError("no joint moves")
    refuse_stuck_readings(log, robot.joint_names, [name not in passive for name in robot.joint_names])
    return power
