# SPDX-License-Identifier: Apache-2.0
"""Dynamics and contact rows of the inner stages, compiled or in NumPy, and their contact variables at their best.

The compiled window kernel makes a window of 30 stages some ten times faster; without it the same numbers come from
`DynamicsRows`, `ContactLaw` and `solve_contacts`, which document their meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel.window import (
    WindowColumns,
    WindowConstants,
    WindowKernel,
    WindowSurroundings,
    window_kernel,
)
from sysid_nodes.models.contact_motion import contact_arms, contact_motion
from sysid_nodes.models.discrete_motion import DiscreteMotion, discrete_motion
from sysid_nodes.models.floating_base import REST, FloatingBase, contact_kinematics
from sysid_nodes.models.rotations import cross
from sysid_nodes.solvers.trajectory_least_squares import Blocks
from sysid_nodes.systems.prime.contacts import ROUNDING, ContactLaw
from sysid_nodes.systems.prime.dynamics import DynamicsRows
from sysid_nodes.systems.prime.elimination import (
    CONTACT_TOLERANCE,
    contact_iterations,
    solve_contacts,
)
from sysid_nodes.systems.prime.parameters import Parameters
from sysid_nodes.systems.prime.surroundings import (
    add_columns,
    contact_law_with,
    foot_offsets,
    motor_with,
    robot_with,
)
from sysid_nodes.systems.prime.trajectory import Evaluated, Trajectory

Array = npt.NDArray[np.float64]


_CACHED = 2**18
"""Numbers of a part of the rows' derivatives: two megabytes."""

_FEWEST = 32
"""Stages of a part at least: each costs as much as some stages."""


class InnerRows(Protocol):
    """Rows of the dynamics and of the contacts of a window."""

    @property
    def dynamics(self) -> DynamicsRows:
        """Of the dynamics, as given."""
        ...

    @property
    def firmness(self) -> Array:
        """(K, nc, 2) of the contacts (firmness.py)."""
        ...

    def weigh(self, factor: Array) -> InnerRows:
        """The same with the rows of the dynamics weighed by a factor (nv,), see `DynamicsRows.weigh`."""
        ...

    def firm(self, firmness: Array) -> InnerRows:
        """The same, whose contacts tell gaps and sliding by a firmness (K, nc, 2) (firmness.py)."""
        ...

    def settle_contacts(self, *, turns: bool) -> InnerRows:
        """The same, whose contacts go all the way to their best, turned over if asked for (elimination.py)."""
        ...

    def residuals(self, point: Trajectory, law: ContactLaw) -> tuple[Array, Array, DiscreteMotion]:
        """(K, nv) and (K, 6 nc) whitened, and the motion that sensors need."""
        ...

    def blocks(self, point: Trajectory, law: ContactLaw) -> tuple[Blocks, Blocks, DiscreteMotion]:
        """The same with derivatives."""
        ...

    def pieces(self, point: Trajectory, law: ContactLaw) -> Iterator[tuple[Blocks, Blocks, DiscreteMotion]]:
        """The same in parts of the window, one after the other, each with the motion of its own stages."""
        ...

    def solve_contacts(self, point: Trajectory, law: ContactLaw, first: int) -> Array:
        """(N - first, nc, 3) contact variables, those of inner stages after `first` at their best."""
        ...


