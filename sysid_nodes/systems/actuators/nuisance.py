# SPDX-License-Identifier: Apache-2.0
"""Estimates that make room for what the law lacks, and covariances that count it.

Gears have friction at rest, cogs and cables. Left out, they pull the parameters by much more than sigmas tell, and
do so in every period of the motion, where no statistics of residuals can see it. So the fit is followed by one
Gauss-Newton step of the law *and* of torques that it lacks: friction at rest that fades at three speeds, and a torque
that depends on the position, as cosines of half-waves over the joint's travel. (Whole waves would have to end where
they begin; what does not, as most torques, then needs many more of them.) How large these are nobody asks (nuisance
parameters); what the law's parameters then are is free of them, and their covariance is that of the whole step. Their
shapes are guesses, so a share of what each of the two moves the parameters by, beyond what noise alone would move them
by, counts as a standard deviation besides. The shares are about the likeliest ones on simulated joints whose friction
has other shapes (benchmarks.actuators_truth draws such, too).

A torque that depends on the position has a mean, too, which no motion tells from an encoder's bias. It is taken to be
of the size of the waves.

Bodies. Inertias of a relative standard deviation e move the parameters by -H^-1 J'x e, x the sensitivity to a factor of
the rigid body's inertia and load. No motion of this robot alone tells it from armature and bias; it is counted.

Only the scatter of residuals is estimated from few blocks. Doubts are stated, so an interval that they make wide has
more degrees of freedom than blocks leave (Welch and Satterthwaite).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel.joint_law import STRIBECK_SPEED
from sysid_nodes.kernel.joint_rollout_reference import THETA
from sysid_nodes.models.actuator import LEVELS, PARAMETERS
from sysid_nodes.solvers.shooting import Covariance, ShootingResult, block_jackknife
from sysid_nodes.solvers.shooting.normal_equations import Equations, assemble
from sysid_nodes.solvers.shooting.problem import Gaussian
from sysid_nodes.systems.actuators.joint_problem import JointProblem

Array = npt.NDArray[np.float64]

_NOTHING = 1e-9  # [rad]
_REST, _WAVES = 0.12, 0.15  # shares that are doubted of what friction at rest and waves move the parameters by
_MEAN = 0.12  # mean of a torque that depends on the position, over its RMS in waves
_SHOWN = 2.5  # standard deviations from which friction that grows with the load is taken to be there
_NORMAL = 1e6  # degrees of freedom that are as good as infinitely many
_FADING = (3.0, 1.0, 0.2)  # of the speed at which friction at rest fades: shapes of it, the last for its rounding, too


@dataclass(frozen=True)
class FreedEstimate:
    """Of K parameters.

    Attributes:
        parameters: (K,) with what the law lacks out of them. Bounds do not hold them: what is missing may be all that
            has pushed one there; whoever cuts an interval at a bound needs what there would be without it.
        covariance: of them.
        doubt: (K, K) the part of it that bodies and shapes other than assumed make.
    """

    parameters: Array
    covariance: Covariance
    doubt: Array


def free_estimate(problem: JointProblem, solution: ShootingResult, block: int) -> FreedEstimate:
    """The estimate that a solution becomes when torques that the law lacks are fitted with it.

    Friction that grows with the load is among them where the motion shows it: where it may be but does not show,
    leaving room for it would only take Coulomb friction, which most motions hardly tell from it.

    Args:
        problem: K parameters.
        solution: of it.
        block: samples over which residuals may be correlated.
    """
    with_load = problem.config.doubt.friction_with_load and "load_friction" not in problem.names
    if with_load:
        found, shown = _free(problem, solution, block, with_load=True)
        if shown > _SHOWN:
            return found
    return _free(problem, solution, block, with_load=False)[0]


def _free(
    problem: JointProblem, solution: ShootingResult, block: int, *, with_load: bool
) -> tuple[FreedEstimate, float]:
    """The estimate, and how much dry friction grows with the load, in standard deviations of that; zero without it."""
    count, kept = len(problem.names), slice(0, len(problem.names))
    v, w = problem.velocities(solution.parameters, solution.first, solution.start)
    rest, waves, untold = _friction_at_rest(problem, solution, w), _waves(problem), _unknowable_torques(problem, v, w)
    if with_load:
        rest = np.concatenate([rest, _friction_with_load(problem, w)], axis=1)
    every = _extend(problem, solution, np.concatenate([rest, waves, untold], axis=1))
    told = len(every.gradient) - untold.shape[1]
    equations, by_untold = every.without_last(untold.shape[1]), every.reduced_hessian[:told, told:]
    hessian = equations.reduced_hessian
    inverse = _inverse(hessian)
    change = -inverse @ equations.reduced_gradient
    seen = np.concatenate([~_find_unseen(problem, solution), np.ones(len(change) - count, dtype=np.bool_)])
    covariance = block_jackknife(equations.shift_parameters(change), seen, block)
    added, scatter = change[count:], covariance.matrix[count:, count:]
    # Parameters follow torques that are put in, the others being there already.
    following = -_inverse(hessian[kept, kept]) @ hessian[kept, count:]

    def pull(kind: slice) -> Array:
        """(K,) by which torques of a kind move the parameters."""
        of = following[:, kind]
        return _beyond_noise(of @ added[kind], np.einsum("ki,ij,kj->k", of, scatter[kind, kind], of))

    by_rest, by_waves = slice(0, rest.shape[1]), slice(rest.shape[1], None)
    rms = _beyond_noise(np.sqrt(0.5 * np.sum(added[by_waves] ** 2)), 0.5 * np.trace(scatter[by_waves, by_waves]))
    of_bodies, of_constant = -(inverse @ by_untold)[kept].T
    shifts = (
        problem.config.doubt.body_error * of_bodies,
        _REST * pull(by_rest),
        _WAVES * pull(by_waves),
        _MEAN * rms * of_constant,
    )
    doubt = sum((np.outer(shift, shift) for shift in shifts), np.zeros((count, count)))
    own = covariance.matrix[kept, kept]
    unknown = np.diag(np.where(seen[kept], 0.0, np.inf))
    last = rest.shape[1] - 1
    shown = added[last] / max(np.sqrt(scatter[last, last]), 1e-300) if with_load else 0.0
    estimate = FreedEstimate(
        solution.parameters + change[:count],
        Covariance(
            np.where(unknown > 0.0, np.inf, own + doubt),
            covariance.plain[kept, kept],
            _freedom(covariance.freedom[kept], np.diag(own), np.diag(doubt)),
            covariance.blocks,
        ),
        doubt,
    )
    return estimate, float(shown)


def _beyond_noise(found: Array, noise: Array) -> Array:
    """Sizes as found, their squares less what noise of these variances adds to them."""
    return np.asarray(np.sign(found) * np.sqrt(np.maximum(found**2 - noise, 0.0)))


def _freedom(freedom: Array, estimated: Array, stated: Array) -> Array:
    """(K,) of the sum of a variance that is estimated with so many degrees of freedom and one that is stated."""
    ratio = np.divide(estimated + stated, estimated, out=np.ones_like(estimated), where=estimated > 0.0)
    return np.asarray(np.minimum(freedom * ratio**2, _NORMAL))


def _find_unseen(problem: JointProblem, solution: ShootingResult) -> npt.NDArray[np.bool_]:
    """(K,) parameters that could lie anywhere in their range and move nothing: a limit that is never reached."""
    ranges = np.array([PARAMETERS[k].upper - PARAMETERS[k].lower for k in problem.active])
    slopes = np.sqrt(np.maximum(np.diag(solution.equations.hessian), 0.0) / problem.samples)
    return np.asarray(slopes * ranges < _NOTHING)


def _friction_at_rest(problem: JointProblem, solution: ShootingResult, w: Array) -> Array:
    """(N, M) friction at rest that the law lacks, of amplitude one, at velocities; M is 0 where there is none."""
    if not problem.config.doubt.friction_at_rest or "stribeck" in problem.names:
        return np.zeros((len(w), 0))
    fading = problem.with_parameters(solution.parameters)[STRIBECK_SPEED] * np.array(_FADING)
    sign = w / np.hypot(w, problem.config.law.rest_speed)
    return np.asarray(-np.exp(-((w[:, None] / fading) ** 2)) * sign[:, None])


def _friction_with_load(problem: JointProblem, w: Array) -> Array:
    """(N, 1) friction that is as large as the torque that the rigid body takes."""
    sign = w / np.hypot(w, problem.config.law.rest_speed)
    return np.asarray(-problem.motion.levels[:, LEVELS.index("load_friction")] * sign)[:, None]


def _unknowable_torques(problem: JointProblem, v: Array, w: Array) -> Array:
    """(N, 2) torques that nobody can tell: what bodies twice as heavy would take besides, and a constant one."""
    motion = problem.motion
    taken = motion.inertia * (w - v) / (THETA * motion.step) + motion.load
    return np.column_stack([-taken, np.ones(len(taken))])


def _waves(problem: JointProblem) -> Array:
    """(N, 2 W) cosines of half-waves over the joint's travel, at the steps' middles."""
    motion = problem.motion
    position = np.interp(motion.edges[:-1] + 0.5 * motion.step, motion.t, motion.smooth)
    share = (position - motion.smooth.min()) / max(float(np.ptp(motion.smooth)), 1e-9)
    wave = np.exp(1j * np.pi * share)
    halves = (len(wave), 2 * problem.config.doubt.torque_waves)
    return np.asarray(np.cumprod(np.broadcast_to(wave[:, None], halves), axis=1).real)


def _extend(problem: JointProblem, solution: ShootingResult, torques: Array) -> Equations:
    """Normal equations of parameters and of the amplitudes of torques (N, E) added to the law's."""
    first, start = solution.first, solution.start
    guess, information = problem.start(first)
    rollout = problem.rollout(solution.parameters, first, start, added=torques)
    nothing = Gaussian.uninformative(rollout.by_parameters.shape[2])
    return assemble(rollout, first, nothing.mean, nothing, start - guess, information, solution.loss)


def _inverse(hessian: Array) -> Array:
    scale = np.sqrt(np.where(hessian.diagonal() > 0.0, hessian.diagonal(), 1.0))
    inverse = np.linalg.pinv(hessian / np.outer(scale, scale), rcond=1e-12, hermitian=True)
    return np.asarray(inverse / np.outer(scale, scale))
