# SPDX-License-Identifier: Apache-2.0
"""The constants of a mechanism as coordinates: what is unknown, its prior and its bounds.

All constants are one vector x: log-Cholesky vectors of all moving bodies, then a line of constants for each joint, the
power drawn at rest, those of a user's own term and of contacts (contacts.py). Speeds and deflections are logarithms.
Those with a sigma of zero are known, the rest are theta.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.inertia import (
    give_extent,
    log_cholesky_jacobian,
    log_cholesky_to_parameters,
    parameters_to_log_cholesky,
)
from sysid_nodes.data.joint_vector import per_joint
from sysid_nodes.exceptions import ConfigError, InputError, RobotError
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.user_term import UserConstant
from sysid_nodes.robots import Robot
from sysid_nodes.solvers.trajectory_least_squares.parameter_program import ParameterRows
from sysid_nodes.systems.bayesian.config import ALL, COULOMB, LUGRE, NO_FRICTION, NONE, STRIBECK, BayesianConfig
from sysid_nodes.systems.bayesian.symmetry import symmetry_rows

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]

JOINT = (
    *("coulomb", "stiction", "viscous", "turning_speed", "stribeck_speed", "load_friction", "deflection"),
    *("armature", "offset", "gain", "loss", "delay"),
)
"""Constants of a joint: first its friction's, then those that only joints with a motor have."""
_TURNING = ("N m", "N m", "N m s/rad", "rad/s", "rad/s", "1", "rad", "kg m2", "N m", "1", "W/(N m)^2", "s")
_SLIDING = ("N", "N", "N s/m", "m/s", "m/s", "1", "m", "kg", "N", "1", "W/N^2", "s")
FRICTION_TERMS = 7
"""Number of them that are friction's; the first five are the coefficients of models.stribeck."""
LUGRE_TERMS = ("coulomb", "stiction", "viscous", "stribeck_speed", "deflection")
"""Coefficients of models.lugre."""
LOGARITHMS = ("turning_speed", "stribeck_speed", "deflection")
"""Constants that are kept as logarithms."""
MOST_SIGMA = 6.0
"""Prior sigmas between prior and posterior mean that no honest prior shows."""

_GUESS = 1.0  # sigma of the logarithm of a size that the description does not give
_POSITIVE = ("coulomb", "stiction", "viscous", "load_friction", "armature", "loss")


@dataclass(frozen=True)
class Parameters:
    """Layout, prior and bounds of x (P,).

    Attributes:
        links: (n,) link of each moving body.
        joints: (n,) names.
        motors: (n,) whether a joint has one.
        slides: (n,) whether it slides and does not turn.
        mean, sigma: (P,) Gaussian prior in x; a sigma of zero is known.
        lower, upper: (P,) bounds of x; infinite where there is none.
        bristles: (n,) whether a joint's dry friction is LuGre's (models.lugre).
        viscous_power: (n,) power of the speed that viscous friction grows with; known.
        total_mass: of all bodies [kg]; None where it is not known.
        symmetry: (r, P) orthonormal rows whose product with x is zero.
        user: constants of a user's own term.
        contact: of contacts, those that are told; after them, those that are not.
        hidden: number of the latter.
    """

    links: tuple[str, ...]
    joints: tuple[str, ...]
    motors: BoolArray
    slides: BoolArray
    mean: Array
    sigma: Array
    lower: Array
    upper: Array
    bristles: BoolArray
    viscous_power: Array
    total_mass: float | None
    symmetry: Array
    user: tuple[UserConstant, ...] = ()
    contact: tuple[UserConstant, ...] = ()
    hidden: int = 0

    @property
    def n(self) -> int:
        """Joints, and moving bodies."""
        return len(self.joints)

    @cached_property
    def free(self) -> IntArray:
        """(p,) indices in x of theta."""
        return np.flatnonzero(self.sigma > 0.0)

    @property
    def prior_information(self) -> Array:
        """(p, p) of theta."""
        return np.diag(self.sigma[self.free] ** -2.0)

    def of_torques(self, x: Array) -> Array:
        """(p,) phi, in which torques are linear: bodies' inertial parameters, and the other constants."""
        return np.concatenate([self.inertia(x).ravel(), x[10 * self.n :]])[self.free]

    def linear(self, x: Array) -> tuple[Array, Array]:
        """(p,) phi, and (p, p) its derivative by theta."""
        slope, by_body = np.eye(len(x)), self.inertia_jacobian(x)
        for i in range(self.n):
            slope[self.body(i), self.body(i)] = by_body[i]
        return self.of_torques(x), slope[np.ix_(self.free, self.free)]

    def body(self, i: int) -> slice:
        """Log-Cholesky vector of a body in x."""
        return slice(10 * i, 10 * i + 10)

    def joint(self, name: str) -> slice:
        """A constant of all joints in x, (n,)."""
        first = 10 * self.n + JOINT.index(name) * self.n
        return slice(first, first + self.n)

    @property
    def idle(self) -> int:
        """Index in x of the power drawn at rest."""
        return 10 * self.n + len(JOINT) * self.n

    def of_user(self, x: Array) -> Array:
        """(k,) constants of a user's own term."""
        return x[self.users]

    @property
    def users(self) -> slice:
        """Constants of a user's own term in x."""
        return slice(self.idle + 1, self.idle + 1 + len(self.user))

    def inertia(self, x: Array) -> Array:
        """(..., n, 10) inertial parameters of the bodies, of x (..., P)."""
        return log_cholesky_to_parameters(x[..., : 10 * self.n].reshape(*x.shape[:-1], self.n, 10))

    def inertia_jacobian(self, x: Array) -> Array:
        """(..., n, 10, 10) of each body's parameters by its log-Cholesky vector."""
        return log_cholesky_jacobian(x[..., : 10 * self.n].reshape(*x.shape[:-1], self.n, 10))

    def unit(self, name: str, j: int) -> str:
        """Of a constant of a joint."""
        return (_SLIDING if self.slides[j] else _TURNING)[JOINT.index(name)]

    def constants(self, x: Array, name: str) -> Array:
        """(n,) a constant of all joints in its unit."""
        value = x[self.joint(name)]
        return np.exp(value) if name in LOGARITHMS else value

    def friction(self, x: Array) -> Array:
        """(5, n) coefficients of models.stribeck."""
        return np.array([self.constants(x, name) for name in JOINT[:5]])

    def lugre(self, x: Array) -> Array:
        """(5, n) coefficients of models.lugre."""
        return np.array([self.constants(x, name) for name in LUGRE_TERMS])

    def equalities(self, x: Array) -> Array:
        """(..., e, P + 1) what is to be zero, by x (..., P), and its value: of symmetric links, then the total mass."""
        by_x = np.broadcast_to(self.symmetry, (*x.shape[:-1], *self.symmetry.shape))
        rows = np.concatenate([by_x, (x @ self.symmetry.T)[..., None]], axis=-1)
        if self.total_mass is None:
            return rows
        row, log_mass = np.zeros((*x.shape[:-1], 1, x.shape[-1] + 1)), slice(0, 10 * self.n, 10)
        mass = np.exp(2.0 * x[..., log_mass])
        row[..., 0, log_mass], row[..., 0, -1] = 2.0 * mass, mass.sum(axis=-1) - self.total_mass
        return np.concatenate([rows, row], axis=-2)

    def rows(self, x: Array) -> ParameterRows:
        """Constraints on a step of theta from x."""
        lower = (self.lower - x)[self.free]
        return ParameterRows(self.equalities(x)[:, [*self.free, len(x)]], lower, (self.upper - x)[self.free])


