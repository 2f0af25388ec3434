# SPDX-License-Identifier: Apache-2.0
"""The baseline of the paper's supplement E: contact flags from kinematics, rigid contact while a flag is up.

A foot whose height in the measured kinematics is below a threshold is in contact; nothing later changes that. The
estimator is ours otherwise: same trajectory least squares, readings, noise and parameters. In place of the contact law

    acceleration of an active foot   J a + dJ/dt v = 0   (eq. 36; a stiff residual)
    force of an active foot          inside its friction cone (a residual of what sticks out)
    force of any other foot          zero

A flat foot is rigid at its four corners, with a force inside the friction cone at each: their sum over the foot is the
midfoot wrench, and the sums of such forces are the wrench cone of eq. (37) (Caron et al. 2015, with its pyramids).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.peers.estimate import PeerEstimate
from benchmarks.prime_log import AlignedLog
from sysid_nodes.data.inertia import log_cholesky_to_parameters
from sysid_nodes.models import contact
from sysid_nodes.models.contact_motion import contact_arms, contact_motion
from sysid_nodes.models.discrete_motion import discrete_motion
from sysid_nodes.models.floating_base import contact_kinematics
from sysid_nodes.solvers.trajectory_least_squares import Blocks, Layout, solve
from sysid_nodes.systems.prime import Model
from sysid_nodes.systems.prime.dynamics import DynamicsRows
from sysid_nodes.systems.prime.initialisation import initial_configurations
from sysid_nodes.systems.prime.problem import PrimeProblem, build_problem, first_arrival
from sysid_nodes.systems.prime.trajectory import Evaluated, Trajectory

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

HEIGHT = 0.006
"""Below which a foot counts as on the ground [m]; of 4 to 30 mm, the one with the best F1 on the Go2."""

_ACCELERATION = 0.1
"""Standard deviation of an active foot's acceleration [m/s2]: rigid."""
_CONE = 1.0
"""Of what a force may stick out of its cone [N]."""


def estimate(model: Model, log: AlignedLog, *, height: float = HEIGHT) -> PeerEstimate:
    """The whole log at once, aligned as for our own estimator."""
    start = time.perf_counter()
    stages = len(log.steps)
    q = initial_configurations(model, log.steps.samples, stages)
    inner = build_problem(model, log.steps.samples, stages, first_arrival(model, q[0]))
    active = contact_flags(model, q, height)
    problem = _FlaggedProblem(inner, inner.inner.dynamics, active)
    result = solve(problem, problem.start(q), model.config.iteration.solver(), clock=time.perf_counter)
    force = np.full((stages, model.base.contacts, 3), np.nan)
    force[1:-1] = problem.force(result.point)
    return PeerEstimate(
        q=result.point.q,
        force=force,
        window="around",
        theta=log_cholesky_to_parameters(result.point.theta[model.parameters.columns(0)]),
        seconds=time.perf_counter() - start,
        iterations=result.iterations,
        converged=result.status.converged,
        threshold=2.0,
        corners=False,
    )


def contact_flags(model: Model, q: Array, height: float) -> BoolArray:
    """(N, nc) whether the foot of each contact point is low in the measured kinematics (N, nq)."""
    base, plane = model.base, model.law.plane
    gap = contact_kinematics(base, q).centre @ plane.axes[0] - base.contact_radii - plane.height
    bodies = base.tree.contact_bodies
    mean = np.stack([gap[:, bodies == body].mean(axis=1) for body in bodies], axis=1)
    return np.asarray(mean < height)


@dataclass(frozen=True)
class _Free:
    """Stands in for the contact law where the dynamics ask for it: the local variables are the forces themselves."""

    plane: contact.ContactPlane

    def force_jacobian(self, w: Array) -> Array:
        """(..., 3, 3)."""
        return np.broadcast_to(np.eye(3), (*w.shape, 3))


