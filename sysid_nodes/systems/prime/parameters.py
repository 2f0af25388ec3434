# SPDX-License-Identifier: Apache-2.0
"""Constant unknowns: inertia of the chosen bodies, ground, places of the feet, and the sensors' own parameters.

Whatever is not known of robot and ground and stays the same is here with its prior: estimated where the data tell it,
and in every sigma where they do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.data import inertia
from sysid_nodes.robots import Robot
from sysid_nodes.sensors import Sensor, parameter_layout
from sysid_nodes.sensors.joint_torque import JointTorque
from sysid_nodes.sensors.late import DELAY, LateSensor
from sysid_nodes.systems.prime.config import InertiaConfig, PrimeConfig
from sysid_nodes.systems.prime.contacts import kept_share
from sysid_nodes.systems.prime.remembered import remember_last

Array = npt.NDArray[np.float64]

TORQUE, JOINTS = "joint_torque", "joint_position"
"""Names of the sensors whose parameters are looked at here."""

UNSTATED_ROTORS = 1e-3
"""Unit of armature for a torque limit of 1 N m [kg m2]: legged robots have 0.2e-3 to 0.9e-3."""


@dataclass(frozen=True)
class Parameters:
    """The vector theta (p,): log-Cholesky ten-vectors of nb bodies, the ground, the feet, sensors' parameters.

    Attributes:
        bodies: (nb,) indices of the identified bodies, 0 for the base.
        links: (nb,) their links.
        nominal: (n + 1, 10) inertial parameters of all bodies.
        tilt: columns of the ground's slope; empty where it is known.
        feet: columns of the feet's displacements, three a foot; empty where they are known.
        drives: columns of the joints' Coulomb and viscous friction as a share of the torque limits, and of their
            armature's error, its logarithm where the robot states an armature, all joints' together; or empty.
        torque: (n,) the limits [N m].
        rotors: (n,) unit of the armature's error where the robot states none, else zero [kg m2].
        masses: column of the logarithm of the error of all links' masses that are not identified; or empty.
        give: column of the compliance of feet and ground; or empty.
        lag: column of the time by which they give late; or empty.
        friction: column of the logarithm of the ground's friction over the configured one; or empty.
        step: time between stages [s].
        foot: (nc,) foot that each contact point belongs to.
        shares: (n, kinds + 1) which gains add up to each joint's drive's.
        sensors: columns of each sensor's parameters.
        names, units: (p,).
        mean, sigma: (p,) prior.
    """

    bodies: npt.NDArray[np.int64]
    links: tuple[str, ...]
    nominal: Array
    tilt: slice
    feet: slice
    drives: slice
    torque: Array
    rotors: Array
    masses: slice
    give: slice
    lag: slice
    friction: slice
    step: float
    foot: npt.NDArray[np.int64]
    shares: Array
    late_torque: int
    sensors: dict[str, slice]
    names: tuple[str, ...]
    units: tuple[str, ...]
    mean: Array
    sigma: Array

    @property
    def count(self) -> int:
        """p."""
        return len(self.mean)

    @property
    def height(self) -> int:
        """Column of the ground's height."""
        return 10 * len(self.bodies)

    @property
    def gains(self) -> slice:
        """Columns of the drives' gains, one for each kind of joint and a common one; empty where they are exact."""
        own = self.sensors.get(TORQUE, slice(0, 0))
        return slice(own.start, own.stop - self.late_torque)

    @property
    def torque_delay(self) -> slice:
        """Column of the error of the torques' delay; empty where they are in time."""
        return slice(self.gains.stop, self.gains.stop + self.late_torque)

    @property
    def delays(self) -> npt.NDArray[np.intp]:
        """Columns of the errors of streams' delays."""
        return np.flatnonzero([f".{DELAY}[" in name for name in self.names])

    @property
    def offsets(self) -> slice:
        """Columns of the encoders' offsets; empty where there are none."""
        return self.sensors.get(JOINTS, slice(0, 0))

    def columns(self, index: int) -> slice:
        """Columns of an identified body."""
        return slice(10 * index, 10 * index + 10)

    def move(self, theta: Array, step: Array) -> Array:
        """theta (p,) after a step (p,): straight in inertial parameters and armature, as long as they stay physical.

        Residuals are linear in those; a step that halves a moment of inertia would end at e^-1/2 of it.
        """
        out = theta + step
        for index, slope in enumerate(self.inertia_jacobian(theta)):
            columns = self.columns(index)
            moved = inertia.log_cholesky_to_parameters(theta[columns]) + slope @ step[columns]
            if inertia.is_consistent(moved):
                out[columns] = inertia.parameters_to_log_cholesky(moved)
        rotor = self._stated_armature
        straight = 1.0 + step[rotor]
        out[rotor] = np.where(straight > 0.0, theta[rotor] + np.log(np.abs(straight)), out[rotor])
        return out

    def step_to(self, theta: Array, at: Array) -> Array:
        """(p,) the step that `move` takes from theta to another value (p,)."""
        out, rotor = at - theta, self._stated_armature
        for index, slope in enumerate(self.inertia_jacobian(theta)):
            columns = self.columns(index)
            ends = inertia.log_cholesky_to_parameters(np.array([theta[columns], at[columns]]))
            out[columns] = np.linalg.solve(slope, ends[1] - ends[0])
        out[rotor] = np.expm1(out[rotor])
        return out

    def step_slope(self, theta: Array, at: Array) -> Array:
        """(p, p) derivative of `step_to` by where it leads."""
        out, rotor = np.eye(self.count), self._stated_armature
        for index, slope in enumerate(self.inertia_jacobian(theta)):
            columns = self.columns(index)
            out[columns, columns] = np.linalg.solve(slope, inertia.log_cholesky_jacobian(at[columns]))
        out[rotor, rotor] *= np.exp(at[rotor] - theta[rotor])
        return out

    @property
    def _stated_armature(self) -> slice:
        """Column of the armature's logarithm; empty where the robot states none."""
        last = self.drives.stop
        return slice(last, last) if self.rotors.any() else slice(max(last - 1, self.drives.start), last)

    @property
    def known_inertia(self) -> Array:
        """(n + 1, 10) nominal parameters, those of identified bodies next to nothing."""
        out = self.nominal.copy()
        out[self.bodies] *= 1e-12  # a body of no mass has no centre of mass
        return out

    def hold_constants(self) -> Parameters:
        """The same with all `is_untold_at_rest` next to exact at their prior's mean."""
        return replace(self, sigma=np.where(self.is_untold_at_rest, 1e-4 * self.sigma, self.sigma))

    @property
    def is_untold_at_rest(self) -> npt.NDArray[np.bool_]:
        """(p,) whether a robot that stands still tells nothing of a column (at_rest.py)."""
        out = self.is_constant | self.is_shape
        out[10 * np.flatnonzero(self.bodies == 0) + 9] = True  # how high the base's mass is
        for columns in (self.tilt, self.feet, self.offsets):
            out[columns] = False
        return out

    @property
    def is_constant(self) -> npt.NDArray[np.bool_]:
        """(p,) whether a column is of slope, compliance, lag, friction, feet, drives, links, encoders or delays."""
        out = np.zeros(self.count, dtype=bool)
        ground = self.tilt, self.give, self.lag, self.friction
        for columns in (*ground, self.feet, self.drives, self.masses, self.gains, self.offsets):
            out[columns] = True
        out[self.delays] = True
        return out

    @property
    def is_shape(self) -> npt.NDArray[np.bool_]:
        """(p,) whether a column is of how an identified body's mass is distributed about its centre."""
        out = np.zeros(self.count, dtype=bool)
        for index in range(len(self.bodies)):
            out[10 * index + 1 : 10 * index + 7] = True
        return out

    def compliance(self, theta: Array) -> float:
        """Of feet and ground [m/N]."""
        return float(theta[self.give].sum())

    def friction_factor(self, theta: Array) -> float:
        """On the configured friction coefficient of the ground."""
        return float(np.exp(theta[self.friction].sum()))

    def gain_factor(self, theta: Array) -> Array:
        """(n,) a drive's reading over its torque."""
        gains = theta[self.gains]
        return 1.0 + self.shares @ gains if len(gains) else np.ones(len(self.torque))

    def heavier(self, theta: Array) -> float:
        """Factor on the masses of the links that are not identified."""
        return float(np.exp(theta[self.masses].sum()))

    def rotor_slope(self, armature: Array) -> Array:
        """(n,) derivative of the armature (n,) that theta has by its parameter [kg m2]."""
        return np.where(self.rotors > 0.0, self.rotors, armature)

    def mass_ratio(self, theta: Array) -> float:
        """The robot's mass over the nominal one."""
        return float(self.inertia(theta)[:, 0].sum() / self.nominal[:, 0].sum())

    def mass_gradient(self, theta: Array) -> Array:
        """(p,) of the logarithm of the robot's mass."""
        masses = self.inertia(theta)[:, 0]
        total, gradient = float(masses.sum()), np.zeros(self.count)
        for index, slope in enumerate(self.inertia_jacobian(theta)):
            gradient[self.columns(index)] = slope[0] / total
        gradient[self.masses] = (total - float(masses[self.bodies].sum())) / total
        return gradient

    @remember_last
    def inertia(self, theta: Array) -> Array:
        """(n + 1, 10) inertial parameters of every body."""
        out = self.nominal * self.heavier(theta)
        for index, body in enumerate(self.bodies):
            out[body] = inertia.log_cholesky_to_parameters(theta[self.columns(index)])
        return out

    @remember_last
    def inertia_jacobian(self, theta: Array) -> Array:
        """(nb, 10, 10) of the identified bodies' parameters by their log-Cholesky vectors."""
        blocks = [inertia.log_cholesky_jacobian(theta[self.columns(i)]) for i in range(len(self.bodies))]
        return np.array(blocks).reshape(-1, 10, 10)

    @remember_last
    def linear(self, theta: Array) -> Array:
        """(p,) coordinates that residuals are linear in, and of which one alone says how heavy everything is.

        Inertial parameters and armature are divided by the factor h on the links' masses, the ground's compliance is
        multiplied by it, and gains become 1 / (gain h) of each kind of joint. Of the ground's lag it is the share that
        is kept of a depth, and of its compliance what gives at once. The equations of motion hold as well for
        a robot, contact forces and torques that are all larger by h: only priors tell h, here the column of the links'
        masses. In coordinates where every linearisation has another direction for that, windows that follow one another
        would learn h from nothing (Huang, Mourikis and Roumeliotis, Observability-based rules for EKF SLAM, 2010, of
        headings).
        """
        out, heavier = np.array(theta), self.heavier(theta)
        for index in range(len(self.bodies)):
            columns = self.columns(index)
            out[columns] = inertia.log_cholesky_to_parameters(theta[columns]) / heavier
        if self.drives.start < self.drives.stop:
            coulomb, viscous, armature = theta[self.drives]
            stated = not self.rotors.any()
            out[self.drives] = np.array([coulomb, viscous, np.exp(armature) if stated else armature]) / heavier
        out[self.lag] = kept = kept_share(float(theta[self.lag].sum()), self.step)[0]
        out[self.give] = (1.0 - kept) * heavier * theta[self.give]
        out[self._kinds] = 1.0 / (heavier * self._kind_factors(theta))
        return out

    @remember_last
    def linear_jacobian(self, theta: Array) -> Array:
        """(p, p) derivative of `linear`, never singular."""
        out, linear, heavier = np.eye(self.count), self.linear(theta), self.heavier(theta)
        kinds, drives, give = self._kinds, self.drives, self.give
        for index, slope in enumerate(self.inertia_jacobian(theta)):
            columns = self.columns(index)
            out[columns, columns] = slope / heavier
            out[columns, self.masses] = -linear[columns, None]
        if drives.start < drives.stop:
            stated = not self.rotors.any()
            out[drives, drives] = np.diag([1.0, 1.0, np.exp(theta[drives][2]) if stated else 1.0]) / heavier
            out[drives, self.masses] = -linear[drives, None]
        kept, by_lag = kept_share(float(theta[self.lag].sum()), self.step)
        out[give, give] = (1.0 - kept) * heavier
        out[give, self.masses] = linear[give, None]
        out[self.lag, self.lag] = by_lag
        out[give, self.lag] = -by_lag * heavier * theta[give, None]
        if kinds.start < kinds.stop:
            slope = -linear[kinds] / self._kind_factors(theta)
            out[kinds, kinds], out[kinds, kinds.stop] = np.diag(slope), slope
            out[kinds, self.masses] = -linear[kinds, None]
        return out

    @property
    def _kinds(self) -> slice:
        """Columns of the gains of each kind of joint; the one that is common to all follows them."""
        return slice(self.gains.start, max(self.gains.stop - 1, self.gains.start))

    def _kind_factors(self, theta: Array) -> Array:
        """(kinds,) a drive's reading over its torque, of each kind of joint."""
        return np.asarray(1.0 + theta[self._kinds] + theta[self._kinds.stop : self.gains.stop])


