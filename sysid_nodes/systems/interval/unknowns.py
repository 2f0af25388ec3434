# SPDX-License-Identifier: Apache-2.0
"""The unknowns of payload identification and the box they are assumed to lie in.

Every window of data gives rows ``A p = 0 +- r`` in the physical parameters of the whole robot,

    p = [theta_1 .. theta_n (10 each), F_c (n), F_v (n), I_a (n), beta (n), gain (n)]          (15 n numbers)

(the paper's theta of sec. III-B plus a constant factor between torque reading and torque), and n shares of the
transmitted torque that drives lose where a calibration has them (`LoadFriction`): 16 n. What is known before any
data is an affine image of the unit box: ``p = centre + basis @ xi`` with xi in [-1, 1]^d. By default each uncertain
parameter is one xi; a calibrated robot brings directions of its own, long where its data were blind and short where
they were not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.models.known_robot import known_box
from sysid_nodes.robots.robot import Robot
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

Array = npt.NDArray[np.float64]

MOTOR_TERMS = ("Coulomb friction", "viscous friction", "armature", "torque offset", "torque gain", "load friction")
"""The motor parameters of a joint, in the order in which they follow the inertial ones; the last where a calibration
has it."""

BODY = "body"
LINKS = "link inertia"


@dataclass(frozen=True)
class Unknowns:
    """The box of assumed values of all parameters.

    Attributes:
        joints: n, the number of joints.
        body: index of the joint that carries what is identified.
        prior: box of the ten identified parameters theta = prior.centre + prior.half_width * xi[:10].
        centre: (15 n,) nominal physical parameters with theta at the prior's centre.
        basis: (15 n, d) one column an unknown; the first ten columns are theta's, diagonal in the body's rows.
        groups: d names of the assumption that bounds each unknown.
    """

    joints: int
    body: int
    prior: Bounds
    centre: Array
    basis: Array
    groups: tuple[str, ...]

    @property
    def size(self) -> int:
        return int(self.basis.shape[1])

    @property
    def body_slice(self) -> slice:
        """Rows of the body's ten parameters among the physical ones."""
        return slice(10 * self.body, 10 * self.body + 10)

    def motor_slice(self, term: str) -> slice:
        """Rows of one motor term (n,) among the physical parameters."""
        start = self.joints * (10 + MOTOR_TERMS.index(term))
        return slice(start, start + self.joints)

    @property
    def known_centre(self) -> Array:
        """(15 n,) nominal parameters of the known robot alone."""
        centre = self.centre.copy()
        centre[self.body_slice] -= self.prior.centre
        return centre

    @property
    def known_magnitude(self) -> Array:
        """(15 n,) largest absolute value of each parameter of the known robot alone in its box."""
        return np.asarray(np.abs(self.known_centre) + np.abs(self.basis[:, 10:]).sum(axis=1))


def stated_unknowns(robot: Robot, config: IntervalIdentifierConfig) -> Unknowns:
    """The box that a configuration without a calibration states."""
    centre, radius = known_box(robot, config.known_robot)
    identify = identify_payload if config.target == "payload" else identify_body
    return identify(robot.n, robot.body_index(config.body), centre, radius, config.prior.bounds)


def identify_body(n: int, body: int, centre: Array, radius: Array, prior: Bounds) -> Unknowns:
    """The whole body is unknown: whatever was known of its own link is left out (the paper's theta_e).

    Args:
        n: number of joints.
        body: index of the identified body.
        centre: (15 n,) nominal parameters.
        radius: (15 n,) half-widths of the known robot's intervals.
        prior: box of the body's ten parameters.
    """
    centre, radius = centre.copy(), radius.copy()
    rows = slice(10 * body, 10 * body + 10)
    centre[rows], radius[rows] = 0.0, 0.0
    return identify_payload(n, body, centre, radius, prior)


def identify_payload(n: int, body: int, centre: Array, radius: Array, prior: Bounds) -> Unknowns:
    """Only the body added to a link is unknown; the link itself stays part of the known robot. Arguments as above."""
    rows = slice(10 * body, 10 * body + 10)
    centre = centre.copy()
    centre[rows] += prior.centre
    own = np.zeros((len(centre), 10))
    own[rows] = np.diag(prior.half_width)
    used = np.flatnonzero(radius > 0.0)
    groups = (BODY,) * 10 + tuple(group_of(n, int(k)) for k in used)
    return Unknowns(n, body, prior, centre, np.hstack([own, np.diag(radius)[:, used]]), groups)


def group_of(n: int, index: int) -> str:
    """Name of the assumption that bounds a physical parameter."""
    return LINKS if index < 10 * n else MOTOR_TERMS[index // n - 10]


def prismatic_travel(robot: Robot) -> Array:
    """(n,) largest |q| within the limits [rad or m]; 0 where unlimited, which only revolute joints are."""
    largest = np.maximum(np.abs(robot.limits.position_lower), np.abs(robot.limits.position_upper))
    return np.where(np.isfinite(largest), largest, 0.0)
