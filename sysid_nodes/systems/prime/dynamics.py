# SPDX-License-Identifier: Apache-2.0
"""Dynamics residuals in inverse-dynamics form: the forces on base and motors that the model does not explain.

    delta = M a + h + joint friction - sum J' f   (N, N m)

is zero but for disturbances in the base's six rows, and equals the motors' torque in the others: there the measured
torque is the residual's other side, and its noise together with unknown torque the sigma. Nothing is integrated or
inverted, and the residual is linear in the inertial parameters.
"""

from __future__ import annotations

from copy import copy

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.contact_motion import contact_arms
from sysid_nodes.models.floating_base import (
    REST,
    ContactKinematics,
    FloatingBase,
    inverse_dynamics,
    inverse_dynamics_derivatives,
)
from sysid_nodes.models.friction import direction
from sysid_nodes.models.rotations import skew
from sysid_nodes.sensors.late import changes
from sysid_nodes.solvers.trajectory_least_squares import Blocks
from sysid_nodes.systems.prime.config import ProcessConfig
from sysid_nodes.systems.prime.contacts import ContactLaw
from sysid_nodes.systems.prime.parameters import Parameters
from sysid_nodes.systems.prime.trajectory import Evaluated, Trajectory

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


def process_variance(process: ProcessConfig) -> Array:
    """(6,) of force and moment on the base by errors of the model."""
    return np.repeat([process.force**2, process.moment**2], 3)


def outside_variance(process: ProcessConfig) -> Array:
    """(6,) of force and moment on the base from outside."""
    return np.repeat([process.outside_force**2, process.outside_moment**2], 3)