def build_parameters(robot: Robot, sensors: tuple[Sensor, ...], config: PrimeConfig) -> Parameters:
    """Layout and prior of a robot's parameters.

    Raises:
        RobotError: a body to identify is unknown or does not move.
    """
    wanted = config.inertia.bodies.strip()
    links = [] if wanted == "none" else [link.strip() or robot.body for link in wanted.split(",")]
    bodies = np.array([robot.body_index(link) for link in links], dtype=np.int64)
    nominal = robot.inertial_parameters()
    own = parameter_layout(sensors)
    carriers = list(dict.fromkeys(point.joint for point in robot.contacts))
    groups = _constants(config, carriers)
    first = 10 * len(bodies)
    spans = []
    for group in groups:
        last = first + sum(len(entry.names) for entry in group if entry.sigma > 0.0)
        spans.append(slice(first, last))
        first = last
    more = [entry for group in groups for entry in group if entry.sigma > 0.0]
    drives = [sensor for sensor in sensors if sensor.name == TORQUE]
    torque = next((sensor.inner if isinstance(sensor, LateSensor) else sensor for sensor in drives), None)
    limits = np.where(np.isfinite(robot.limits.torque), robot.limits.torque, 0.0)
    eta = [inertia.parameters_to_log_cholesky(nominal[body]) for body in bodies]
    names = [f"{link}.{part}" for link in links for part in _LOG_CHOLESKY]
    return Parameters(
        bodies=bodies,
        links=tuple(links),
        nominal=nominal,
        tilt=spans[1],
        feet=spans[2],
        drives=spans[3],
        torque=limits,
        rotors=np.zeros(robot.n) if robot.motor.armature.any() else UNSTATED_ROTORS * limits,
        masses=spans[4],
        give=spans[5],
        lag=spans[6],
        friction=spans[7],
        step=config.step,
        foot=np.array([carriers.index(point.joint) for point in robot.contacts], dtype=np.int64),
        shares=torque.shares if isinstance(torque, JointTorque) else np.zeros((robot.n, 0)),
        late_torque=int(any(isinstance(sensor, LateSensor) for sensor in drives)),
        sensors={name: slice(first + part.start, first + part.stop) for name, part in own.columns.items()},
        names=(*names, *(name for entry in more for name in entry.names), *own.names),
        units=(*_UNITS * len(links), *(entry.unit for entry in more for _ in entry.names), *own.units),
        mean=np.concatenate([*eta, np.zeros(first - 10 * len(bodies)), own.mean]),
        sigma=np.concatenate(
            [
                *[_body_sigma(config.inertia)] * len(bodies),
                *(np.full(len(entry.names), entry.sigma) for entry in more),
                own.sigma,
            ]
        ),
    )