@dataclass(frozen=True)
class ReferenceRows:
    """In NumPy.

    Attributes:
        base: of the robot.
        parameters: layout of theta.
        dynamics: rows of the inner stages.
        firmness: (K, nc, 2) of the contacts.
        settles, turns: whether contacts go all the way to their best, and are turned over, at the configured smoothing
            (elimination.py).
    """

    base: FloatingBase
    parameters: Parameters
    dynamics: DynamicsRows
    firmness: Array
    settles: bool = False
    turns: bool = False

    def firm(self, firmness: Array) -> ReferenceRows:
        """See `InnerRows`."""
        return replace(self, firmness=firmness)

    def settle_contacts(self, *, turns: bool) -> ReferenceRows:
        """See `InnerRows`."""
        return replace(self, settles=True, turns=turns)

    def weigh(self, factor: Array) -> ReferenceRows:
        """See `InnerRows`."""
        return replace(self, dynamics=self.dynamics.weigh(factor))

    def residuals(self, point: Trajectory, law: ContactLaw) -> tuple[Array, Array, DiscreteMotion]:
        """See `InnerRows`."""
        base, law = robot_with(self.base, self.parameters, point.theta), replace(law, firmness=self.firmness)
        at = evaluate(base, self.parameters, law, point, derivatives=False)
        dynamics = self.dynamics.at(base, point.theta).residual(point, at)
        return dynamics, at.law.residual(point.w, at.contact), at.motion

    def blocks(self, point: Trajectory, law: ContactLaw) -> tuple[Blocks, Blocks, DiscreteMotion]:
        """See `InnerRows`."""
        base, parameters = robot_with(self.base, self.parameters, point.theta), self.parameters
        at = evaluate(base, parameters, replace(law, firmness=self.firmness), point, derivatives=True)
        rows = self.dynamics.at(base, point.theta)
        dynamics = rows.blocks(point, at, at.law)
        contact = at.law.blocks(point.w, at.contact, parameters.height, parameters.count)
        assert dynamics.parameter_jacobian is not None and contact.parameter_jacobian is not None
        columns = np.concatenate([dynamics.parameter_jacobian, contact.parameter_jacobian], axis=1)
        residual, nv = np.concatenate([dynamics.residual, contact.residual], axis=1), base.nv
        _add_constants(rows, point, at, base, parameters, residual, columns)
        dynamics = replace(dynamics, parameter_jacobian=columns[:, :nv])
        return dynamics, replace(contact, parameter_jacobian=columns[:, nv:]), at.motion

    def pieces(self, point: Trajectory, law: ContactLaw) -> Iterator[tuple[Blocks, Blocks, DiscreteMotion]]:
        """See `InnerRows`; one part."""
        yield self.blocks(point, law)

    def solve_contacts(self, point: Trajectory, law: ContactLaw, first: int) -> Array:
        """See `InnerRows`."""
        part, dynamics = Trajectory(point.q[first:], point.w[first:], point.theta), self.dynamics.after(first)
        base, law = robot_with(self.base, self.parameters, point.theta), replace(law, firmness=self.firmness[first:])
        at, dynamics = evaluate(base, self.parameters, law, part, derivatives=False), dynamics.at(base, point.theta)
        wanted = dynamics.without_contacts(part, at)
        columns = dynamics.contact_columns(at.kinematics, at.law)
        velocity = at.law.velocity(part.w, at.contact.gap, at.contact.slip)
        settles = self.settles and is_final(law)
        most, turns = contact_iterations(settles), settles and self.turns
        inner = solve_contacts(part.w[1:-1], wanted, columns, velocity, at.law, most, turns=turns)
        return np.concatenate([part.w[:1], inner, part.w[-1:]])


def is_final(law: ContactLaw) -> bool:
    """Whether the smoothing is the configured one and not a coarser one on the way."""
    return law.smoothing <= law.config.smoothing


class _Settled(NamedTuple):
    """A window whose contact variables were settled last: its residuals, asked for next, were made on the way."""

    q: Array
    w: Array
    around: WindowSurroundings
    found: Sequence[Array]


