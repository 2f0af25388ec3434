# SPDX-License-Identifier: Apache-2.0
"""The estimation problem (PFIE of the paper) in inverse-dynamics form, as trajectory least squares.

Unknown are q_0..q_T, a free variable w of every contact at every inner stage, and constant parameters theta. Minimised
is half the sum of squares, each whitened, of

    dynamics   base disturbance and joint torque                         stages k-1, k, k+1, w_k, theta
    contact    gap and sliding velocity against p(w)                     stages k-1, k, k+1, w_k, theta
    sensors    prediction less reading                                   one to three stages, theta
    arrival    first guess, or in a moving window what was before it     first stages, theta
    prior      of theta                                                  theta

Velocities are differences of configurations, so that a stage has nv unknowns and not 2 nv, and w is eliminated stage by
stage: the normal equations are block-pentadiagonal with an arrow, whatever the number of contacts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.models.discrete_motion import difference, difference_jacobian, join_motions, retract
from sysid_nodes.sensors import Samples
from sysid_nodes.solvers.trajectory_least_squares import Blocks, GaussianPrior, Layout
from sysid_nodes.solvers.trajectory_least_squares.problem import Loss, ParameterStep
from sysid_nodes.systems.prime.carried import Carried
from sysid_nodes.systems.prime.contacts import ContactLaw
from sysid_nodes.systems.prime.dynamics import DynamicsRows
from sysid_nodes.systems.prime.inner import CompiledRows, InnerRows, ReferenceRows
from sysid_nodes.systems.prime.limits import LIMITS, Limits, build_limits
from sysid_nodes.systems.prime.model import Model
from sysid_nodes.systems.prime.parameter_step import curved_step
from sysid_nodes.systems.prime.prior import prior_jacobian, prior_residual
from sysid_nodes.systems.prime.score import Score
from sysid_nodes.systems.prime.sensing import Readings, build_readings, torque_rows
from sysid_nodes.systems.prime.surroundings import contact_law_with
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Arrival:
    """Knowledge about the first stages and theta from readings before the window.

    It is on `Parameters.linear`: residuals are linear in inertial parameters, so that what was learnt of them at one
    value holds at any other. In log-Cholesky coordinates it would not, and sigmas would shrink without reason.

    Attributes:
        prior: information on differences from the reference.
        q: (width, nq) reference of the first stages.
        theta: (p,) reference.
        score: noise of what the prior tells.
        carried: of effects that are left out, see carried.py.
    """

    prior: GaussianPrior
    q: Array
    theta: Array
    score: Score
    carried: Carried


@dataclass(frozen=True)
class PrimeProblem:
    """A `solvers.trajectory_least_squares.Problem` over Trajectory points.

    Attributes:
        model: of the robot.
        stages: N.
        law: contact model at some smoothing.
        inner: dynamics and contact rows.
        readings: of every sensor.
        arrival: what is known from before.
        weights: factors (m,) on the weights that readings state, by group, of the dynamics per row (noise_weights.py).
        limits: inequalities that the motion obeys, if any.
        free: columns of theta that steps move, which alone derivatives are by; None for all.
    """

    model: Model
    stages: int
    law: ContactLaw
    inner: InnerRows
    readings: tuple[Readings, ...]
    arrival: Arrival
    weights: Mapping[str, Array] = field(default_factory=dict)
    limits: Limits | None = None
    free: npt.NDArray[np.intp] | None = None

    @property
    def layout(self) -> Layout:
        """Sizes of the unknown."""
        base = self.model.base
        count = self.model.parameters.count if self.free is None else len(self.free)
        return Layout(self.stages, base.nv, count, 3 * base.contacts)

    @property
    def loaded(self) -> bool:
        """Whether there is any reading of a torque."""
        return bool(self.inner.dynamics.scale[:, 6:].any())

    def with_smoothing(self, smoothing: float) -> PrimeProblem:
        """The same problem at another smoothing eps."""
        return replace(self, law=replace(self.law, smoothing=smoothing))

    def hold_constants(self) -> PrimeProblem:
        """The same problem with what a robot at rest tells nothing of next to exact."""
        return replace(self, model=replace(self.model, parameters=self.model.parameters.hold_constants()))

    def fix_constants(self) -> PrimeProblem:
        """The same problem, whose steps leave these constants and the bodies' shapes where they are: fewer unknowns."""
        parameters = self.model.parameters
        return replace(self, free=np.flatnonzero(~(parameters.is_constant | parameters.is_shape)))

    def linearise(self, point: Trajectory) -> Sequence[Blocks]:
        """All residual blocks with derivatives, in the order of `groups`."""
        dynamics, contact, motion = self.inner.blocks(point, self.law)
        sensors = (readings.blocks(point, motion) for readings in self.readings)
        within = (*self._position_limits(point), *self._torque_limits(point, dynamics))
        return self._by_free([dynamics, contact, *sensors, *within, *self.priors(point)])

    def pieces(self, point: Trajectory) -> Iterator[Sequence[Blocks]]:
        """The same: dynamics and contacts of a few stages at a time, then all else."""
        parts = []
        for dynamics, contact, motion in self.inner.pieces(point, self.law):
            parts.append(motion)
            yield self._by_free([dynamics, contact, *self._torque_limits(point, dynamics)])
        motion = join_motions(parts)
        sensors = (readings.blocks(point, motion) for readings in self.readings)
        yield self._by_free([*sensors, *self._position_limits(point), *self.priors(point)])

    def shapes(self) -> Sequence[Blocks]:
        """Blocks without rows in the order of `groups`, on their widest windows, with their losses."""
        layout = self.layout

        def rowless(first: npt.NDArray[np.intp], width: int, loss: Loss | None = None) -> Blocks:
            return Blocks(first, np.zeros((len(first), 0)), np.zeros((len(first), 0, width * layout.size)), loss=loss)

        stages, start = np.arange(self.stages - 2), np.zeros(1, dtype=np.intp)
        none = np.zeros((len(stages), 0, layout.local))
        inner = replace(rowless(stages, 3), local_jacobian=none, local=stages + 1)
        sensors = (rowless(start, 3, readings.loss) for readings in self.readings)
        within = () if self.limits is None else (rowless(start, 1), inner)
        return [inner, inner, *sensors, *within, rowless(start, self.arrival.prior.width), rowless(start, 1)]

    def residuals(self, point: Trajectory) -> Sequence[Array]:
        """The residuals alone."""
        dynamics, contact, motion = self.inner.residuals(point, self.law)
        sensors = (readings.residual(point, motion) for readings in self.readings)
        arrival = self.arrival.prior.residual(*self._arrival_differences(point))
        within = () if self.limits is None else self._within(self.limits, point, dynamics)
        return [dynamics, contact, *sensors, *within, arrival, self._from_mean(point)]

    def _within(self, limits: Limits, point: Trajectory, dynamics: Array) -> tuple[Array, Array]:
        rows = self.inner.dynamics.at(self.model.base, point.theta)
        return limits.position_residual(point.q), limits.torque_residual(rows, dynamics)

    def _position_limits(self, point: Trajectory) -> tuple[Blocks, ...]:
        return () if self.limits is None else (self.limits.position_blocks(point.q, self.model.base.nv),)

    def _torque_limits(self, point: Trajectory, dynamics: Blocks) -> tuple[Blocks, ...]:
        if self.limits is None:
            return ()
        rows = self.inner.dynamics.at(self.model.base, point.theta)
        return (self.limits.torque_blocks(rows, dynamics, self.model.parameters),)

    def follow_limits(self, residuals: Sequence[Array]) -> PrimeProblem | None:
        """With a solution's residuals as the limits' multipliers; None where the limits hold."""
        if self.limits is None:
            return None
        position, torque = (residuals[self.groups.index(name)] for name in LIMITS)
        if self.limits.are_met(position, torque):
            return None
        return replace(self, limits=self.limits.follow(position, torque))

    def _by_free(self, groups: Sequence[Blocks]) -> Sequence[Blocks]:
        """Groups with derivatives by the columns of theta that steps move."""
        if self.free is None:
            return groups
        slopes = (blocks.parameter_jacobian for blocks in groups)
        chosen = (None if by is None else np.ascontiguousarray(by[:, :, self.free]) for by in slopes)
        return [replace(blocks, parameter_jacobian=by) for blocks, by in zip(groups, chosen, strict=True)]

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the residual groups."""
        within = () if self.limits is None else LIMITS
        return (
            "dynamics",
            "contact",
            *(readings.sensor.name for readings in self.readings),
            *within,
            "arrival",
            "prior",
        )

    def retract(self, point: Trajectory, stage_step: Array, parameter_step: Array, local_step: Array) -> Trajectory:
        """The point after a step, its contact variables then moved to their own best (elimination.py).

        Their own best knows no limits of the motors: stages where it breaks one keep what the step does for it.
        """
        moved = self.move_point(point, stage_step, parameter_step, local_step)
        solved = self.solve_contacts(moved)
        if self.limits is None or not self.limits.bound_torques:
            return solved
        _, torque = self._within(self.limits, solved, self.inner.residuals(solved, self.law)[0])
        w = solved.w.copy()
        broken = 1 + np.flatnonzero(torque.any(axis=1))
        w[broken] = moved.w[broken]
        return replace(solved, w=w)

    def move_point(self, point: Trajectory, stage_step: Array, parameter_step: Array, local_step: Array) -> Trajectory:
        """The point after a step and nothing else; contacts keep their forces where friction alone moves."""
        w, theta = point.w + local_step.reshape(point.w.shape), point.theta.copy()
        if self.free is None:
            theta = self.model.parameters.move(theta, parameter_step)
            for by in parameter_step[self.model.parameters.friction]:
                velocity, pressed = contact_law_with(self.law, self.model.parameters, point.theta).hold_force(point.w)
                w += by * (velocity - pressed)
        else:
            theta[self.free] += parameter_step
        return Trajectory(retract(point.q, stage_step), w, theta)

    def parameter_step(self, point: Trajectory, corner: Array, gradient: Array) -> ParameterStep | None:
        """The constants' step with the curvature that is known of them (parameter_step.py)."""
        if self.free is not None:
            return None
        return curved_step(self.model.parameters, self.model.config.inertia, point.theta, corner, gradient)

    def solve_contacts(self, point: Trajectory, first: int = 0) -> Trajectory:
        """The point with the contact variables of stages after `first` at their best for its motion and parameters."""
        w = self.inner.solve_contacts(point, self.law, first)
        return replace(point, w=np.concatenate([point.w[:first], w]) if first else w)

    def _arrival_differences(self, point: Trajectory) -> tuple[Array, Array]:
        """Differences from the arrival's reference."""
        arrival, linear = self.arrival, self.model.parameters.linear
        moved = difference(arrival.q, point.q[: arrival.prior.width])
        return moved, linear(point.theta) - linear(arrival.theta)

    def priors(self, point: Trajectory) -> tuple[Blocks, Blocks]:
        """The arrival's rows, then those of the parameters' own prior."""
        parameters = self.model.parameters
        residual = self._from_mean(point)
        none = np.zeros((1, residual.shape[1], self.model.base.nv))
        slope = prior_jacobian(parameters, self.model.config.inertia, point.theta)
        start = np.zeros(1, dtype=np.intp)
        own, arrived, prior = (
            Blocks(start, residual, none, slope[None]),
            self.arrival_unknowns(point),
            self.arrival.prior,
        )
        moved, by_linear = arrived.jacobian[0], arrived.parameter_jacobian
        assert by_linear is not None
        split = moved.shape[1]
        rows = Blocks(
            start,
            arrived.residual @ prior.root.T + prior.offset,
            (prior.root[:, :split] @ moved[:split])[None],
            (prior.root[:, split:] @ by_linear[0, split:])[None],
        )
        return rows, own

    def arrival_unknowns(self, point: Trajectory) -> Blocks:
        """The unknowns that the arrival is about, less its reference, with derivatives."""
        prior, size = self.arrival.prior, self.model.base.nv
        moved, learnt = self._arrival_differences(point)
        slope = difference_jacobian(self.arrival.q, point.q[: prior.width])
        count, split = prior.root.shape[1], moved.size
        jacobian, by_parameter = np.zeros((1, count, split)), np.zeros((1, count, prior.parameters))
        for k in range(prior.width):
            stage = slice(k * size, (k + 1) * size)
            jacobian[0, stage, stage] = slope[k]
        by_parameter[0, split:] = self.model.parameters.linear_jacobian(point.theta)
        residual = np.concatenate([moved.ravel(), learnt])[None]
        return Blocks(np.zeros(1, dtype=np.intp), residual, jacobian, by_parameter)

    def _from_mean(self, point: Trajectory) -> Array:
        return prior_residual(self.model.parameters, self.model.config.inertia, point.theta)[None]


