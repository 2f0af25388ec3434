# SPDX-License-Identifier: Apache-2.0
"""Joint torques of a mechanism with closed loops, with derivatives in motion, loop forces and constants.

    T = r + s |r| tanh(v / v_t) + I_a a + f(v) + u(q, v, a),    r = M(q) a + h(q, v) - J(q)'lambda

is what motors have to give, and zero at joints without one. r is what a joint's gear transmits, of which it loses a
share s (P. Hamon, M. Gautier, P. Garrec, IROS 2010); u is a user's own term (models/user_term.py). Where friction is
LuGre's it is f(v, a) of models/lugre.py. Where gears couple joints (couplings.py), T and the v, a of friction and
armature are the motors', and r is C^-T times what joints need. Rigid-body terms are linear in the inertial parameters
(models/regressors.py); their derivatives in the motion are pinocchio's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models import lugre
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.gears import motor_motion, motor_torques
from sysid_nodes.models.loop_closure import LoopClosures, build_closures
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.models.stribeck import friction, friction_by_coefficients, friction_by_velocity
from sysid_nodes.models.user_term import UserTerm, read_term
from sysid_nodes.robots import Robot
from sysid_nodes.robots.loop_files import read_loops
from sysid_nodes.systems.bayesian.config import BayesianConfig
from sysid_nodes.systems.bayesian.contacts import Contacts, build_contacts
from sysid_nodes.systems.bayesian.couplings import read_couplings
from sysid_nodes.systems.bayesian.parameters import JOINT, LUGRE_TERMS, Parameters, build_parameters

Array = npt.NDArray[np.float64]

_SMALL_TORQUE = 0.1
"""Below which a transmitted torque's size is rounded off, so that it has a derivative at zero [N m]."""


@dataclass(frozen=True)
class Motion:
    """N samples of a motion: (N, n) each, and (N, c) forces in the loops [N]."""

    q: Array
    v: Array
    a: Array
    force: Array

    def at(self, k: int) -> Motion:
        """One sample."""
        return Motion(*(part[k : k + 1] for part in (self.q, self.v, self.a, self.force)))


@dataclass(frozen=True)
class Torque:
    """T (N, n) and its derivatives: (N, n, n) by q, v, a; (N, n, c) by loop forces; (N, n, P) by all constants x."""

    value: Array
    by_q: Array
    by_v: Array
    by_a: Array
    by_force: Array
    by_x: Array


