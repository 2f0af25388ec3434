# SPDX-License-Identifier: Apache-2.0
"""From a log to the actuators of a robot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.models.actuator import INDEX, PARAMETERS
from sysid_nodes.results.actuators import ActuatorEstimate, ActuatorResult, ActuatorStatus, JointActuator
from sysid_nodes.robots import Robot
from sysid_nodes.solvers.shooting import interval
from sysid_nodes.solvers.shooting.normal_equations import assemble
from sysid_nodes.solvers.shooting.problem import Gaussian
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.fit import JointFit, fit_joint, known_law
from sysid_nodes.systems.actuators.judgement import judge
from sysid_nodes.systems.actuators.log_checks import check_motions
from sysid_nodes.systems.actuators.preparation import JointMotion, prepare
from sysid_nodes.systems.actuators.replay import replay_error, replay_joint

Array = npt.NDArray[np.float64]

_WORKERS = 2
_PROMISE = 0.25
"""Share of the cost that a free gain must promise to take off: half the error would be three quarters."""
_BETTER = 0.5
"""Replay error with a free gain, relative to that without, from which a gain off its stated value is believed."""
_OWN = 0.2
"""Torque of a body, relative to the effort, below which a free joint says nothing of the effort's scale."""


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

    def one(item: tuple[int, JointMotion]) -> tuple[JointActuator, _Objection]:
        j, motion = item
        found = _joint(motion, start[j] if start else known_law(config, j), config)
        if progress is not None:
            progress(item[1].name)
        return found

    with ThreadPoolExecutor(_WORKERS) as pool:
        found = list(pool.map(one, enumerate(motions)))
    joints = tuple(joint for joint, _ in found)
    refuting = sorted((objection for _, objection in found if objection.refutes), key=lambda one: not one.names_cause)
    contradictions = [objection.text for objection in refuting]
    doubts += [objection.text for _, objection in found if objection.text and not objection.refutes]
    if contradictions:
        status = ActuatorStatus.CONTRADICTION
    elif all(p.identifiable for joint in joints for p in joint.parameters):
        status = ActuatorStatus.IDENTIFIED
    else:
        status = ActuatorStatus.PARTIAL
    samples = int(motions[0].measured.sum())
    duration = float(motions[0].t[-1] - motions[0].t[0])
    return ActuatorResult(status, (*contradictions, *log.notes, *doubts), joints, samples, duration)


@dataclass(frozen=True)
class _Objection:
    """Reason to claim nothing of a joint; its text is empty where nothing speaks against it.

    Attributes:
        text: in words.
        refutes: whether the log contradicts what is stated, or else does not tell whether it does.
        names_cause: whether it says what is wrong, and not only that something is.
    """

    text: str = ""
    refutes: bool = False
    names_cause: bool = False


def _joint(motion: JointMotion, law: Array, config: ActuatorConfig) -> tuple[JointActuator, _Objection]:
    """A joint's result, and what its motion says against the law or the drive's stated strength."""
    names = config.fitted.open_names if motion.open_loop else config.fitted.names
    fit = fit_joint(motion, law, config, names)
    if motion.open_loop:
        replay, travel = replay_error(motion, motion.q + fit.solution.residual[:, 0]), _driven_travel(fit)
    else:
        replay, travel = replay_error(motion, replay_joint(motion, fit.law, config)), float(np.std(motion.q))
    objection = _objection(fit, replay.rmse, travel, config)
    parameters = judge(fit, config)
    if objection.text:
        parameters = tuple(_withheld(p, objection.text) for p in parameters)
    return (
        JointActuator(
            motion.name, fit.before, fit.verdict, parameters, replay, travel, fit.solution.status.converged, fit.law
        ),
        objection,
    )


def _driven_travel(fit: JointFit) -> float:
    """Distance that torques move a free joint by within a segment, beyond its speed at the start: RMS [rad]."""
    motion = fit.problem.motion
    first = fit.solution.first
    own = np.repeat(first, np.diff(np.append(first, len(motion.t))))
    straight = motion.smooth[own] + motion.velocity[own] * (motion.t - motion.t[own])
    return float(np.sqrt(np.mean((motion.smooth - straight) ** 2)))