@dataclass(frozen=True)
class _FlaggedProblem:
    """Trajectory least squares over (q, forces in contact coordinates, theta)."""

    inner: PrimeProblem
    dynamics: DynamicsRows
    active: BoolArray

    @property
    def layout(self) -> Layout:
        """Sizes of the unknown."""
        return self.inner.layout

    def start(self, q: Array) -> Trajectory:
        """Configurations with the weight on the active contacts."""
        model = self.inner.model
        theta = model.parameters.mean
        weight = float(model.parameters.inertia(theta)[:, 0].sum()) * float(np.linalg.norm(model.base.tree.gravity))
        w = np.zeros((len(q), model.base.contacts, 3))
        w[..., 0] = weight * self.active / np.maximum(self.active.sum(axis=1, keepdims=True), 1)
        return Trajectory(q, w, theta)

    def force(self, point: Trajectory) -> Array:
        """(K, nc, 3) in the world."""
        return np.asarray((point.w * self.active[..., None])[1:-1] @ self.inner.law.plane.axes)

    def evaluate(self, point: Trajectory) -> Evaluated:
        """As of PrimeProblem, with free forces."""
        model, plane = self.inner.model, self.inner.law.plane
        kinematics, dt = contact_kinematics(model.base, point.q), model.config.step
        force = self.force(point)
        return Evaluated(
            self.inner.law,
            discrete_motion(point.q, dt),
            kinematics,
            contact_motion(kinematics, model.base.contact_radii, plane, 0.0, dt, derivatives=False),
            force,
            np.cross(contact_arms(plane, model.base.contact_radii), force),
        )

    def linearise(self, point: Trajectory) -> Sequence[Blocks]:
        """All residual blocks with derivatives."""
        at, inner = self.evaluate(point), self.inner
        law: Any = _Free(inner.law.plane)
        dynamics = self.dynamics.blocks(point, at, law)
        assert dynamics.local_jacobian is not None
        dynamics.local_jacobian[...] *= np.repeat(self.active[1:-1], 3, axis=1)[:, None, :]
        return [
            dynamics,
            self._rigid(point, at),
            *(readings.blocks(point, at.motion) for readings in inner.readings),
            *inner.priors(point),
        ]

    def residuals(self, point: Trajectory) -> Sequence[Array]:
        """The residuals alone."""
        at, inner = self.evaluate(point), self.inner
        return [
            self.dynamics.residual(point, at),
            self._rigid_residual(point, at),
            *(readings.residual(point, at.motion) for readings in inner.readings),
            *(blocks.residual for blocks in inner.priors(point)),
        ]

    def retract(self, point: Trajectory, stage_step: Array, parameter_step: Array, local_step: Array) -> Trajectory:
        """The point after a step."""
        return self.inner.move_point(point, stage_step, parameter_step, local_step)

    @property
    def _held(self) -> BoolArray:
        """(K, nc) contacts that are up from the stage before to the one after: a landing foot may brake."""
        return np.asarray(self.active[:-2] & self.active[1:-1] & self.active[2:])

    def _scale_forces(self, point: Trajectory) -> tuple[Array, Array]:
        scale = np.array([self.inner.model.config.contact.friction, 1.0, 1.0])
        return point.w[1:-1] * scale, scale

    def _rigid_residual(self, point: Trajectory, at: Evaluated) -> Array:
        centre, dt = at.kinematics.centre, self.inner.model.config.step
        on = self.active[1:-1, :, None]
        acceleration = (
            self._held[:, :, None] * (centre[2:] - 2.0 * centre[1:-1] + centre[:-2]) / (dt**2 * _ACCELERATION)
        )
        cone = on * contact.smooth_projection(-self._scale_forces(point)[0], _CONE**2) / _CONE
        small = point.w[1:-1] / self.inner.model.config.contact.force_sigma
        return np.stack([acceleration, cone, small], axis=1).reshape(len(centre) - 2, -1)

    def _rigid(self, point: Trajectory, at: Evaluated) -> Blocks:
        linear, dt = at.kinematics.linear, self.inner.model.config.step
        count, nc, nv = len(linear) - 2, linear.shape[1], linear.shape[-1]
        on = self.active[1:-1, :, None, None]
        by_stage = np.zeros((count, 3, nc, 3, 3, nv))
        for stage, (part, factor) in enumerate(((slice(None, -2), 1.0), (slice(1, -1), -2.0), (slice(2, None), 1.0))):
            by_stage[:, 0, :, :, stage] = (
                self._held[:, :, None, None] * linear[part] * (factor / (dt**2 * _ACCELERATION))
            )
        scaled, scale = self._scale_forces(point)
        by_local = np.zeros((count, 3, nc, 3, nc, 3))
        each = np.arange(nc)
        slope = -1.0 * on * contact.smooth_projection_jacobian(-scaled, _CONE**2) * scale / _CONE
        by_local[:, 1, each, :, each] = slope.swapaxes(0, 1)
        by_local[:, 2, each, :, each] = np.eye(3) / self.inner.model.config.contact.force_sigma
        first = np.arange(count)
        rows = 9 * nc
        return Blocks(
            first,
            self._rigid_residual(point, at),
            by_stage.reshape(count, rows, 3 * nv),
            np.zeros((count, rows, self.layout.parameters)),
            by_local.reshape(count, rows, 3 * nc),
            first + 1,
        )