@dataclass(frozen=True)
class Mechanism:
    """A robot with a fixed base, its loops and its constants.

    Attributes:
        robot: nominal.
        chain: its tree.
        closures: of its loops, then of contacts, which hold at some stages.
        loops: closures that always hold.
        contacts: which hold when, and how they begin.
        parameters: its constants.
        coupling: (n, n) of gears, see couplings.py.
        term: a user's own; None where there is none.
        sharpness: factor on the speed over which friction turns; 1 for the model itself.
    """

    robot: Robot
    chain: Chain
    closures: LoopClosures
    loops: LoopClosures
    contacts: Contacts
    parameters: Parameters
    coupling: Array
    term: UserTerm | None = None
    sharpness: float = 1.0

    @property
    def coupled(self) -> bool:
        """Whether gears couple joints."""
        return bool(np.any(self.coupling != np.eye(len(self.coupling))))

    def of_motors(self, rate: Array) -> Array:
        """(N, n) velocities or accelerations of motors, behind their gears, from those of joints."""
        return motor_motion(self.coupling, rate) if self.coupled else rate

    def by_motors(self, load: Array) -> Array:
        """(N, n, ...) torques that motors have to give, from those that joints need, or derivatives of these."""
        return motor_torques(self.coupling, load) if self.coupled else load

    def torque(self, motion: Motion, x: Array) -> Array:
        """T (N, n) [N m]."""
        own, coefficients = self.parameters, self._friction(x)
        r = standard_regressor(self.chain, motion.q, motion.v, motion.a) @ own.inertia(x).ravel()
        if self.closures.count:
            _, jacobian = self.closures.linearise(motion.q)
            r = r - np.einsum("kcn,kc->kn", jacobian, motion.force)
        load, v, a = self.by_motors(r), self.of_motors(motion.v), self.of_motors(motion.a)
        lost = own.constants(x, "load_friction") * np.hypot(load, _SMALL_TORQUE) * np.tanh(v / coefficients[3])
        value = load + lost + own.constants(x, "armature") * a + self._friction_torque(v, a, x)
        if self.term is not None:
            value = value + self._user(x, self.term.value, motion)[:, : own.n]
        return np.asarray(value)

    def power(self, motion: Motion, torque: Array, x: Array) -> Array:
        """(N,) that the supply has to give for the motors' torques (N, m) [W]."""
        own, (motors,) = self.parameters, np.nonzero(self.parameters.motors)
        loss = own.constants(x, "loss")[motors]
        drawn = np.sum(torque * self.of_motors(motion.v)[:, motors] + loss * torque**2, axis=1) + x[own.idle]
        if self.term is not None:
            drawn = drawn + self._user(x, self.term.value, motion)[:, own.n]
        return np.asarray(drawn)

    def user_slopes(self, motion: Motion, x: Array) -> Array:
        """(N, n + 1, 3 n + k) derivatives of the user's torques and power by q, v, a and its constants; k may be 0."""
        if self.term is None:
            return np.zeros((len(motion.q), self.parameters.n + 1, 3 * self.parameters.n))
        return self._user(x, self.term.linearise, motion)

    def _user(self, x: Array, of: Callable[..., Array], motion: Motion) -> Array:
        return of(motion.q, motion.v, motion.a, self.parameters.of_user(x))

    def linearise(self, motion: Motion, x: Array) -> Torque:
        """T with its derivatives."""
        own, n, count = self.parameters, self.parameters.n, len(motion.q)
        regressor = standard_regressor(self.chain, motion.q, motion.v, motion.a)
        inertia, coefficients = own.inertia(x), self._friction(x)
        by_x = np.zeros((count, n, len(x)))
        for i, slope in enumerate(own.inertia_jacobian(x)):
            by_x[:, :, own.body(i)] = regressor[:, :, 10 * i : 10 * i + 10] @ slope
        r = regressor @ inertia.ravel()
        by_q, by_v, by_a = _rigid_derivatives(self.robot.model, inertia, motion)
        by_force = np.zeros((count, n, self.closures.count))
        if self.closures.count:
            _, jacobian = self.closures.linearise(motion.q)
            r = r - np.einsum("kcn,kc->kn", jacobian, motion.force)
            by_force = -jacobian.swapaxes(1, 2)
            by_q = by_q - self.closures.force_jacobian(motion.q, motion.force)
        r, v, a = self.by_motors(r), self.of_motors(motion.v), self.of_motors(motion.a)
        by_q, by_v, by_a, by_force, by_x = (self.by_motors(part) for part in (by_q, by_v, by_a, by_force, by_x))
        share, turning, joint = own.constants(x, "load_friction"), coefficients[3], np.arange(n)
        size, turned = np.hypot(r, _SMALL_TORQUE), np.tanh(v / turning)
        turn_rate = (1.0 - turned**2) / turning
        if share.any():
            factor = (1.0 + share * turned * r / size)[:, :, None]
            by_q, by_v, by_a, by_force, by_x = (factor * part for part in (by_q, by_v, by_a, by_force, by_x))
        slopes = friction_by_coefficients(coefficients, v, own.viscous_power)
        slopes[:, 3] -= share * size * turn_rate * v / turning
        slopes[:, 3:] *= coefficients[3:]  # of the speeds' logarithms
        for row, name in enumerate(JOINT[:5]):
            by_x[:, joint, own.joint(name).start + joint] = slopes[:, row]
        by_x[:, joint, own.joint("load_friction").start + joint] = size * turned
        by_x[:, joint, own.joint("armature").start + joint] = a
        armature = own.constants(x, "armature")
        value = r + share * size * turned + armature * a + self._friction_torque(v, a, x)
        steep = friction_by_velocity(coefficients, v, own.viscous_power) + share * size * turn_rate
        steep, lag = self._bristle_slopes(v, a, x, steep, by_x)
        by_v = by_v + steep[:, :, None] * self.coupling
        by_a = by_a + (armature + lag)[:, :, None] * self.coupling
        if self.term is not None:
            value = value + self._user(x, self.term.value, motion)[:, :n]
            slopes = self.user_slopes(motion, x)[:, :n]
            by_q, by_v, by_a = (part + slopes[:, :, n * k : n * k + n] for k, part in enumerate((by_q, by_v, by_a)))
            by_x[:, :, own.users] = slopes[:, :, 3 * n :]
        return Torque(np.asarray(value), by_q, by_v, by_a, by_force, by_x)

    def momentum(self, q: Array, change: Array, x: Array) -> tuple[Array, Array, Array, Array]:
        """(N, n) of a change of velocities [N m s]; derivatives by q and the change (N, n, n), by x (N, n, P)."""
        own, still, joint = self.parameters, np.zeros_like(q), np.arange(self.parameters.n)
        regressor = standard_regressor(self.chain, q, still, change) - standard_regressor(self.chain, q, still, still)
        inertia, armature = own.inertia(x), own.constants(x, "armature")
        by_x = np.zeros((*q.shape, len(x)))
        for i, slope in enumerate(own.inertia_jacobian(x)):
            by_x[:, :, own.body(i)] = regressor[:, :, 10 * i : 10 * i + 10] @ slope
        by_x[:, joint, own.joint("armature").start + joint] = change
        moved, at_rest = (Motion(q, still, a, still) for a in (change, still))
        by_q, _, mass = _rigid_derivatives(self.robot.model, inertia, moved)
        by_q = by_q - _rigid_derivatives(self.robot.model, inertia, at_rest)[0]
        mass[:, joint, joint] += armature
        return np.asarray(regressor @ inertia.ravel() + armature * change), by_q, mass, by_x

    def mass(self, q: Array, x: Array) -> Array:
        """(N, n, n) mass matrix with rotors [kg m2]: derivative of T by accelerations, but for a user's own term."""
        own, model, armature = self.parameters, self.robot.model.copy(), self.parameters.constants(x, "armature")
        for i, theta in enumerate(own.inertia(x)):
            model.inertias[i + 1] = pinocchio.Inertia.FromDynamicParameters(theta)
        data, out = model.createData(), np.empty((*q.shape, q.shape[1]))
        for k, at in enumerate(q):
            out[k] = np.triu(pinocchio.crba(model, data, at))
        out += np.triu(out, 1).swapaxes(1, 2)
        return self.by_motors(out) + armature[:, None] * self.coupling

    def _friction_torque(self, v: Array, a: Array, x: Array) -> Array:
        """(N, n) of the motors' and joints' friction but for what depends on load [N m]."""
        own = self.parameters
        value = friction(self._friction(x), v, own.viscous_power)
        if not own.bristles.any():
            return value
        return np.where(own.bristles, lugre.friction(self._lugre(x), v, a, own.viscous_power), value)

    def _bristle_slopes(self, v: Array, a: Array, x: Array, steep: Array, by_x: Array) -> tuple[Array, Array]:
        """(N, n) derivatives of friction by v, `steep` but for LuGre's, and by a; LuGre's by constants go into by_x."""
        own, lag = self.parameters, np.zeros_like(steep)
        if not own.bristles.any():
            return steep, lag
        found = lugre.friction_slopes(self._lugre(x), v, a, own.viscous_power)
        (joints,) = np.nonzero(own.bristles)
        by_x[:, joints, own.joint("turning_speed").start + joints] = 0.0
        for row, name in enumerate(LUGRE_TERMS):
            by_x[:, joints, own.joint(name).start + joints] = found.by_coefficients[:, row, joints]
        return np.where(own.bristles, found.by_v, steep), np.where(own.bristles, found.by_a, lag)

    def _lugre(self, x: Array) -> Array:
        coefficients = self.parameters.lugre(x)
        coefficients[4] *= self.sharpness
        return coefficients

    def _friction(self, x: Array) -> Array:
        coefficients = self.parameters.friction(x)
        coefficients[3] *= self.sharpness
        coefficients[4] = np.maximum(coefficients[4], coefficients[3])
        return coefficients