def _body_sigma(prior: InertiaConfig) -> Array:
    """(10,) of a log-Cholesky vector. M = e^alpha [...; t; 1]: mass e^(2 alpha), centre of mass t."""
    each = (0.5 * prior.mass_sigma, prior.shape_sigma, prior.shear_sigma, prior.com_sigma)
    return np.repeat(each, (1, 3, 3, 3))


def _constants(config: PrimeConfig, carriers: Sequence[str]) -> tuple[tuple[_Constant, ...], ...]:
    """Unknowns of the ground's height and tilt, the feet on those joints, all drives, links' masses, what gives."""
    contact, process = config.contact, config.process
    # How deep a foot is below the plane says nothing of how deep it sank where footholds are no plane.
    sinks = contact.compliance_sigma > 0.0 and contact.foothold_sigma == 0.0
    motor = [process.coulomb, process.viscous, process.armature]
    motor = [max(sigma, 1e-9) for sigma in motor] if any(motor) else motor
    told = (("joint.coulomb", "1"), ("joint.viscous", "s/rad"), ("joint.armature", "1"))
    return (
        (_Constant(("ground.height",), "m", max(contact.height_sigma, 1e-6)),),  # a micrometre is exact
        (_Constant(("ground.tilt[0]", "ground.tilt[1]"), "rad", contact.tilt_sigma),),
        tuple(_Constant(tuple(f"{joint}.foot[{k}]" for k in range(3)), "m", contact.foot_sigma) for joint in carriers),
        tuple(_Constant((name,), unit, sigma) for (name, unit), sigma in zip(told, motor, strict=True)),
        (_Constant(("links.mass",), "1", config.inertia.links_sigma),),
        (_Constant(("ground.compliance",), "m/N", contact.compliance_sigma),),
        (_Constant(("ground.lag",), "s", contact.lag_sigma if sinks else 0.0),),
        (_Constant(("ground.friction",), "1", contact.friction_sigma),),
    )


@dataclass(frozen=True)
class _Constant:
    """Unknowns of the ground or a foot with zero mean; none where sigma is zero."""

    names: tuple[str, ...]
    unit: str
    sigma: float


_LOG_CHOLESKY = ("alpha", "d1", "d2", "d3", "s12", "s23", "s13", "t1", "t2", "t3")
_UNITS = ("1", "1", "1", "1", "m", "m", "m", "m", "m", "m")
