# SPDX-License-Identifier: Apache-2.0
"""Constant unknowns: inertia of the chosen bodies, height of the ground, and the sensors' own parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data import inertia
from sysid_nodes.robots import Robot
from sysid_nodes.sensors import Sensor, parameter_layout
from sysid_nodes.systems.prime.config import PrimeConfig

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Parameters:
    """The vector theta (p,): log-Cholesky ten-vectors of nb bodies, ground height, sensors' parameters.

    Attributes:
        bodies: (nb,) indices of the identified bodies, 0 for the base.
        links: (nb,) their links.
        nominal: (n + 1, 10) inertial parameters of all bodies.
        sensors: columns of each sensor's parameters.
        names, units: (p,).
        mean, sigma: (p,) prior.
    """

    bodies: npt.NDArray[np.int64]
    links: tuple[str, ...]
    nominal: Array
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

    def columns(self, index: int) -> slice:
        """Columns of an identified body."""
        return slice(10 * index, 10 * index + 10)

    def inertia(self, theta: Array) -> Array:
        """(n + 1, 10) inertial parameters of every body."""
        out = self.nominal.copy()
        for index, body in enumerate(self.bodies):
            out[body] = inertia.log_cholesky_to_parameters(theta[self.columns(index)])
        return out

    def inertia_jacobian(self, theta: Array) -> Array:
        """(nb, 10, 10) of the identified bodies' parameters by their log-Cholesky vectors."""
        blocks = [inertia.log_cholesky_jacobian(theta[self.columns(i)]) for i in range(len(self.bodies))]
        return np.array(blocks).reshape(-1, 10, 10)

    def linear(self, theta: Array) -> Array:
        """(p,) the same with inertial parameters in place of log-Cholesky vectors: what residuals are linear in."""
        out = np.array(theta)
        for index in range(len(self.bodies)):
            columns = self.columns(index)
            out[columns] = inertia.log_cholesky_to_parameters(theta[columns])
        return out

    def linear_jacobian(self, theta: Array) -> Array:
        """(p, p) derivative of `linear`, never singular."""
        out = np.eye(self.count)
        for index, slope in enumerate(self.inertia_jacobian(theta)):
            out[self.columns(index), self.columns(index)] = slope
        return out


def build_parameters(robot: Robot, sensors: tuple[Sensor, ...], config: PrimeConfig) -> Parameters:
    """Layout and prior of a robot's parameters.

    Raises:
        RobotError: a body to identify is unknown or does not move.
    """
    wanted = config.inertia.bodies.strip()
    links = [] if wanted == "none" else [link.strip() or robot.body for link in wanted.split(",")]
    bodies = np.array([robot.body_index(link) for link in links], dtype=np.int64)
    nominal = robot.inertial_parameters()
    prior = config.inertia
    # M = e^alpha [...; t; 1]: mass e^(2 alpha), centre of mass t.
    spread = np.concatenate(
        [
            [0.5 * prior.mass_sigma],
            np.full(3, prior.shape_sigma),
            np.full(3, prior.shear_sigma),
            np.full(3, prior.com_sigma),
        ]
    )
    own = parameter_layout(sensors)
    first = 10 * len(bodies) + 1
    eta = [inertia.parameters_to_log_cholesky(nominal[body]) for body in bodies]
    names = [f"{link}.{part}" for link in links for part in _LOG_CHOLESKY]
    return Parameters(
        bodies=bodies,
        links=tuple(links),
        nominal=nominal,
        sensors={name: slice(first + part.start, first + part.stop) for name, part in own.columns.items()},
        names=(*names, "ground.height", *own.names),
        units=(*_UNITS * len(links), "m", *own.units),
        mean=np.concatenate([*eta, [0.0], own.mean]),
        # A height known exactly still needs a column; a micrometre is exact.
        sigma=np.concatenate([*[spread] * len(bodies), [max(config.contact.height_sigma, 1e-6)], own.sigma]),
    )


_LOG_CHOLESKY = ("alpha", "d1", "d2", "d3", "s12", "s23", "s13", "t1", "t2", "t3")
_UNITS = ("1", "1", "1", "1", "m", "m", "m", "m", "m", "m")
