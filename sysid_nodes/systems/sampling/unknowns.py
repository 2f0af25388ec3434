# SPDX-License-Identifier: Apache-2.0
"""Unknown parameters: their names, bounds and priors, and what a vector of them means to simulations and sensors.

The inertia of a body is in log-Cholesky coordinates (eq. (2) of SPI-Active; `data.inertia`): mass e^(2 alpha), centre
t, and second moments about the centre from d and s. They are physical whatever their values, and mass and centre have
bounds of their own. A motor's strength kappa enters as its saturation (kappa_0 / kappa)^2, kappa_0 the guess: what tanh
takes away from a torque, tau^3 / (3 kappa^2) and so on, is linear in it down to no saturation at all. In 1 / kappa the
derivative goes to zero there, and a strength that has come near its bound looks like one that no motion tells.

Dry friction is a sum of three laws: one that only resists motion, MuJoCo's own, which brings a joint to rest, and
bristles that bend before they slide (`rollouts.drive`). Which of them a gear has decides 10 to 20 % of a base's roll
inertia, although the robot moves alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.inertia import log_cholesky_to_parameters, parameters_to_log_cholesky
from sysid_nodes.robots import Robot
from sysid_nodes.robots.kinds import joint_kinds
from sysid_nodes.rollouts import Variants
from sysid_nodes.systems.sampling.config import SamplingConfig

Array = npt.NDArray[np.float64]

ETA = ("alpha", "d1", "d2", "d3", "s12", "s23", "s13", "t1", "t2", "t3")
_INFINITE = np.inf
_COARSE = ("alpha", "t1", "t2", "t3")


@dataclass(frozen=True)
class Unknown:
    """A coordinate of the search.

    Attributes:
        guess: where the search begins, and the prior's mean.
        lower, upper: bounds.
        sigma: of the prior; infinite where there is none.
        reach: longest step of a search that is to be believed; infinite for any.
        step: of finite differences; zero where no simulation depends on it.
    """

    name: str
    guess: float
    lower: float = -_INFINITE
    upper: float = _INFINITE
    sigma: float = _INFINITE
    step: float = 0.0
    reach: float = _INFINITE


@dataclass(frozen=True)
class Sensing:
    """Constants of the sensors.

    Attributes:
        gyro_bias: (3,) [rad/s].
        alignment: (3,) rotation vector of the tracked axes in the base's [rad].
        delay: by which poses are older than their stamps say [s].
    """

    gyro_bias: Array
    alignment: Array
    delay: float


class Unknowns:
    """The unknowns of a robot.

    Args:
        robot: nominal.
        config: which, bounds and priors.

    Raises:
        RobotError: a link is unknown.
    """

    def __init__(self, robot: Robot, config: SamplingConfig) -> None:
        self._robot, self._config = robot, config
        self.links = tuple(link.strip() or robot.body for link in config.unknowns.bodies.split(","))
        self.bodies = tuple(robot.body_index(link) for link in self.links)
        self.ground, self.strength_guess = config.ground, config.unknowns.strength_guess
        self.kinds, self._kind = joint_kinds(robot)
        nominal = robot.inertial_parameters()
        self._nominal = nominal
        self.items: tuple[Unknown, ...] = (
            *(item for k, body in enumerate(self.bodies) for item in self._inertia(k, nominal[body])),
            *self._motors(),
            *self._dry_friction(),
            *self._ground(),
            *self._sensing_unknowns(),
        )
        self.index = {item.name: k for k, item in enumerate(self.items)}

    def __len__(self) -> int:
        return len(self.items)

    def column(self, name: str) -> Array:
        """(K,) an attribute of all unknowns."""
        return np.array([getattr(item, name) for item in self.items])

    @property
    def simulated(self) -> list[int]:
        """Places of the unknowns on which simulations depend."""
        return [k for k, item in enumerate(self.items) if item.step > 0.0]

    @property
    def coarse(self) -> npt.NDArray[np.bool_]:
        """(K,) unknowns that are fitted first: masses, centres and the sensors' constants.

        A robot that is heavier than thought looks like one with weaker motors as long as neither is known roughly.
        """
        return np.array([item.name.partition(":")[0] in _COARSE or item.step == 0.0 for item in self.items])

    def inertia(self, vector: Array, body: int) -> Array:
        """(10,) parameters of one of `bodies` in pinocchio's order."""
        return log_cholesky_to_parameters(vector[10 * body : 10 * body + 10])

    def variants(self, vectors: Sequence[Array]) -> Variants:
        """Parameters of simulations from vectors (K,)."""
        bodies = [[self.inertia(vector, k) for k in range(len(self.bodies))] for vector in vectors]
        return Variants(
            bodies=self.bodies,
            inertia=np.array(bodies).reshape(len(vectors), len(self.bodies), 10),
            gain=np.array([self._by_joint(vector, "gain", 1.0) for vector in vectors]),
            weakness=np.array([self._weakness(vector) for vector in vectors]),
            dry=np.array([np.full(self._robot.n, self._value(v, "dry_friction", 0.0)) for v in vectors]),
            holding=np.array([np.full(self._robot.n, self._value(v, "holding_friction", 0.0)) for v in vectors]),
            bristles=np.array([np.full(self._robot.n, self._value(v, "bristle_friction", 0.0)) for v in vectors]),
            friction=np.array([self._positive(v, "friction", self._config.ground.friction) for v in vectors]),
            time_constant=np.array(
                [self._positive(v, "compliance", self._config.ground.time_constant) for v in vectors]
            ),
        )

    def sensing(self, vector: Array) -> Sensing:
        """Constants of the sensors from a vector (K,)."""

        def three(name: str) -> Array:
            return np.array([self._value(vector, f"{name}_{axis}", 0.0) for axis in "xyz"])

        return Sensing(three("gyro_bias"), three("alignment"), self._value(vector, "pose_delay", 0.0))

    def motor_names(self) -> tuple[str, ...]:
        """Of the groups of joints that share a motor parameter."""
        groups = {"none": (), "one": ("motors",), "each": self._robot.joint_names}
        return groups.get(self._config.unknowns.motors, self.kinds)

    def _value(self, vector: Array, name: str, otherwise: float) -> float:
        return float(vector[self.index[name]]) if name in self.index else otherwise

    def _positive(self, vector: Array, name: str, nominal: float) -> float:
        return nominal * float(np.exp(self._value(vector, name, 0.0)))

    def _weakness(self, vector: Array) -> Array:
        """(n,) 1 / strength [1/(N m)]."""
        return np.asarray(np.sqrt(self._by_joint(vector, "saturation", 0.0)) / self._config.unknowns.strength_guess)

    def _by_joint(self, vector: Array, what: str, otherwise: float) -> Array:
        groups = self.motor_names()
        if not groups or f"{what}:{groups[0]}" not in self.index:
            return np.full(self._robot.n, otherwise)
        values = np.array([vector[self.index[f"{what}:{group}"]] for group in groups])
        which = {1: np.zeros(self._robot.n, dtype=np.int64), self._robot.n: np.arange(self._robot.n)}
        return np.asarray(values[which.get(len(groups), self._kind)])

    def _inertia(self, k: int, nominal: Array) -> list[Unknown]:
        config, eta = self._config.unknowns, parameters_to_log_cholesky(nominal)
        mass, scale = config.mass, np.array(config.inertia)
        lower, upper = np.full(10, -_INFINITE), np.full(10, _INFINITE)
        lower[0], upper[0] = 0.5 * np.log(mass)
        # A principal second moment m e^(2 d) is between the bounds for some mass that is.
        lower[1:4] = 0.5 * np.log(scale[0] / 2.0 / mass[1])
        upper[1:4] = 0.5 * np.log(scale[1] / mass[0])
        lower[7:], upper[7:] = eta[7:] - config.centre, eta[7:] + config.centre
        sigma = np.full(10, _INFINITE)
        sigma[1:4] = config.shape_sigma
        sigma[4:7] = config.shape_sigma * np.exp(eta[1:4]).max()
        step = np.array([2e-3, 5e-3, 5e-3, 5e-3, 1e-3, 1e-3, 1e-3, 5e-4, 5e-4, 5e-4])
        reach = np.array([0.2, *[0.7] * 3, *[_INFINITE] * 3, *[0.05] * 3])
        columns = (eta, lower, upper, sigma, step, reach)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [Unknown(f"{name}:{k}", *row) for name, row in zip(ETA, rows, strict=True)]

    def _motors(self) -> list[Unknown]:
        config = self._config.unknowns
        if config.motors == "linear":
            return [
                Unknown(f"gain:{name}", 1.0, config.gain[0], config.gain[1], step=2e-3) for name in self.motor_names()
            ]
        upper, lower = ((config.strength_guess / strength) ** 2 for strength in config.strength)
        sigma = config.saturation_sigma or _INFINITE
        return [
            Unknown(f"saturation:{name}", 1.0, lower, upper, sigma, step=1e-2, reach=1.5) for name in self.motor_names()
        ]

    def _dry_friction(self) -> list[Unknown]:
        names = ("dry_friction", "holding_friction", "bristle_friction")
        bounds = {name: float(getattr(self._config.unknowns, name)) for name in names}
        return [Unknown(name, 0.0, 0.0, most, step=1e-3) for name, most in bounds.items() if most > 0.0]

    def _ground(self) -> list[Unknown]:
        config = self._config.unknowns
        names = {"friction": config.friction_sigma, "compliance": config.compliance_sigma}
        # MuJoCo makes no contact stiffer than two steps.
        stiffest = float(np.log(2.5 * self._config.step / self._config.ground.time_constant))
        lower = {"friction": -1.0, "compliance": stiffest}
        return [Unknown(name, 0.0, lower[name], 1.0, sigma, step=1e-2) for name, sigma in names.items() if sigma > 0.0]

    def _sensing_unknowns(self) -> list[Unknown]:
        config = self._config.unknowns
        names = {"gyro_bias": config.gyro_bias_sigma, "alignment": config.alignment_sigma}
        found = [
            Unknown(f"{name}_{axis}", 0.0, sigma=sigma)
            for name, sigma in names.items()
            for axis in "xyz"
            if sigma > 0.0
        ]
        if config.delay_sigma > 0.0:
            found.append(Unknown("pose_delay", 0.0, sigma=config.delay_sigma))
        return found
