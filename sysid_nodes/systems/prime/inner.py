# SPDX-License-Identifier: Apache-2.0
"""Dynamics and contact rows of the inner stages, compiled or in NumPy, and their contact variables at their best.

The compiled window kernel makes a window of 30 stages some ten times faster; without it the same numbers come from
`DynamicsRows`, `ContactLaw` and `settle`, which document their meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel.window import WindowConstants, WindowKernel, window_kernel
from sysid_nodes.models.contact_motion import contact_arms, contact_motion
from sysid_nodes.models.discrete_motion import DiscreteMotion, discrete_motion
from sysid_nodes.models.floating_base import REST, FloatingBase, contact_kinematics
from sysid_nodes.models.rotations import cross
from sysid_nodes.solvers.trajectory_least_squares import Blocks
from sysid_nodes.systems.prime.contacts import ROUNDING, ContactLaw
from sysid_nodes.systems.prime.dynamics import DynamicsRows
from sysid_nodes.systems.prime.elimination import ITERATIONS, settle
from sysid_nodes.systems.prime.parameters import Parameters
from sysid_nodes.systems.prime.trajectory import Evaluated, Trajectory

Array = npt.NDArray[np.float64]


class InnerRows(Protocol):
    """Rows of the dynamics and of the contacts of a window."""

    def residuals(self, point: Trajectory, law: ContactLaw) -> tuple[Array, Array, DiscreteMotion]:
        """(K, nv) and (K, 6 nc) whitened, and the motion that sensors need."""
        ...

    def blocks(self, point: Trajectory, law: ContactLaw) -> tuple[Blocks, Blocks, DiscreteMotion]:
        """The same with derivatives."""
        ...

    def settle_contacts(self, point: Trajectory, law: ContactLaw, first: int) -> Array:
        """(N - first, nc, 3) contact variables, those of inner stages after `first` at their best."""
        ...


@dataclass(frozen=True)
class ReferenceRows:
    """In NumPy.

    Attributes:
        base: of the robot.
        parameters: layout of theta.
        dynamics: rows of the inner stages.
    """

    base: FloatingBase
    parameters: Parameters
    dynamics: DynamicsRows

    def residuals(self, point: Trajectory, law: ContactLaw) -> tuple[Array, Array, DiscreteMotion]:
        """See `InnerRows`."""
        at = evaluate(self.base, self.parameters, law, point, derivatives=False)
        return self.dynamics.residual(point, at), law.residual(point.w[1:-1], at.contact), at.motion

    def blocks(self, point: Trajectory, law: ContactLaw) -> tuple[Blocks, Blocks, DiscreteMotion]:
        """See `InnerRows`."""
        at = evaluate(self.base, self.parameters, law, point, derivatives=True)
        contact = law.blocks(point.w[1:-1], at.contact, self.parameters.height, self.parameters.count)
        return self.dynamics.blocks(point, at, law), contact, at.motion

    def settle_contacts(self, point: Trajectory, law: ContactLaw, first: int) -> Array:
        """See `InnerRows`."""
        part, dynamics = Trajectory(point.q[first:], point.w[first:], point.theta), self.dynamics.after(first)
        at = evaluate(self.base, self.parameters, law, part, derivatives=False)
        wanted = dynamics.without_contacts(part, at)
        columns = dynamics.contact_columns(at, law)
        velocity = law.velocity(at.contact.gap[1:-1], at.contact.slip)
        inner = settle(part.w[1:-1], wanted, columns, velocity, law)
        return np.concatenate([part.w[:1], inner, part.w[-1:]])


@dataclass(frozen=True)
class CompiledRows:
    """By the window kernel.

    Attributes:
        kernel: of the robot and its ground.
        parameters: layout of theta.
        dynamics: rows of the inner stages, for their torques and scales.
    """

    kernel: WindowKernel
    parameters: Parameters
    dynamics: DynamicsRows

    def residuals(self, point: Trajectory, law: ContactLaw) -> tuple[Array, Array, DiscreteMotion]:
        """See `InnerRows`."""
        out, *motion = self.kernel.residual(*self._arguments(point, law))
        nv = self.dynamics.scale.shape[1]
        return out[:, :nv], out[:, nv:], DiscreteMotion(law.dt, *motion)

    def blocks(self, point: Trajectory, law: ContactLaw) -> tuple[Blocks, Blocks, DiscreteMotion]:
        """See `InnerRows`."""
        parameters = self.parameters
        slopes = parameters.inertia_jacobian(point.theta)
        out, by_stage, by_parameter, by_local, *motion = self.kernel.blocks(
            *self._arguments(point, law), parameters.bodies, slopes, parameters.height, parameters.count
        )
        nv = self.dynamics.scale.shape[1]
        first = np.arange(len(out))
        dynamics, contact = (
            Blocks(first, out[:, rows], by_stage[:, rows], by_parameter[:, rows], by_local[:, rows], first + 1)
            for rows in (slice(nv), slice(nv, None))
        )
        return dynamics, contact, DiscreteMotion(law.dt, *motion)

    def settle_contacts(self, point: Trajectory, law: ContactLaw, first: int) -> Array:
        """See `InnerRows`."""
        return self.kernel.settle(*self._arguments(point, law, first), ITERATIONS)

    def _arguments(
        self, point: Trajectory, law: ContactLaw, first: int = 0
    ) -> tuple[Array, Array, Array, float, float, Array, Array]:
        return (
            np.ascontiguousarray(point.q[first:]),
            np.ascontiguousarray(point.w[first:]),
            self.parameters.inertia(point.theta),
            float(point.theta[self.parameters.height]),
            law.smoothing,
            self.dynamics.torque[first:],
            self.dynamics.scale[first:],
        )


def evaluate(
    base: FloatingBase, parameters: Parameters, law: ContactLaw, point: Trajectory, *, derivatives: bool
) -> Evaluated:
    """Quantities that several residuals share."""
    plane = law.plane
    motion = discrete_motion(point.q, law.dt)
    kinematics = contact_kinematics(base, point.q)
    height = float(point.theta[parameters.height])
    contact = contact_motion(kinematics, base.contact_radii, plane, height, law.dt, derivatives=derivatives)
    force = law.force(point.w[1:-1]) @ plane.axes
    moment = cross(contact_arms(plane, base.contact_radii), force)
    return Evaluated(motion, kinematics, contact, force, moment)


def build_kernel(base: FloatingBase, law: ContactLaw, name: str = "") -> WindowKernel | None:
    """The compiled kernel of a robot on its ground, None where there is none; `name` as for `kernel.implementation`."""
    config, motor = law.config, base.motor
    contact = [law.dt, config.friction, config.impulse_scale, config.force_sigma, ROUNDING, config.law == "coulomb"]
    constants = WindowConstants(
        axes=np.ascontiguousarray(law.plane.axes),
        radii=base.contact_radii,
        height=law.plane.height,
        contact=np.array([*map(float, contact), *law.scale]),
        friction=np.array([motor.coulomb, motor.viscous, motor.offset, motor.armature]),
        rest=REST,
    )
    return window_kernel(base.tree, constants, name)