class DynamicsRows:
    """The dynamics residual of K inner stages.

    Args:
        robot: its rigid-body model.
        parameters: which bodies are identified.
        process: disturbances.
        torque: (K, n) measured joint torques, of any value where there is none.
        torque_scale: (K, n) 1/sigma of the measured torques, zero where there is none.
        rates: (K, r, n) first derivatives of the torques by time; r is zero where they are in time.

    Attributes:
        torque: (K, n) as given; after `at` in time and without the drives' gains.
        late: (K, n) after `at`, the torques' derivative by their delay.
        scale: (K, nv) whitening of all rows.
    """

    def __init__(
        self,
        robot: FloatingBase,
        parameters: Parameters,
        process: ProcessConfig,
        torque: Array,
        torque_scale: Array,
        rates: Array,
    ) -> None:
        self._robot, self._parameters, self.torque, self._rates = robot, parameters, torque, rates
        self.late = np.zeros_like(torque)
        base = 1.0 / np.sqrt(process_variance(process) + outside_variance(process))
        joints = torque_scale / np.sqrt(1.0 + (process.torque * torque_scale) ** 2)
        self.scale = np.concatenate([np.broadcast_to(base, (len(torque), 6)), joints], axis=1)

    def after(self, first: int, count: int | None = None) -> DynamicsRows:
        """The rows of the inner stages that follow stage `first`, or of so many of them."""
        part, kept = copy(self), slice(first, None if count is None else first + count)
        part.torque, part.late, part.scale = self.torque[kept], self.late[kept], self.scale[kept]
        part._rates = self._rates[kept]
        return part

    @property
    def read(self) -> BoolArray:
        """(K,) stages with a reading of the torques."""
        return np.asarray(self.torque.any(axis=1))

    def weigh(self, factor: Array) -> DynamicsRows:
        """The rows weighed by a factor (nv,), those of the joints where there is a reading."""
        part = copy(self)
        part.scale = self.scale.copy()
        part.scale[:, :6] *= factor[:6]
        part.scale[self.read, 6:] *= factor[6:]
        return part

    def at(self, robot: FloatingBase, theta: Array) -> DynamicsRows:
        """The rows for a robot as the constants theta (p,) have it, with their gains.

        A reading is (1 + gain) times a torque, and disturbances are in proportion to the robot's weight: otherwise a
        robot that is lighter throughout, its drives saying more, would lessen the residuals, whatever its weight.
        """
        moved = copy(self)
        moved._robot = robot
        moved.scale = self.scale.copy()
        moved.scale[:, :6] /= self._parameters.mass_ratio(theta)
        factor = self._parameters.gain_factor(theta)
        by, slope = changes(self._rates, float(theta[self._parameters.torque_delay].sum()))
        moved.torque, moved.late = (self.torque + by) / factor, slope / factor
        moved.scale[:, 6:] *= factor
        return moved

    def delay_columns(self) -> Array:
        """(K, n, d) derivative of the joints' whitened rows by the torques' delay, if there is one, of rows `at` it."""
        delays = self._parameters.torque_delay
        slope = -self.scale[:, 6:] * self.late
        return np.broadcast_to(slope[:, :, None], (*slope.shape, delays.stop - delays.start))

    def constant_columns(self, point: Trajectory, at: Evaluated, residual: Array) -> Array:
        """(K, nv, p) derivative of the whitened residual (K, nv) by drives, their delay and the links' masses.

        For rows that are `at` a point.
        """
        parameters, motion = self._parameters, at.motion
        out = np.zeros((*residual.shape, parameters.count))
        if parameters.gains.start < parameters.gains.stop:
            factor = parameters.gain_factor(point.theta)
            wanted = (residual[:, 6:] + self.scale[:, 6:] * self.torque) / factor
            out[:, 6:, parameters.gains] = wanted[:, :, None] * parameters.shares
        if parameters.drives.start < parameters.drives.stop:
            speed, limits = motion.velocity[:, 6:], parameters.torque
            turned = parameters.rotor_slope(self._robot.motor.armature) * motion.acceleration[:, 6:]
            moved = np.stack([direction(speed, REST) * limits, speed * limits, turned], axis=2)
            out[:, 6:, parameters.drives] = self.scale[:, 6:, None] * moved
        out[:, 6:, parameters.torque_delay] = self.delay_columns()
        for column in range(parameters.masses.start, parameters.masses.stop):
            none = np.zeros_like(at.force)
            arguments = np.ascontiguousarray(point.q[1:-1]), motion.velocity, motion.acceleration
            rest = self._robot.kernel.dynamics(*arguments, parameters.known_inertia, none, none)
            out[:, :, column] = self.scale * rest * parameters.heavier(point.theta)
        out[:, :6] -= residual[:, :6, None] * parameters.mass_gradient(point.theta)
        return out

    def residual(self, point: Trajectory, at: Evaluated) -> Array:
        """(K, nv) whitened."""
        return self._whiten(self._required_torque(point, at, at.force, at.moment))

    def without_contacts(self, point: Trajectory, at: Evaluated) -> Array:
        """(K, nv) the whitened residual if no contact gave any force: what the contacts have to supply."""
        none = np.zeros_like(at.force)
        return self._whiten(self._required_torque(point, at, none, none))

    def contact_columns(self, kinematics: ContactKinematics, law: ContactLaw) -> Array:
        """(K, nv, 3 nc) derivative of the whitened residual by the forces in contact coordinates."""
        axes, arms = law.plane.axes, contact_arms(law.plane, self._robot.contact_radii)
        # Jacobian of the lowest point: that of the centre plus rotation times arm.
        lowest = kinematics.linear[1:-1] - skew(arms) @ kinematics.angular[1:-1]
        count, nc, _, nv = lowest.shape
        columns = (axes @ lowest).reshape(count, 3 * nc, nv).swapaxes(-1, -2)
        return -self.scale[:, :, None] * columns

    def blocks(self, point: Trajectory, at: Evaluated, law: ContactLaw) -> Blocks:
        """The residual with its derivatives."""
        parameters, robot = self._parameters, self._robot
        inertia = parameters.inertia(point.theta)
        out, by_stage, regressor = inverse_dynamics_derivatives(
            robot, inertia, point.q, at.motion, at.force, at.moment, parameters.bodies
        )
        count, nv, nc = len(out), robot.nv, robot.contacts
        by_parameter = np.zeros((count, nv, parameters.count))
        for index, slope in enumerate(parameters.inertia_jacobian(point.theta)):
            columns = parameters.columns(index)
            by_parameter[:, :, columns] = regressor[:, :, columns] @ slope
        by_force = self.contact_columns(at.kinematics, law).reshape(count, nv, nc, 3).transpose(0, 2, 1, 3)
        by_local = (by_force @ law.force_jacobian(point.w[1:-1])).transpose(0, 2, 1, 3)
        rows = self.scale[:, :, None]
        first = np.arange(count)
        return Blocks(
            first,
            self._whiten(out),
            by_stage.reshape(count, nv, 3 * nv) * rows,
            by_parameter * rows,
            by_local.reshape(count, nv, 3 * nc),
            first + 1,
        )

    def _required_torque(self, point: Trajectory, at: Evaluated, force: Array, moment: Array) -> Array:
        inertia = self._parameters.inertia(point.theta)
        return inverse_dynamics(self._robot, inertia, point.q, at.motion, force, moment)

    def _whiten(self, out: Array) -> Array:
        out[:, 6:] -= self.torque
        out *= self.scale
        return out