def build_parameters(
    robot: Robot,
    config: BayesianConfig,
    user: tuple[UserConstant, ...] = (),
    contact: tuple[UserConstant, ...] = (),
    hidden: int = 0,
    *,
    power: bool,
) -> Parameters:
    """Parameters of a robot with a fixed base, of a user's own term, and of contacts, the last of these hidden.

    A link that is described as a point, a rod or a disc is given an extent (`give_extent`), which is hardly known.

    Raises:
        ConfigError: a joint or link that is named does not exist.
        RobotError: a body's inertia is impossible.
    """
    n, joints = robot.n, robot.joint_names
    motors = _motors(robot, config)
    bodies, links = _unknown_bodies(robot, config)
    mean, sigma, lower = _joint_priors(robot, config, motors, power=power)
    eta, spread = np.zeros((n, 10)), np.zeros((n, 10))
    for i, theta in enumerate(robot.inertial_parameters()):
        try:
            solid, guessed = give_extent(theta)
        except InputError as error:
            raise RobotError(f"link '{links[i]}': {error}") from None
        eta[i] = parameters_to_log_cholesky(solid)
        size = np.exp(eta[i, 1:4])
        prior = config.inertia
        # P = e^2alpha N N' with N's diagonal the size along each axis: d is relative, s and t are lengths.
        spread[i, 0] = 0.5 * prior.mass_sigma
        shape = max(prior.shape_sigma, _GUESS) if guessed else prior.shape_sigma
        spread[i, 1:4] = shape
        spread[i, 4:7] = shape * size.mean()
        spread[i, 7:] = prior.centre_sigma * max(float(size.mean()), float(np.linalg.norm(eta[i, 7:])))
    spread[~bodies] = 0.0
    total = config.inertia.total_mass or None
    if total is not None and not bodies.any():
        raise ConfigError("'inertia.total_mass' needs links whose inertia is unknown")
    if total is not None:
        _check_total(total, np.exp(2.0 * eta[:, 0]), bodies, MOST_SIGMA * config.inertia.mass_sigma)
    further = (*user, *contact)
    means = np.array([*eta.ravel(), *mean.ravel(), 0.0, *(own.mean for own in further)])
    rows = symmetry_rows(config.inertia.symmetric, links, bodies, eta, spread)
    return Parameters(
        links,
        joints,
        motors,
        ~Chain.from_robot(robot).tree.revolute,
        means,
        np.array([*spread.ravel(), *sigma.ravel(), config.power.idle_sigma * power, *(own.sigma for own in further)]),
        np.array([*np.full(10 * n, -np.inf), *lower.ravel(), -np.inf, *(own.lower for own in further)]),
        np.array([*np.full(len(means) - len(further), np.inf), *(own.upper for own in further)]),
        _kinds(config, motors) == LUGRE,
        per_joint(config.friction.viscous_power, n, "bayesian.friction.viscous_power"),
        total,
        np.pad(rows, ((0, 0), (0, len(means) - 10 * n))),
        user,
        contact,
        hidden,
    )