def build_mechanism(robot: Robot, config: BayesianConfig, *, power: bool) -> Mechanism:
    """The mechanism of a robot.

    Args:
        robot: with a fixed base.
        config: loops, joints without motors, priors.
        power: whether a power meter was read.

    Raises:
        ConfigError: a joint or link that is named does not exist, or the user's own term is of no use.
        RobotError: the base floats, or a loop or contact cannot be closed.
    """
    chain = Chain.from_robot(robot)
    term = read_term(config.mechanism.term, robot.joint_names)
    user = () if term is None else term.constants
    loops = build_closures(robot, chain, read_loops(robot, config.mechanism.loops))
    first = build_parameters(robot, config, user, power=power).users.stop
    closures, contacts = build_contacts(robot, chain, loops, config, first)
    parameters = build_parameters(robot, config, user, contacts.constants, contacts.hidden, power=power)
    coupling = read_couplings(config.mechanism.couplings, robot.joint_names, parameters.motors)
    if contacts.touching and np.any(coupling != np.eye(robot.n)):
        raise ConfigError("'mechanism.couplings' and 'mechanism.contacts' do not go together")
    return Mechanism(robot, chain, closures, loops, contacts, parameters, coupling, term)


def _rigid_derivatives(model: pinocchio.Model, inertia: Array, motion: Motion) -> tuple[Array, Array, Array]:
    """(N, n, n) derivatives of inverse dynamics by q, v, a."""
    own = model.copy()
    for i, theta in enumerate(inertia):
        own.inertias[i + 1] = pinocchio.Inertia.FromDynamicParameters(theta)
    data, n = own.createData(), own.nv
    out = np.empty((3, len(motion.q), n, n))
    for k, (q, v, a) in enumerate(zip(motion.q, motion.v, motion.a, strict=True)):
        by_q, by_v, mass = pinocchio.computeRNEADerivatives(own, data, q, v, a)
        out[0, k], out[1, k], out[2, k] = by_q, by_v, mass
    return out[0], out[1], np.triu(out[2]) + np.triu(out[2], 1).swapaxes(1, 2)
