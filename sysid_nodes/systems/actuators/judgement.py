# SPDX-License-Identifier: Apache-2.0
"""From a fit to what may be claimed of each parameter.

A parameter counts as identified where its 95 % interval is narrow, relative to its value or to what it acts beside.
What a bound holds is claimed only where the bound is nature's (no negative friction)
and the interval beside it is narrow; a drive's gain at the end of its range is no finding.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.actuator import INDEX, ActuatorParameter
from sysid_nodes.results.actuators import ActuatorEstimate
from sysid_nodes.solvers.shooting import bounded_interval
from sysid_nodes.systems.actuators.advice import Advice, advise
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.fit import JointFit, parameters_of

Array = npt.NDArray[np.float64]


def judge(fit: JointFit, config: ActuatorConfig) -> tuple[ActuatorEstimate, ...]:
    """Verdict on each fitted parameter."""
    sizes = yardsticks(fit)
    sigmas = fit.covariance.sigma
    advice: Advice | None = None
    found = []
    for k, parameter in enumerate(parameters_of(fit.problem.names)):
        mean, sigma = float(fit.parameters[k]), float(sigmas[k])
        value = float(np.clip(mean, parameter.lower, parameter.upper))
        low, high = bounded_interval(mean, sigma, float(fit.covariance.freedom[k]), parameter.lower, parameter.upper)
        half = 0.5 * (high - low)
        enough = max(config.verdict.relative * abs(value), config.verdict.share * sizes[k])
        beyond = bounded_interval(mean, sigma, float(fit.covariance.freedom[k]), -np.inf, np.inf)[1] < parameter.lower
        if beyond:
            reason = _describe_bound(parameter, mean)
            found.append(ActuatorEstimate(parameter.name, parameter.unit, None, None, -np.inf, np.inf, reason))
            continue
        reason = _reason(fit, parameter, k, half, value, half <= enough)
        if reason and not fit.problem.motion.open_loop:  # what torques would do to a free joint nobody can foresee
            advice = advice or advise(fit)
        telling = advice.telling_motion(k, enough) if advice and reason and fit.solution.free[k] else ""
        known = sigma if value == mean else None
        told = None if reason else value
        found.append(ActuatorEstimate(parameter.name, parameter.unit, told, known, low, high, reason, telling))
    return _refute_others(tuple(found), find_impossible(fit))


def find_impossible(fit: JointFit) -> str:
    """Name of a parameter, other than the delay, that the motion surely (95 %) asks to be less than it can be."""
    for k, parameter in enumerate(parameters_of(fit.problem.names)):
        mean, sigma = float(fit.parameters[k]), float(fit.covariance.sigma[k])
        high = bounded_interval(mean, sigma, float(fit.covariance.freedom[k]), -np.inf, np.inf)[1]
        if parameter.name != "delay" and high < parameter.lower:
            return parameter.name
    return ""


def _refute_others(found: tuple[ActuatorEstimate, ...], impossible: str) -> tuple[ActuatorEstimate, ...]:
    """Withdraws a joint's other parameters where one is impossible: what is at work there is at work in them, too."""
    if not impossible:
        return found
    reason = f"{impossible} comes out below its physical bound: something else than the law is at work"
    return tuple(
        row if row.name == impossible else ActuatorEstimate(row.name, row.unit, None, None, -np.inf, np.inf, reason)
        for row in found
    )


def yardsticks(fit: JointFit) -> Array:
    """(K,) what each parameter acts beside: one that is small against it hardly matters, whatever its relative error.

    Armature acts beside the body's inertia, viscous friction beside the drive's damping, dry friction beside the
    drive's torque (RMS), a delay beside the time in which the drive moves the joint, a bias beside the motion (RMS).
    None depends on how well this motion shows the parameter.
    """
    motion, law = fit.problem.motion, fit.law
    inertia = float(np.mean(motion.inertia)) + law[INDEX["armature"]]
    travel = float(np.std(motion.q))
    drive = motion.stiffness * (motion.command.at(motion.t) - motion.q) - motion.damping * motion.velocity
    if motion.command_torque is not None:
        drive = drive + motion.command_torque.at(motion.t)
    torque = float(np.sqrt(np.mean(drive**2)))
    sizes = {
        "armature": inertia,
        "delay": float(np.sqrt(inertia / motion.stiffness)) if motion.stiffness > 0.0 else 0.0,
        "gain": 1.0,
        "encoder_bias": travel,
        "torque_offset": torque,
        "backlash": travel,
        "dead_zone": torque,
        "viscous": motion.damping,
        "stribeck": torque,
        "coulomb": torque,
        "load_friction": 1.0,
        "position_friction": torque / travel,
    }
    return np.array([sizes.get(name, 0.0) for name in fit.problem.names])


def _describe_bound(parameter: ActuatorParameter, mean: float) -> str:
    """Why a bound is no value: the motion surely asks for less, so that something else than the law is at work."""
    return f"the motion asks for {mean:.2g} {parameter.unit}, below its physical bound: something else is at work"


def _reason(fit: JointFit, parameter: ActuatorParameter, k: int, half: float, value: float, narrow: bool) -> str:
    if not fit.solution.status.converged:
        return f"the fit did not converge: {fit.solution.status.message}"
    if fit.solution.upper[k] or (fit.solution.lower[k] and not parameter.naturally_bounded):
        return f"the fit runs into the end of its range, {value:g}"
    if narrow:
        return ""
    size = f"known to ± {half:.2g} {parameter.unit} (95 %) only"
    if abs(value) > half:
        size = f"known to ± {100.0 * half / abs(value):.0f} % (95 %) only"
    if fit.doubt[k, k] > 0.5 * fit.covariance.matrix[k, k] > 0.0:
        return f"{size}: friction that the law lacks, or other bodies or gains than described, may be in it"
    if not np.isfinite(fit.covariance.matrix[k, k]):
        return "this motion does not show it: it could be anything"
    partner, correlation = fit.verdict.partner(parameter.name)
    if abs(correlation) > 0.8:
        return f"{size}: this motion trades it with {partner} (correlation {correlation:+.2f})"
    return f"{size}: this motion hardly shows it"