def _withheld(parameter: ActuatorEstimate, reason: str) -> ActuatorEstimate:
    return ActuatorEstimate(parameter.name, parameter.unit, None, None, -np.inf, np.inf, reason)


def _objection(fit: JointFit, rmse: float, travel: float, config: ActuatorConfig) -> _Objection:
    """Objection of the motion to the law, or to what is stated of the drive."""
    motion, verdict = fit.problem.motion, config.verdict
    if motion.command_torque is not None and motion.open_loop:
        share = float(np.std(motion.torque) / max(float(np.std(motion.command_torque.at(motion.t))), 1e-12))
        if share < _OWN:
            return _Objection(
                f"the body of '{motion.name}' takes {100.0 * share:.0f} % of its efforts, friction and armature the "
                "rest: how strong the drive is, and with it all else, this motion does not tell"
            )
    left = _Objection()
    if rmse > verdict.unexplained * travel:
        left = _Objection(_describe_residual(motion, rmse, travel), refutes=True)
    told = "efforts" if motion.open_loop else "command"
    if "delay" in fit.problem.names and _surely_outside(fit, "delay", -np.inf, verdict.longest_delay):
        delay = 1e3 * float(fit.law[INDEX["delay"]])
        text = f"'{motion.name}' follows its {told} by {delay:.0f} ms; are their stamps of one clock?"
        return _Objection(text, refutes=True, names_cause=True)
    if "gain" in fit.problem.names:
        gained = fit
    else:
        names = tuple(p.name for p in PARAMETERS if p.name in (*fit.problem.names, "gain"))
        if not left.text and not _may_matter(fit, names):
            return left
        if left.text:  # where the fit ended is nowhere near: anew, from short segments on
            gained = fit_joint(motion, fit.problem.law, config, names)
        else:
            longest = replace(config.shooting, horizons=config.shooting.horizons[-1:])  # to begin where the fit ended
            gained = fit_joint(motion, fit.law, replace(config, shooting=longest), names)
    gain = float(gained.law[INDEX["gain"]])
    error = replay_error(motion, replay_joint(motion, gained.law, config)).rmse
    if gained is not fit and error >= _BETTER * rmse:
        return left
    strong = f"{gain:.3g} times as strong as its {'efforts say' if motion.open_loop else 'stated gains'}"
    if gained.solution.status.converged and _surely_outside(
        gained, "gain", 1.0 / verdict.gain_factor, verdict.gain_factor
    ):
        text = f"the drive of '{motion.name}' is {strong}; are their units right?"
        return _Objection(text, refutes=True, names_cause=True)
    if left.text or gained is fit or 1.0 / verdict.gain_factor <= gain <= verdict.gain_factor:
        return left
    return _Objection(
        f"a drive {strong} explains how '{motion.name}' moved twice as well, but so may friction that the law lacks: "
        "this motion does not tell which"
    )


def _surely_outside(fit: JointFit, name: str, lower: float, upper: float) -> bool:
    """Whether all of a parameter's 95 % interval is outside of a range."""
    k = fit.problem.names.index(name)
    mean, sigma, freedom = float(fit.parameters[k]), float(fit.covariance.sigma[k]), float(fit.covariance.freedom[k])
    low, high = interval(mean, sigma, freedom, -np.inf, np.inf)
    return high < lower or low > upper


def _may_matter(fit: JointFit, names: tuple[str, ...]) -> bool:
    """Whether a Gauss-Newton step with more parameters promises enough to look closer."""
    problem, solution = fit.problem.with_law(fit.law, *names), fit.solution
    parameters, (guess, information) = fit.law[problem.active], problem.start(solution.first)
    rollout = problem.rollout(parameters, solution.first, solution.start)
    nothing = Gaussian.nothing(len(names))
    equations = assemble(
        rollout, solution.first, parameters, nothing, solution.start - guess, information, solution.loss
    )
    infinite, every = np.full(len(names), np.inf), np.ones(len(names), dtype=np.bool_)
    return equations.step(0.0, parameters, -infinite, infinite, every).decrease > _PROMISE * equations.cost


def _describe_residual(motion: JointMotion, rmse: float, travel: float) -> str:
    left = f"{1e3 * rmse:.1f} mrad of the {1e3 * travel:.0f} mrad RMS"
    return f"the law leaves {left} that '{motion.name}' moved by unexplained"
