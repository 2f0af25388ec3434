# SPDX-License-Identifier: Apache-2.0
"""From a solved problem to the published result: values, covariances and status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.inertia import log_cholesky_hessian, log_cholesky_to_parameters
from sysid_nodes.models.contact_motion import contact_arms, contact_gaps
from sysid_nodes.models.floating_base import contact_kinematics
from sysid_nodes.results.least_squares import SolveResult
from sysid_nodes.results.prime import BodyEstimate, ContactEstimate, EstimateStatus, Fit, PrimeEstimate
from sysid_nodes.solvers.trajectory_least_squares.posterior import Posterior
from sysid_nodes.systems.prime.contact_shares import share_covariance
from sysid_nodes.systems.prime.force_errors import missing_force, smoothing_error, touching_force, unseen_force
from sysid_nodes.systems.prime.model import Model
from sysid_nodes.systems.prime.observability import observed_parameters, turning_rms
from sysid_nodes.systems.prime.problem import PrimeProblem
from sysid_nodes.systems.prime.surroundings import contact_law_with, robot_with
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]


def motion_estimate(
    problem: PrimeProblem,
    solved: SolveResult[Trajectory],
    residuals: Sequence[Array],
    found: Posterior | None,
    times: Array,
    *,
    iterations: int,
    solve_time: float,
    turned: Array | None = None,
    loaded: bool | None = None,
    first: int = 0,
) -> PrimeEstimate:
    """The result at the solver's point.

    Args:
        problem: at its last smoothing.
        solved: what the solver returned.
        residuals: of the problem's groups at its point.
        found: covariances there, or None.
        times: (N,) of the stages [s].
        iterations: of all solves together.
        solve_time: of all solves together [s].
        turned: (3,) how the base has turned (observability.py), these stages included; None for these alone.
        loaded: whether torques were read, likewise.
        first: stage from which contacts are asked for; those before are NaN.
    """
    point, model = solved.point, problem.model
    motion = problem.inner.residuals(point, problem.law)[2]
    parameters = model.parameters
    covariance = np.full((parameters.count, parameters.count), np.nan) if found is None else found.parameter
    turned = turning_rms(motion) if turned is None else turned
    loaded = problem.loaded if loaded is None else loaded
    q_covariance, v_covariance = _motion_covariances(problem, found)
    fit = {
        name: Fit(residual.size, float(np.sqrt(np.mean(residual**2))) if residual.size else 0.0)
        for name, residual in zip(problem.groups, residuals, strict=True)
    }
    return PrimeEstimate(
        status=_status(solved, found),
        t=times,
        q=point.q,
        q_covariance=q_covariance,
        v=np.concatenate([motion.mean_in(0)[:1], motion.velocity, motion.mean_in(1)[-1:]]),
        v_covariance=v_covariance,
        contacts=_contacts(problem, point, found, max(first - 1, 0), told=loaded),
        bodies=tuple(_body(model, point, covariance, index, turned, loaded) for index in range(len(parameters.bodies))),
        parameter_names=parameters.names,
        parameter_units=parameters.units,
        parameters=point.theta,
        parameter_covariance=covariance,
        fit=fit,
        cost=solved.cost,
        iterations=iterations,
        solve_time=solve_time,
        prior_mean=parameters.mean,
        prior_sigma=parameters.sigma,
    )


def _status(solved: SolveResult[Trajectory], found: Posterior | None) -> EstimateStatus:
    if not (np.isfinite(solved.cost) and np.isfinite(solved.point.q).all()):
        return EstimateStatus.FAILED
    if found is None:
        return EstimateStatus.UNDETERMINED
    return EstimateStatus.CONVERGED if solved.status.converged else EstimateStatus.UNFINISHED


def _body(model: Model, point: Trajectory, covariance: Array, index: int, turned: Array, loaded: bool) -> BodyEstimate:
    parameters, theta = model.parameters, point.theta
    columns = parameters.columns(index)
    slope = parameters.inertia_jacobian(theta)[index]
    body = BodyEstimate(
        parameters.links[index],
        log_cholesky_to_parameters(theta[columns]),
        inertia_covariance(theta[columns], slope, covariance[columns, columns]),
        parameters.nominal[parameters.bodies[index]],
    )
    seen = observed_parameters(parameters, model.config.inertia, theta, index, body, turned, point.q, loaded=loaded)
    return replace(body, observed=seen[0], com_observed=seen[1])


def inertia_covariance(eta: Array, slope: Array, covariance: Array) -> Array:
    """(10, 10) second moments, to second order, of the inertial parameters about those of a log-Cholesky vector (10,).

    What is hardly observed has a wide logarithm, and the parameter a long tail upwards that its slope does not see.
    """
    curved = log_cholesky_hessian(eta) @ covariance
    shift = 0.5 * np.trace(curved, axis1=1, axis2=2)
    moments = slope @ covariance @ slope.T + 0.5 * np.einsum("ajk,bkj->ab", curved, curved) + np.outer(shift, shift)
    return np.asarray(moments)


def _contacts(
    problem: PrimeProblem, point: Trajectory, found: Posterior | None, first: int, *, told: bool
) -> ContactEstimate:
    """Of the stages from `first` on, forces of the inner ones among them, where any torque has told how large they are.

    Without, all may be larger or smaller throughout, and nothing says which foot bears: that one does, its place tells.
    """
    parameters, theta = problem.model.parameters, point.theta
    base, law = robot_with(problem.model.base, parameters, theta), contact_law_with(problem.law, parameters, theta)
    stages, nc, plane = problem.stages, base.contacts, law.plane
    axes, inner, w = plane.axes, slice(first + 1, stages - 1), point.w[first + 1 : -1]
    kinematics = contact_kinematics(base, point.q[first:])
    force, covariance = np.full((stages, nc, 3), np.nan), np.full((stages, nc, 3, 3), np.nan)
    position, gap = np.full((stages, nc, 3), np.nan), np.full((stages, nc), np.nan)
    position[first:] = kinematics.centre + contact_arms(plane, base.contact_radii)
    gap[first:] = contact_gaps(kinematics.centre, base.contact_radii, plane, float(theta[parameters.height]))
    force[inner] = pushed = law.force(w) @ axes
    if found is not None and told:
        each = np.arange(nc)
        own = found.local[inner].reshape(len(w), nc, 3, nc, 3)[:, each, :, each].swapaxes(0, 1)
        slope = axes.T @ law.force_jacobian(w)
        covariance[inner] = slope @ own @ slope.swapaxes(-1, -2) + smoothing_error(law, w, pushed)
        foot = parameters.foot
        if not problem.loaded:  # then all feet bear a load together, and nothing says which
            foot = np.zeros_like(foot)
        covariance[inner] += share_covariance(law, foot, kinematics.centre[1:-1], pushed)
        covariance[inner] += missing_force(problem, point, kinematics, law, first)
        covariance[inner] += touching_force(law, pushed, gap[first:])
        covariance[inner] += unseen_force(problem, point, kinematics, law, found.stage[first:], gap[first:])
    normal = np.nan_to_num(force) @ axes[0]
    return ContactEstimate(
        names=base.contact_names,
        position=position,
        gap=gap,
        force=force if told else np.full_like(force, np.nan),
        covariance=covariance,
        on_ground=normal > problem.model.config.contact.threshold,
        friction=law.config.friction,
    )


def _motion_covariances(problem: PrimeProblem, found: Posterior | None) -> tuple[Array, Array]:
    """Covariances (N, nv, nv) of configurations and of velocities.

    The mean velocity over both intervals about a stage has Var(q_{k+1} - q_{k-1}) / (2 dt)^2 in the tangents; the turn
    of the axes between them, a per cent at 1 rad/s, is left out. So it is at the ends with their one interval.
    """
    stages, nv = problem.stages, problem.model.base.nv
    if found is None:
        return np.full((stages, nv, nv), np.nan), np.full((stages, nv, nv), np.nan)
    step = problem.model.config.step
    ends = [_difference(found.stage[k : k + 2], found.neighbour[k : k + 1]) / step**2 for k in (0, stages - 2)]
    inner = _difference(found.stage, found.second) / (2.0 * step) ** 2
    velocity = np.concatenate([ends[0], inner, ends[1]])
    return found.stage, velocity


def _difference(stage: Array, between: Array) -> Array:
    """Covariances (M, nv, nv) of stages k + j and k less each other from theirs and from those between them."""
    after, before = stage[len(stage) - len(between) :], stage[: len(between)]
    return np.asarray(after + before - between - between.swapaxes(-1, -2))
