# SPDX-License-Identifier: Apache-2.0
"""The motion that tells given parameters of a robot's drives best, of a chirp and many others.

Each motion is rolled out with a law of each joint: the robot's stated motor constants, and gains as stated or, where
nobody states them, such that the joint follows critically damped at 5 Hz. A motion's score for a joint is the mean of
log sigma over the parameters asked for, all fitted together (the diagonal of the inverse information: A-optimal in
logarithms, so that units do not matter). Joints choose for themselves, from the chirp on, so that no joint's score is
worse than with the chirp of the same duration; a single parameter's sigma may be, for the others' good. Who wants one
parameter asks for it alone. What the law lacks is not looked at.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.actuator import INDEX, unknown_parameter
from sysid_nodes.robots import Robot
from sysid_nodes.solvers.shooting.normal_equations import assemble
from sysid_nodes.solvers.shooting.problem import Gaussian
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.excitation import Excitation, ExcitationConfig, candidates
from sysid_nodes.systems.actuators.fit import known_law, parameters_of
from sysid_nodes.systems.actuators.joint_problem import JointProblem
from sysid_nodes.systems.actuators.preparation import JointMotion, prepare

Array = npt.NDArray[np.float64]

_BANDWIDTH = 2.0 * np.pi * 5.0  # of drives whose gains nobody states [rad/s]
_UNKNOWN = 1e3  # log sigma of what a motion does not tell


def excite_best(config: ExcitationConfig, robot: Robot, middle: Array) -> Excitation:
    """The best motion about a posture, see the module.

    Args:
        config: which; of its motions, `draws` are looked at beside the chirp.
        robot: to be moved.
        middle: (n,) posture where it begins and ends [rad].

    Raises:
        ConfigError: as `excite`; gains or parameters that make no sense.
    """
    names, actuators = requested_parameters(config), _with_gains(config, robot, middle)
    motions = candidates(config, robot.limits, middle)
    best = first = next(motions)
    chirp = score = log_sigmas(best, robot, actuators, names).mean(axis=1)
    for motion in motions:
        told = log_sigmas(motion, robot, actuators, names).mean(axis=1)
        better = told < score
        score = np.where(better, told, score)
        best = Excitation(best.t, *(np.where(better, new, old) for new, old in zip(motion[1:], best[1:], strict=True)))
    # Joints were looked at beside other motions of the others; all together must be no worse, either.
    if (log_sigmas(best, robot, actuators, names).mean(axis=1) <= chirp).all():
        return best
    return first


def requested_parameters(config: ExcitationConfig) -> tuple[str, ...]:
    """Names of the parameters that the motion is to tell.

    Raises:
        ConfigError: an actuator has no such parameter.
    """
    names = tuple(word.strip() for word in config.parameters.split(",") if word.strip())
    for name in names:
        if name not in INDEX:
            raise unknown_parameter(name)
    return names or ActuatorConfig().fitted.names


def log_sigmas(motion: Excitation, robot: Robot, actuators: ActuatorConfig, names: tuple[str, ...]) -> Array:
    """(n, K) logarithms of what white noise of 1 rad would leave unknown of each joint's parameters."""
    log = ActuatorLog(robot.joint_names, motion.t, motion.q, motion.t, motion.q, None, None, None)
    found = []
    for j, own in enumerate(prepare(log, robot, actuators)):
        found.append(_log_sigmas(own, _law(robot, actuators, j), actuators, names))
    return np.array(found)


def _log_sigmas(motion: JointMotion, law: Array, actuators: ActuatorConfig, names: tuple[str, ...]) -> Array:
    problem, first = JointProblem(motion, actuators, law, names), np.zeros(1, dtype=np.int64)
    fitted = zip(problem.active, parameters_of(names), strict=True)
    guess = np.array([law[k] if np.isfinite(law[k]) else parameter.start for k, parameter in fitted])
    start, information = problem.start(first)
    rollout = problem.rollout(guess, first, start)
    nothing = Gaussian.uninformative(len(names))
    hessian = assemble(rollout, first, guess, nothing, 0.0 * start, information, None).reduced_hessian
    scale = np.sqrt(np.maximum(np.diag(hessian), 0.0))
    if not (scale > 0.0).all() or not np.isfinite(hessian).all():
        return np.where(scale > 0.0, -np.log(np.maximum(scale, 1e-300)), _UNKNOWN)
    values, vectors = np.linalg.eigh(hessian / np.outer(scale, scale))
    return np.asarray(0.5 * np.log((vectors**2 / np.maximum(values, 1e-14)).sum(axis=1)) - np.log(scale))


def _law(robot: Robot, actuators: ActuatorConfig, joint: int) -> Array:
    law, motor = known_law(actuators, joint), robot.motor
    for name in ("armature", "viscous", "coulomb"):
        stated = float(getattr(motor, name)[joint])
        law[INDEX[name]] = stated if stated > 0.0 else next(p.start for p in parameters_of((name,)))
    law[INDEX["delay"]] = parameters_of(("delay",))[0].start
    return law


def _with_gains(config: ExcitationConfig, robot: Robot, middle: Array) -> ActuatorConfig:
    """The configuration of a fit, with gains for every joint."""
    actuators = ActuatorConfig()
    stiffness, damping = config.stiffness, config.damping
    for name, given in (("stiffness", stiffness), ("damping", damping)):
        if len(given) not in (0, 1, robot.n):
            raise ConfigError(f"'{name}' must have 1 or {robot.n} values, got {len(given)}")
    if not stiffness or not damping:
        still = replace(actuators, law=replace(actuators.law, stiffness=(1.0,), damping=(1.0,)))
        t = np.arange(400) / 200.0
        at_rest = np.tile(middle, (len(t), 1)) + 1e-3 * np.sin(2.0 * np.pi * t)[:, None]
        log = ActuatorLog(robot.joint_names, t, at_rest, t, at_rest, None, None, None)
        law = [_law(robot, still, j)[INDEX["armature"]] for j in range(robot.n)]
        inertia = [
            float(np.mean(own.inertia)) + armature
            for own, armature in zip(prepare(log, robot, still), law, strict=True)
        ]
        stiffness = stiffness or tuple(x * _BANDWIDTH**2 for x in inertia)
        damping = damping or tuple(2.0 * x * _BANDWIDTH for x in inertia)
    return replace(actuators, law=replace(actuators.law, stiffness=stiffness, damping=damping))
