# SPDX-License-Identifier: Apache-2.0
"""One joint's fit: multiple shooting, and what the motion tells of each parameter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.actuator import INDEX, PARAMETERS, ActuatorParameter, law_vector
from sysid_nodes.results.actuators import MotionVerdict
from sysid_nodes.solvers.shooting import Covariance, ShootingConfig, ShootingResult, block_jackknife, shoot
from sysid_nodes.solvers.shooting.normal_equations import Equations, assemble
from sysid_nodes.solvers.shooting.problem import Gaussian, segments
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.doubts import doubt_covariance
from sysid_nodes.systems.actuators.joint_problem import JointProblem
from sysid_nodes.systems.actuators.preparation import JointMotion

Array = npt.NDArray[np.float64]

_FEW = 3  # blocks: below, a log is cut into as many as it takes


@dataclass(frozen=True)
class JointFit:
    """A joint's problem, its solution and the solution's covariance; `doubt` (K, K) is the part of it from `doubts`."""

    problem: JointProblem
    solution: ShootingResult
    covariance: Covariance
    doubt: Array
    before: MotionVerdict
    verdict: MotionVerdict

    @property
    def law(self) -> Array:
        """(12,) the fitted law."""
        return self.problem.with_parameters(self.solution.parameters)


def parameters_of(names: tuple[str, ...]) -> tuple[ActuatorParameter, ...]:
    """Fitted parameters by name."""
    return tuple(PARAMETERS[INDEX[name]] for name in names)


def known_law(config: ActuatorConfig, joint: int) -> Array:
    """(12,) what the configuration says of a joint's law before anything is fitted."""
    values = {"stribeck_speed": config.law.stribeck_speed}
    for name in ("torque_limit", "no_load_speed"):
        if given := getattr(config.law, name):
            values[name] = given[joint if len(given) > 1 else 0]
    return law_vector(values)


def fit_joint(
    motion: JointMotion,
    law: Array,
    config: ActuatorConfig,
    names: tuple[str, ...],
    *,
    progress: Callable[[int, float], None] | None = None,
) -> JointFit:
    """Fits parameters of a joint's law.

    Args:
        motion: of the joint.
        law: (12,) values of the other parameters.
        config: of the fit.
        names: of the parameters.
        progress: called after every iteration with samples a segment and cost.
    """
    problem = JointProblem(motion, config, law, names)
    fitted = parameters_of(names)
    dt = motion.step * motion.stride
    horizons = tuple(max(round(horizon / dt), 2) for horizon in config.shooting.horizons)
    options = ShootingConfig(horizons, config.shooting.iterations, robust=config.shooting.robust)
    guess = np.array([_guess(p, law) for p in fitted])
    before = motion_verdict(problem, guess, horizons[-1])
    lower, upper = np.array([p.lower for p in fitted]), np.array([p.upper for p in fitted])
    solution = shoot(problem, guess, lower, upper, options, progress=progress)
    block = min(max(round(config.shooting.block / dt), 2), problem.samples // _FEW)
    covariance = block_jackknife(solution.equations, solution.free, block)
    doubt = doubt_covariance(problem, solution)
    covariance = replace(covariance, matrix=covariance.matrix + doubt)
    return JointFit(problem, solution, covariance, doubt, before, _verdict(names, solution.equations))


def motion_verdict(problem: JointProblem, parameters: Array, horizon: int) -> MotionVerdict:
    """Information of a motion on the parameters, at given values and segments of `horizon` samples."""
    first = segments(problem.samples, horizon, problem.breaks)
    start, information = problem.start(first)
    rollout = problem.rollout(parameters, first, start)
    nothing = Gaussian.nothing(len(parameters))
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
