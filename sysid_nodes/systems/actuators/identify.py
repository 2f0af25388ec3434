# SPDX-License-Identifier: Apache-2.0
"""From a log to the actuators of a robot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.results.actuators import ActuatorEstimate, ActuatorResult, ActuatorStatus, JointActuator
from sysid_nodes.robots import Robot
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.fit import JointFit, fit_joint, known_law
from sysid_nodes.systems.actuators.judgement import find_impossible, judge
from sysid_nodes.systems.actuators.log_checks import check_motions
from sysid_nodes.systems.actuators.objection import Objection, describe_impossible, find_objection, fit_with_lead
from sysid_nodes.systems.actuators.preparation import JointMotion, prepare
from sysid_nodes.systems.actuators.replay import replay_error, replay_joint
from sysid_nodes.systems.actuators.strength import (
    count_strength,
    describe_common_strength,
    describe_doubt,
    fit_with_gain,
)

Array = npt.NDArray[np.float64]

_WORKERS = 2


def identify_actuators(
    log: ActuatorLog,
    robot: Robot,
    config: ActuatorConfig,
    *,
    start: Sequence[Array] = (),
    progress: Callable[[str], None] | None = None,
) -> ActuatorResult:
    """Identifies every joint.

    Args:
        log: commands and encoders of all the robot's joints.
        robot: its rigid bodies; a floating base is taken as held upright.
        config: what to fit and how.
        start: laws of the joints that are nearly right, from which the last horizon alone is solved.
        progress: called with each joint's name when it is done.

    Raises:
        LogError: the log lacks joints or contradicts itself, see `check_motions`.
        ExcitationError: it is too short or moves too little.
        ConfigError: the drives' gains are not known.
    """
    if start:
        config = replace(config, shooting=replace(config.shooting, horizons=config.shooting.horizons[-1:]))
    motions = prepare(log, robot, config)
    doubts = list(check_motions(log, motions, config))

    def fit(item: tuple[int, JointMotion]) -> _FittedJoint:
        j, motion = item
        found = _identify_joint(motion, start[j] if start else known_law(config, j), config)
        if progress is not None:
            progress(motion.name)
        return found

    with ThreadPoolExecutor(_WORKERS) as pool:
        fitted = list(pool.map(fit, enumerate(motions)))
        common, refuted = _describe_strength(fitted, config, pool)
    joints = tuple(own.joint for own in fitted)
    contradictions = _find_contradictions([own.objection for own in fitted], common if refuted else "")
    doubts += [own.objection.text for own in fitted if own.objection.text and not own.objection.refutes]
    if not contradictions:
        doubts += _describe_strength_doubts(fitted, common)
    if motions[0].open_loop and any(joint.parameter("gain").identifiable for joint in joints):
        doubts.append("gains are of drive, gear and description together; their sigmas count the motion alone")
    if contradictions:
        joints = tuple(
            own.joint if own.objection.text else _without_values(own.joint, contradictions[0]) for own in fitted
        )
    elif lead := _describe_lead(fitted):
        doubts.append(lead)
        joints = tuple(_without_values(joint, lead, only="delay") for joint in joints)
    samples = int(motions[0].measured.sum())
    duration = float(motions[0].t[-1] - motions[0].t[0])
    findings = (*contradictions, *log.notes, *doubts)
    return ActuatorResult(_judge_status(joints, contradictions), findings, joints, samples, duration)


class _FittedJoint(NamedTuple):
    """Attributes: joint, its result; objection, what its motion says against the law or the drive's stated strength;
    fit."""

    joint: JointActuator
    objection: Objection
    fit: JointFit


def _judge_status(joints: Sequence[JointActuator], contradictions: Sequence[str]) -> ActuatorStatus:
    if contradictions:
        return ActuatorStatus.CONTRADICTION
    told = all(p.identifiable for joint in joints for p in joint.parameters)
    return ActuatorStatus.IDENTIFIED if told else ActuatorStatus.PARTIAL


def _describe_strength_doubts(fitted: Sequence[_FittedJoint], common: str) -> list[str]:
    """Sentences on drives whose strength may be other than stated: of all together, then of each without another."""
    doubts = [common] if common else []
    for own in fitted:
        if own.objection.gained is not None and not own.objection.text:
            doubts.append(describe_doubt(own.fit, own.objection.gained))
    return doubts


def _describe_lead(fitted: Sequence[_FittedJoint]) -> str:
    """A sentence if a joint surely moves before its command; empty where none does."""
    first = max(fitted, key=lambda own: own.objection.lead)
    if first.objection.lead <= 0.0:
        return ""
    return (
        f"'{first.joint.name}' moves {1e3 * first.objection.lead:.1f} ms before its command: stamps are of two clocks, "
        "and no joint's delay can be told"
    )


def _find_contradictions(found: Sequence[Objection], common: str) -> list[str]:
    """Contradictions of the stated gains, the clock or the law, the gravest first.

    Args:
        found: objections of all joints.
        common: that of all drives together to their stated gains; empty where there is none.
    """
    refuting = sorted((objection for objection in found if objection.refutes), key=lambda one: not one.names_cause)
    contradictions = [objection.text for objection in refuting]
    if common and not any(objection.names_cause for objection in refuting):
        contradictions.insert(0, common)
    if not contradictions and (impossible := describe_impossible(found)):
        contradictions.append(impossible)
    return contradictions


def _describe_strength(
    fitted: Sequence[_FittedJoint], config: ActuatorConfig, pool: ThreadPoolExecutor
) -> tuple[str, bool]:
    """Objection of all drives together to the stated gains, see `describe_common_strength`.

    Nothing where no single one objects.
    """
    if not any(own.objection.gained is not None for own in fitted):
        return "", False

    def free_gain(own: _FittedJoint) -> JointFit:
        return fit_with_gain(own.fit, config) if own.objection.gained is None else own.objection.gained

    usable = [own for own in fitted if own.fit.solution.status.converged and "gain" not in own.fit.problem.names]
    return describe_common_strength(list(pool.map(free_gain, usable)), config)


def _identify_joint(motion: JointMotion, law: Array, config: ActuatorConfig) -> _FittedJoint:
    names = config.fitted.open_names if motion.open_loop else config.fitted.names
    fit = fit_joint(motion, law, config, names)
    replay = replay_error(motion, replay_joint(motion, fit.law, config))
    travel = _driven_travel(fit) if motion.open_loop else float(np.std(motion.q))
    freed = fit_with_lead(fit, replay.rmse, config)
    objection = find_objection(fit, freed, replay.rmse, travel, config)
    judged = freed or (fit if objection.gained is None else count_strength(fit, objection.gained))
    parameters = judge(judged, config)
    if not motion.open_loop:
        objection = replace(objection, impossible=find_impossible(judged))
    if objection.text:
        parameters = tuple(_withhold(p, objection.text) for p in parameters)
    converged = fit.solution.status.converged
    joint = JointActuator(motion.name, fit.before, fit.verdict, parameters, replay, travel, converged, fit.law)
    return _FittedJoint(joint, objection, fit)


def _driven_travel(fit: JointFit) -> float:
    """Distance that torques move a free joint by within a segment, beyond its speed at the start: RMS [rad]."""
    motion = fit.problem.motion
    first = fit.solution.first
    own = np.repeat(first, np.diff(np.append(first, len(motion.t))))
    straight = motion.smooth[own] + motion.velocity[own] * (motion.t - motion.t[own])
    return float(np.sqrt(np.mean((motion.smooth - straight) ** 2)))


def _without_values(joint: JointActuator, reason: str, *, only: str = "") -> JointActuator:
    """The joint, but nothing is claimed of its parameters, or of one."""
    kept = tuple(p if only not in ("", p.name) else _withhold(p, reason) for p in joint.parameters)
    return replace(joint, parameters=kept)


def _withhold(parameter: ActuatorEstimate, reason: str) -> ActuatorEstimate:
    return ActuatorEstimate(parameter.name, parameter.unit, None, None, -np.inf, np.inf, reason)