@dataclass(frozen=True)
class CompiledRows:
    """By the window kernel.

    Attributes:
        kernel: of the robot on its ground, as they are without what is unknown of them.
        base: the robot.
        parameters: layout of theta.
        dynamics: rows of the inner stages, for their torques and scales.
        firmness: (K, nc, 2) of the contacts.
        settles, turns: whether contacts go all the way to their best, and are turned over, at the configured smoothing
            (elimination.py).
    """

    kernel: WindowKernel
    base: FloatingBase
    parameters: Parameters
    dynamics: DynamicsRows
    firmness: Array
    settles: bool = False
    turns: bool = False
    _last: dict[tuple[bytes, float], WindowSurroundings] = field(default_factory=dict, repr=False, compare=False)
    _settled: list[_Settled] = field(default_factory=list, repr=False, compare=False)

    def firm(self, firmness: Array) -> CompiledRows:
        """See `InnerRows`."""
        last = {key: around._replace(firmness=firmness) for key, around in self._last.items()}
        return replace(self, firmness=firmness, _last=last, _settled=[])

    def settle_contacts(self, *, turns: bool) -> CompiledRows:
        """See `InnerRows`."""
        return replace(self, settles=True, turns=turns, _last=dict(self._last), _settled=[])

    def weigh(self, factor: Array) -> CompiledRows:
        """See `InnerRows`."""
        return replace(self, dynamics=self.dynamics.weigh(factor), _last={}, _settled=[])

    def residuals(self, point: Trajectory, law: ContactLaw) -> tuple[Array, Array, DiscreteMotion]:
        """See `InnerRows`."""
        around = self._surroundings(point.theta, law)
        settled = self._settled[-1] if self._settled else None
        if settled is not None and settled.q is point.q and settled.w is point.w and settled.around is around:
            out, *motion = settled.found
        else:
            out, *motion = self.kernel.residual(point.q, point.w, around)
        nv = self.base.nv
        return out[:, :nv], out[:, nv:], DiscreteMotion(law.dt, *motion)

    def blocks(self, point: Trajectory, law: ContactLaw) -> tuple[Blocks, Blocks, DiscreteMotion]:
        """See `InnerRows`."""
        columns, count = self._columns(point.theta), len(point.q) - 2
        return self._blocks(point, law, columns, 0, count)

    def pieces(self, point: Trajectory, law: ContactLaw) -> Iterator[tuple[Blocks, Blocks, DiscreteMotion]]:
        """See `InnerRows`; parts that the processor's cache holds."""
        columns, count = self._columns(point.theta), len(point.q) - 2
        nv, nl = self.base.nv, 3 * self.base.contacts
        size = max(_FEWEST, _CACHED // ((nv + 2 * nl) * (3 * nv + nl + len(point.theta))))
        for begin in range(0, count, size):
            yield self._blocks(point, law, columns, begin, min(begin + size, count))

    def _blocks(
        self, point: Trajectory, law: ContactLaw, columns: WindowColumns, begin: int, end: int
    ) -> tuple[Blocks, Blocks, DiscreteMotion]:
        """Of inner stages begin to end - 1."""
        stages, around = slice(begin, end + 2), self._surroundings(point.theta, law)
        part = _of_stages(around, slice(begin, end))
        out, by_stage, by_parameter, by_local, *motion = self.kernel.blocks(
            point.q[stages], point.w[stages], part, columns
        )
        first, nv = np.arange(begin, end), self.base.nv
        moved = self.dynamics.after(begin, end - begin).at(self.base, point.theta)
        by_parameter[:, 6:nv, self.parameters.torque_delay] = moved.delay_columns()
        dynamics, contact = (
            Blocks(first, out[:, rows], by_stage[:, rows], by_parameter[:, rows], by_local[:, rows], first + 1)
            for rows in (slice(nv), slice(nv, None))
        )
        return dynamics, contact, DiscreteMotion(law.dt, *motion)

    def solve_contacts(self, point: Trajectory, law: ContactLaw, first: int) -> Array:
        """See `InnerRows`."""
        around = self._surroundings(point.theta, law)
        part = _of_stages(around, slice(first, None)) if first else around
        settles = self.settles and is_final(law)
        most, turns = contact_iterations(settles), settles and self.turns
        w, *found = self.kernel.solve_contacts(point.q[first:], point.w[first:], part, most, CONTACT_TOLERANCE, turns)
        self._settled[:] = [] if first else [_Settled(point.q, w, around, found)]
        return w

    def _surroundings(self, theta: Array, law: ContactLaw) -> WindowSurroundings:
        """Those of the last constants asked for are kept: motion moves more often than they do."""
        key = theta.tobytes(), law.smoothing
        if key not in self._last:
            self._last.clear()
            self._last[key] = self._evaluate_surroundings(theta, law)
        return self._last[key]

    def _evaluate_surroundings(self, theta: Array, law: ContactLaw) -> WindowSurroundings:
        parameters, rows = self.parameters, self.dynamics.at(self.base, theta)
        law = contact_law_with(law, parameters, theta)
        motor = motor_with(self.base.motor, parameters, theta)
        ground = np.array([theta[parameters.height], *law.tilt, law.compliance, law.lag, law.config.friction])
        return WindowSurroundings(
            parameters.inertia(theta),
            foot_offsets(self.base, parameters, theta),
            np.array([motor.coulomb, motor.viscous, motor.offset, motor.armature]),
            ground,
            law.smoothing,
            rows.torque,
            rows.scale,
            law.config.force_sigma,
            self.firmness,
        )

    def _columns(self, theta: Array) -> WindowColumns:
        parameters = self.parameters
        p = parameters
        groups = (p.tilt, p.feet, p.gains, p.drives, p.masses, p.give, p.lag, p.friction)
        first = [columns.start if columns.start < columns.stop else -1 for columns in groups]
        return WindowColumns(
            parameters.bodies,
            parameters.inertia_jacobian(theta),
            np.array([parameters.height, *first, parameters.count]),
            parameters.foot,
            np.ascontiguousarray(parameters.shares),
            parameters.gain_factor(theta),
            parameters.torque,
            parameters.mass_gradient(theta),
            parameters.rotor_slope(motor_with(self.base.motor, parameters, theta).armature),
        )


def _of_stages(around: WindowSurroundings, stages: slice) -> WindowSurroundings:
    """Those of some of the inner stages."""
    torque, scale, firmness = around.torque[stages], around.scale[stages], around.firmness[stages]
    return around._replace(torque=torque, scale=scale, firmness=firmness)


def _add_constants(
    rows: DynamicsRows,
    point: Trajectory,
    at: Evaluated,
    base: FloatingBase,
    parameters: Parameters,
    residual: Array,
    columns: Array,
) -> None:
    """Adds the derivatives of a residual (K, nv + 6 nc) by all constants but inertia and height to columns (.., p)."""
    nv, forces = base.nv, base.nv + 3 * base.contacts
    add_columns(point, at, base, parameters, rows.scale, columns)
    columns[:, :nv] += rows.constant_columns(point, at, residual[:, :nv])
    columns[:, forces:] -= residual[:, forces:, None] * parameters.mass_gradient(point.theta)


def evaluate(
    base: FloatingBase, parameters: Parameters, law: ContactLaw, point: Trajectory, *, derivatives: bool
) -> Evaluated:
    """Quantities that several residuals share.

    Args:
        base: the robot, its feet already where theta has them.
        parameters: layout of theta.
        law: contact model of the configured ground.
        point: where.
        derivatives: whether those of gap and slip are wanted.
    """
    law = contact_law_with(law, parameters, point.theta)
    plane = law.plane
    motion = discrete_motion(point.q, law.dt)
    kinematics = contact_kinematics(base, point.q)
    height = float(point.theta[parameters.height])
    contact = contact_motion(kinematics, base.contact_radii, plane, height, law.dt, derivatives=derivatives)
    force = law.force(point.w[1:-1]) @ plane.axes
    moment = cross(contact_arms(plane, base.contact_radii), force)
    return Evaluated(law, motion, kinematics, contact, force, moment)


def build_kernel(base: FloatingBase, law: ContactLaw) -> WindowKernel | None:
    """The compiled kernel of a robot on its ground, None where there is none."""
    config = law.config
    contact = [law.dt, config.impulse_scale, ROUNDING, config.law == "coulomb", 1.0 / law.gap_sigma]
    constants = WindowConstants(
        axes=np.ascontiguousarray(law.plane.axes),
        radii=base.contact_radii,
        height=law.plane.height,
        contact=np.array([*map(float, contact), 1.0 / config.slip_sigma]),
        rest=REST,
    )
    return window_kernel(base.tree, constants, base.implementation)