def _check_total(total: float, masses: Array, unknown: BoolArray, most: float) -> None:
    """Refuses a total [kg] that masses (n,), the unknown ones off by a factor e^most, cannot make up."""
    free, fixed = masses[unknown].sum(), masses[~unknown].sum()
    if not fixed + free * np.exp(-most) <= total <= fixed + free * np.exp(most):
        raise ConfigError(
            f"'inertia.total_mass' is {total:g} kg, the links are described with {masses.sum():.3g} kg: more than "
            f"{MOST_SIGMA:g} of 'inertia.mass_sigma' apart"
        )


def _motors(robot: Robot, config: BayesianConfig) -> BoolArray:
    passive = [name for name in config.mechanism.passive if name]
    if strange := [name for name in passive if name not in robot.joint_names]:
        raise ConfigError(f"'mechanism.passive' names '{strange[0]}', which is no joint of robot '{robot.name}'")
    motors = np.array([name not in passive for name in robot.joint_names])
    if not motors.any():
        raise ConfigError("'mechanism.passive' leaves no joint with a motor")
    return motors


def _unknown_bodies(robot: Robot, config: BayesianConfig) -> tuple[BoolArray, tuple[str, ...]]:
    """Moving bodies that are unknown, and the link of each."""
    by_joint: dict[int, str] = {}
    for frame in robot.model.frames.tolist():
        if "BODY" in str(frame.type) and int(frame.parentJoint) > 0:
            by_joint.setdefault(int(frame.parentJoint) - 1, str(frame.name))
    links = tuple(by_joint.get(i, name) for i, name in enumerate(robot.joint_names))
    wanted = config.inertia.bodies.strip()
    if wanted in (ALL, NONE):
        return np.full(robot.n, wanted == ALL), links
    unknown = np.zeros(robot.n, dtype=bool)
    for link in wanted.split(","):
        try:
            unknown[robot.body_index(link.strip())] = True
        except RobotError as error:
            raise ConfigError(f"'inertia.bodies': {error}") from None
    return unknown, links


def _kinds(config: BayesianConfig, motors: BoolArray) -> npt.NDArray[np.str_]:
    """(n,) terms of each joint's friction."""
    return np.where(motors, config.friction.motors, config.friction.passive)


def _joint_priors(
    robot: Robot, config: BayesianConfig, motors: BoolArray, *, power: bool
) -> tuple[Array, Array, Array]:
    """(len(JOINT), n) means, sigmas and lower bounds of the joints' constants."""
    motor, prior, drive, kinds = robot.motor, config.friction, config.drive, _kinds(config, motors)
    rubs, dry = kinds != NO_FRICTION, np.isin(kinds, (COULOMB, STRIBECK, LUGRE))
    sticks, bristles = np.isin(kinds, (STRIBECK, LUGRE)), kinds == LUGRE
    if prior.load_sigma and (bristles & motors).any():
        raise ConfigError("'friction.load_sigma' is not for joints with lugre's friction")
    stribeck_speed = np.log(max(prior.stribeck_speed, prior.turning_speed))
    # mean, sigma, and the joints at which it is unknown
    table = {
        "coulomb": (motor.coulomb * rubs, prior.coulomb_sigma, dry),
        "stiction": (0.0, prior.stiction_sigma, sticks),
        "viscous": (motor.viscous * rubs, prior.viscous_sigma, rubs),
        "turning_speed": (np.log(prior.turning_speed), prior.turning_sigma, dry & ~bristles),
        "stribeck_speed": (stribeck_speed, prior.stribeck_sigma, sticks),
        "load_friction": (0.0, prior.load_sigma, dry & motors),
        "deflection": (np.log(prior.deflection), prior.deflection_sigma, bristles),
        "armature": (motor.armature * motors, drive.armature_sigma, motors),
        "offset": (motor.offset * motors, drive.offset_sigma, motors),
        "gain": (1.0, drive.gain_sigma, motors),
        "loss": (0.0, config.power.loss_sigma * power, motors),
        "delay": (0.0, drive.delay_sigma, motors),
    }
    shape = (len(JOINT), robot.n)
    mean, sigma, lower = np.zeros(shape), np.zeros(shape), np.full(shape, -np.inf)
    for row, name in enumerate(JOINT):
        mean[row], spread, unknown = table[name]
        sigma[row, unknown] = spread
        lower[row] = 0.0 if name in _POSITIVE else -np.inf
    return mean, sigma, lower
