# SPDX-License-Identifier: Apache-2.0
"""Robot and ground as the constants have them: slope, places of the feet, motors; and the derivatives.

The rows of dynamics and contact are evaluated at the moved robot and ground. What the window kernel does not
differentiate by is here, from the forces and kinematics of the same point.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.models import contact
from sysid_nodes.models.contact_motion import contact_arms
from sysid_nodes.models.floating_base import FloatingBase
from sysid_nodes.models.rotations import cross, matrix_log, skew
from sysid_nodes.robots import MotorConstants
from sysid_nodes.systems.prime.contacts import ROUNDING, ContactLaw
from sysid_nodes.systems.prime.parameters import Parameters
from sysid_nodes.systems.prime.remembered import remember_moved
from sysid_nodes.systems.prime.trajectory import Evaluated, Trajectory

Array = npt.NDArray[np.float64]

_STEP = 1e-6
"""Of the difference that gives the derivative of the ground's axes by its slope [rad]."""


@remember_moved
def robot_with(base: FloatingBase, parameters: Parameters, theta: Array) -> FloatingBase:
    """The robot with its feet where theta (p,) has them, and with its friction and armature."""
    base = replace(base, motor=motor_with(base.motor, parameters, theta))
    if parameters.feet.start == parameters.feet.stop:
        return base
    return base.with_contact_offsets(foot_offsets(base, parameters, theta))


def motor_with(motor: MotorConstants, parameters: Parameters, theta: Array) -> MotorConstants:
    """The joints' friction and armature that theta (p,) has."""
    if parameters.drives.start == parameters.drives.stop:
        return motor
    coulomb, viscous, armature = theta[parameters.drives]
    return MotorConstants(
        motor.coulomb + coulomb * parameters.torque,
        motor.viscous + viscous * parameters.torque,
        motor.armature * np.exp(armature) + parameters.rotors * armature,
        motor.offset,
    )


def foot_offsets(base: FloatingBase, parameters: Parameters, theta: Array) -> Array:
    """(nc, 3) centres of the contact spheres in their bodies' frames as theta (p,) has them [m]."""
    offsets = base.tree.contact_offsets
    if parameters.feet.start == parameters.feet.stop:
        return offsets
    return offsets + theta[parameters.feet].reshape(-1, 3)[parameters.foot]


@remember_moved
def contact_law_with(law: ContactLaw, parameters: Parameters, theta: Array) -> ContactLaw:
    """The contact law with slope, friction, compliance and lag of theta (p,), its prior on forces as of the weight.

    A prior that knew nothing of the weight would make robots light whose drives' gain is not known: 0.7 % on a Go2.
    """
    config = replace(
        law.config,
        force_sigma=law.config.force_sigma * parameters.mass_ratio(theta),
        friction=law.config.friction * parameters.friction_factor(theta),
    )
    law = replace(law, config=config, compliance=parameters.compliance(theta), lag=float(theta[parameters.lag].sum()))
    if parameters.tilt.start == parameters.tilt.stop:
        return law
    x, y = theta[parameters.tilt]
    return replace(law, tilt=(float(x), float(y)))


