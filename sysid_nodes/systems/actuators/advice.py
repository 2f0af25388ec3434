# SPDX-License-Identifier: Apache-2.0
"""Motions that would tell a parameter: a few of `sysid excite`, rolled out with the fitted law.

What a candidate would leave unknown under white noise is scaled by how much more than white noise leaves unknown in
the log at hand. Load and inertia are those of the log's mean; amplitudes do not exceed the log's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.actuator import friction_levels
from sysid_nodes.models.held_command import HeldCommand
from sysid_nodes.solvers.shooting.normal_equations import assemble
from sysid_nodes.solvers.shooting.problem import Gaussian
from sysid_nodes.systems.actuators.fit import JointFit
from sysid_nodes.systems.actuators.preparation import JointMotion

Array = npt.NDArray[np.float64]

_DURATION = 20.0  # [s]
_NARROW = 2.2  # half-width of a 95 % interval over sigma, with some twenty degrees of freedom


@dataclass(frozen=True)
class Advice:
    """Candidates and what each would leave unknown.

    Attributes:
        names: C candidates.
        sigmas: (C, K) standard deviations of the parameters.
    """

    names: tuple[str, ...]
    sigmas: Array

    def telling_motion(self, k: int, enough: float) -> str:
        """The candidate that tells parameter k best, if it is then known to +- `enough`; else nothing."""
        best = int(np.argmin(self.sigmas[:, k]))
        return self.names[best] if _NARROW * self.sigmas[best, k] <= enough else ""


def advise(fit: JointFit) -> Advice:
    """The usual motions and how well each would tell the parameters of a fit."""
    plain = np.diag(fit.covariance.plain)
    matrix = np.diag(fit.covariance.matrix)
    known = (plain > 0.0) & np.isfinite(matrix)
    white = float(np.mean(fit.solution.residual**2))  # of what this motion does not show nobody knows more
    noise = np.divide(matrix, plain, out=np.full(len(plain), white), where=known)
    candidates = _candidates(fit.problem.motion)
    variances = np.array([_variances(fit, motion) for motion in candidates.values()])
    return Advice(tuple(candidates), np.sqrt(noise * variances))


def _candidates(motion: JointMotion) -> dict[str, JointMotion]:
    amplitude = 0.5 * float(motion.command.values.max() - motion.command.values.min())
    dt = motion.step * motion.stride
    t: Array = dt * np.arange(int(_DURATION / dt) + 1, dtype=np.float64)

    def chirp(first: float, last: float, share: float) -> Array:
        phase = 2.0 * np.pi * (first * t + 0.5 * (last - first) / _DURATION * t**2)
        return np.asarray(share * amplitude * np.sin(phase))

    def call(kind: str, share: float, settings: str) -> str:
        return f"{kind} (sysid excite --set duration={_DURATION:g} --set amplitude={share * amplitude:.2g} {settings})"

    signals: dict[str, Array] = {
        call("a chirp to 5 Hz at half the amplitude", 0.5, "--set last=5"): chirp(0.1, 5.0, 0.5),
        call("a chirp to 10 Hz at a quarter of the amplitude", 0.25, "--set last=10"): chirp(0.1, 10.0, 0.25),
        call("a slow chirp", 1.0, "--set first=0.05 --set last=0.2"): chirp(0.05, 0.2, 1.0),
    }
    return {name: _along(motion, t, signal) for name, signal in signals.items()}


def _along(motion: JointMotion, t: Array, signal: Array) -> JointMotion:
    steps = (len(t) - 1) * motion.stride
    inertia, load = float(np.mean(motion.inertia)), float(np.mean(motion.load))
    command: Array = motion.middle + signal
    at = np.interp(motion.step * (np.arange(steps) + 0.5), t, command)
    return replace(
        motion,
        t=t,
        q=command,
        smooth=command,
        velocity=np.zeros_like(t),
        acceleration=np.zeros_like(t),
        measured=np.ones(len(t), dtype=np.bool_),
        breaks=(),
        command=HeldCommand(t, command, motion.command.linear),
        command_rate=None,
        command_torque=None,
        inertia=np.full(steps, inertia),
        load=np.full(steps, load),
        torque=np.full(len(t), load),
        levels=friction_levels(at, np.full(steps, load), motion.middle),
    )


def _variances(fit: JointFit, motion: JointMotion) -> Array:
    problem = replace(fit.problem, motion=motion)
    first = np.zeros(1, dtype=np.int64)
    start, information = problem.start(first)
    rollout = problem.rollout(fit.solution.parameters, first, start)
    count = len(problem.names)
    equations = assemble(
        rollout, first, fit.solution.parameters, Gaussian.uninformative(count), 0.0 * start, information, None
    )
    hessian = equations.reduced_hessian
    scale = np.sqrt(np.where(np.diag(hessian) > 0.0, np.diag(hessian), 1.0))
    values, vectors = np.linalg.eigh(hessian / np.outer(scale, scale))
    known = np.diag(hessian) > 0.0
    spread: Array = (vectors**2 / np.maximum(values, 1e-14)).sum(axis=1)
    variance: Array = np.where(known, spread / scale**2, np.inf)
    return variance