def build_problem(model: Model, samples: Mapping[str, Samples], stages: int, arrival: Arrival) -> PrimeProblem:
    """The problem of `stages` stages with the given samples, at the configured smoothing.

    Args:
        model: of the robot.
        samples: readings of each sensor by its name, steps counted from the first stage.
        stages: N, at least 3: a stage's acceleration needs both neighbours.
        arrival: knowledge from before; `first_arrival` for none.

    Raises:
        SamplesError: fewer than three stages.
    """
    if stages < 3:
        raise SamplesError(f"motion estimation needs at least 3 stages, got {stages}")
    config = model.config
    read = torque_rows(model.robot, model.sensors, samples, stages, config.step)
    dynamics = DynamicsRows(model.base, model.parameters, config.process, *read)
    constants = model.base, model.parameters, dynamics, np.ones((stages - 2, model.base.contacts, 2))
    inner = ReferenceRows(*constants) if model.kernel is None else CompiledRows(model.kernel, *constants)
    return PrimeProblem(
        model=model,
        stages=stages,
        law=model.law,
        inner=inner,
        readings=build_readings(
            model.sensors,
            model.moving,
            config.sensors,
            model.parameters,
            samples,
            stages,
            config.step,
            model.sensor_kernels,
        ),
        arrival=arrival,
        limits=build_limits(model.robot, config.limits, stages),
    )


def first_arrival(model: Model, q: Array) -> Arrival:
    """Nothing but the configured prior of the first stage about a first guess q (nq,)."""
    start = model.config.start
    sigma = [start.position_sigma] * 3 + [start.rotation_sigma] * 3 + [start.joint_sigma] * model.robot.n
    prior = GaussianPrior.from_sigmas(np.array(sigma), np.full(model.parameters.count, np.inf))
    none = Carried.nothing(prior.root.shape[1])
    return Arrival(prior, q[None], model.parameters.mean, Score.as_stated(prior.root), none)