def add_columns(
    point: Trajectory, at: Evaluated, base: FloatingBase, parameters: Parameters, scale: Array, columns: Array
) -> None:
    """Adds derivatives by what is unknown of ground and feet to columns (K, nv + 6 nc, p) of dynamics and contact rows.

    Args:
        point: of linearisation.
        at: the model there.
        base: the moved robot.
        parameters: layout of theta.
        scale: (K, nv) whitening of the dynamics.
        columns: derivatives by theta, changed.
    """
    law = at.law
    count, nv = scale.shape
    nc = base.contacts
    dynamics = columns[:, :nv]
    contacts = columns[:, nv:].reshape(count, 2, nc, 3, -1)
    slope = contact.sliding_lift(at.contact.slip, ROUNDING)[1] if law.config.law == "coulomb" else None
    linear, angular = at.kinematics.linear[1:-1], at.kinematics.angular[1:-1]

    whitening = np.broadcast_to(law.scale, (count, nc, 3))

    def add_force(column: int | slice, force: Array, moment: Array) -> None:
        """Derivatives (K, nc, 3) of forces and of moments about the spheres' centres."""
        pushed = np.einsum("kciv,kci->kv", linear, force) + np.einsum("kciv,kci->kv", angular, moment)
        dynamics[:, :, column] -= scale * pushed

    def add_motion(where: npt.NDArray[np.intp] | slice, column: int, gap: Array, slip: Array) -> None:
        """Derivatives (N, m) of gaps and (K, m, 2) of sliding velocities of some contacts."""
        head = law.per_gap * (gap[1:-1] + law.kept * before[1][:, where] * gap[:-2])
        if slope is not None:
            head = head + np.sum(slope[:, where] * slip, axis=-1)
        rows = contacts[:, 0, :, :, column]
        rows[:, where, 0] += whitening[:, where, 0] * head
        rows[:, where, 1:] += whitening[:, where, 1:] * slip

    arms, before = contact_arms(law.plane, base.contact_radii), law.depth(point.w, at.contact.gap)
    local = law.force(point.w[1:-1])
    centre, rotation = at.kinematics.centre, at.kinematics.rotation
    per_gap = whitening[..., 0] * law.per_gap
    for column in range(parameters.give.start, parameters.give.stop):
        contacts[:, 0, :, 0, column] = per_gap * (1.0 - law.kept) * local[..., 0]
    for column in range(parameters.lag.start, parameters.lag.stop):
        contacts[:, 0, :, 0, column] = per_gap * law.kept_slope * (before[0] - law.compliance * local[..., 0])
    for column in range(parameters.friction.start, parameters.friction.stop):
        contacts[:, 0, :, :, column] = law.by_friction(point.w[1:-1], at.contact.slip)
    for axis, column in enumerate(range(parameters.tilt.start, parameters.tilt.stop)):
        turned = _axes_slope(law.plane, axis)
        arms_slope = -base.contact_radii[:, None] * turned[0]
        force = local @ turned
        add_force(column, force, cross(arms, force) + cross(arms_slope, at.force))
        along = centre @ turned[1:].T
        turn = matrix_log(rotation[1:] @ rotation[:-1].swapaxes(-1, -2))
        lever = -(turned[1:] @ skew(arms) + law.plane.axes[1:] @ skew(arms_slope)) / law.dt
        rolled = np.einsum("ctj,kcj->kct", lever, turn)
        slip = (along[2:] - along[:-2]) / (2.0 * law.dt) + 0.5 * (rolled[1:] + rolled[:-1])
        add_motion(slice(None), column, centre @ turned[0], slip)
    for number, column in enumerate(range(parameters.feet.start, parameters.feet.stop)):
        foot, axis = divmod(number, 3)
        points = np.flatnonzero(parameters.foot == foot)
        moved = rotation[:, points][..., axis]
        moment = cross(moved[1:-1], at.force[:, points])
        dynamics[:, :, column] -= scale * np.einsum("kciv,kci->kv", angular[:, points], moment)
        along = moved @ law.plane.axes.T
        add_motion(points, column, along[..., 0], (along[2:, :, 1:] - along[:-2, :, 1:]) / (2.0 * law.dt))


def _axes_slope(plane: contact.ContactPlane, axis: int) -> Array:
    """(3, 3) derivative of a plane's axes by one component of its tilt."""
    ends = []
    for sign in (1.0, -1.0):
        tilt = list(plane.tilt)
        tilt[axis] += sign * _STEP
        ends.append(replace(plane, tilt=(tilt[0], tilt[1])).axes)
    return np.asarray((ends[0] - ends[1]) / (2.0 * _STEP))
