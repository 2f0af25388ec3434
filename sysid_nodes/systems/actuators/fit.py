# SPDX-License-Identifier: Apache-2.0
"""One joint's fit: multiple shooting, and what the motion tells of each parameter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.actuator import INDEX, PARAMETERS, ActuatorParameter, law_vector
from sysid_nodes.results.actuators import MotionVerdict
from sysid_nodes.solvers.shooting import Covariance, ShootingConfig, ShootingResult, shoot
from sysid_nodes.solvers.shooting.normal_equations import Equations, assemble
from sysid_nodes.solvers.shooting.problem import Gaussian, segments
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.joint_problem import JointProblem
from sysid_nodes.systems.actuators.nuisance import free_estimate
from sysid_nodes.systems.actuators.preparation import JointMotion

Array = npt.NDArray[np.float64]

_FEW = 3  # blocks: below, a log is cut into as many as it takes


@dataclass(frozen=True)
class JointFit:
    """A joint's fit.

    Attributes:
        problem: that was solved.
        solution: of it; the law that follows the motion best.
        parameters: (K,) estimates, free of what the law lacks and of bounds, see `free_estimate`.
        covariance: of these.
        doubt: (K, K) the part of it that bodies and friction other than assumed make.
        before, verdict: what the motion tells, at the start values and at the solution.
    """

    problem: JointProblem
    solution: ShootingResult
    parameters: Array
    covariance: Covariance
    doubt: Array
    before: MotionVerdict
    verdict: MotionVerdict

    @property
    def law(self) -> Array:
        """(15,) the law that follows the motion best."""
        return self.problem.with_parameters(self.solution.parameters)


def parameters_of(names: tuple[str, ...]) -> tuple[ActuatorParameter, ...]:
    """Fitted parameters by name."""
    return tuple(PARAMETERS[INDEX[name]] for name in names)


def known_law(config: ActuatorConfig, joint: int) -> Array:
    """(15,) what the configuration says of a joint's law before anything is fitted."""
    values = {"stribeck_speed": config.law.stribeck_speed}
    for name in ("backlash", "dead_zone", "torque_limit", "no_load_speed"):
        if given := getattr(config.law, name):
            values[name] = given[joint if len(given) > 1 else 0]
    return law_vector(values)


def horizons_of(motion: JointMotion, config: ActuatorConfig) -> tuple[float, ...]:
    """Lengths of the segments [s]."""
    return config.shooting.open_horizons if motion.open_loop else config.shooting.horizons


def fit_joint(
    motion: JointMotion,
    law: Array,
    config: ActuatorConfig,
    names: tuple[str, ...],
    *,
    most_lead: float = 0.0,
    progress: Callable[[int, float], None] | None = None,
) -> JointFit:
    """Fits parameters of a joint's law.

    Args:
        motion: of the joint.
        law: (15,) values of the other parameters.
        config: of the fit.
        names: of the parameters.
        most_lead: time by which the motion may come before its command, a delay below zero [s]. No drive does that:
            clocks that are apart do.
        progress: called after every iteration with samples a segment and cost.
    """
    problem = JointProblem(motion, config, law, names)
    fitted = parameters_of(names)
    dt = motion.step * motion.stride
    horizons = tuple(max(round(horizon / dt), 2) for horizon in horizons_of(motion, config))
    options = ShootingConfig(horizons, config.shooting.iterations, robust=config.shooting.robust)
    guess = np.array([_guess(p, law) for p in fitted])
    before = motion_verdict(problem, guess, horizons[-1])
    lower, upper = np.array([p.lower for p in fitted]), np.array([p.upper for p in fitted])
    lower[[name == "delay" for name in names]] -= most_lead
    solution = shoot(problem, guess, lower, upper, options, progress=progress)
    block = min(max(round(config.shooting.block / dt), 2), problem.samples // _FEW)
    found = free_estimate(problem, solution, block)
    return JointFit(
        problem,
        solution,
        found.parameters,
        found.covariance,
        found.doubt,
        before,
        _verdict(names, solution.equations),
    )


def motion_verdict(problem: JointProblem, parameters: Array, horizon: int) -> MotionVerdict:
    """Information of a motion on the parameters, at given values and segments of `horizon` samples."""
    first = segments(problem.samples, horizon, problem.breaks)
    start, information = problem.start(first)
    rollout = problem.rollout(parameters, first, start)
    nothing = Gaussian.uninformative(len(parameters))
    return _verdict(problem.names, assemble(rollout, first, parameters, nothing, 0.0 * start, information, None))


def _guess(parameter: ActuatorParameter, law: Array) -> float:
    known = float(law[INDEX[parameter.name]])
    return known if np.isfinite(known) and known != parameter.neutral else parameter.start


def _verdict(names: tuple[str, ...], equations: Equations) -> MotionVerdict:
    hessian = equations.reduced_hessian
    scale = np.sqrt(np.maximum(np.diag(hessian), 1e-300))
    values, vectors = np.linalg.eigh(hessian / np.outer(scale, scale))
    values = np.maximum(values, 1e-16)
    inverse = (vectors / values) @ vectors.T
    spread = np.sqrt(np.diag(inverse))
    return MotionVerdict(names, float(np.sqrt(values[-1] / values[0])), inverse / np.outer(spread, spread))
