# SPDX-License-Identifier: Apache-2.0
"""Inertial parameters that the data tell, and those that are no more than their prior or the noise of a robot at rest.

A parameter is observed where its sigma is well below the prior's at the same value. That is not enough: a robot that
does not turn moves by noise all the same, and an estimate of motion and inertia together takes the noise for motion.
Moments of inertia therefore need the body to have turned about their axes, and products about both of theirs: what a
product does about an axis is told from what the turning about it takes. The height of its centre of mass needs
the body to have leant. Without torques every force may be larger or smaller throughout: no mass is observed. And where
three sigmas reach below zero for what no body can have negative, the first order that gave sigma does not hold.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.discrete_motion import DiscreteMotion
from sysid_nodes.models.rotations import quaternion_matrix
from sysid_nodes.results.prime import BodyEstimate
from sysid_nodes.systems.prime.config import InertiaConfig
from sysid_nodes.systems.prime.parameters import Parameters

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

SPAN = 0.5
"""Time over which a turn is looked for [s]."""

_POSITIVE = [0, 4, 6, 9]
"""Mass, Ixx, Iyy, Izz."""

_PAIRS = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
"""Axes of Ixx, Ixy, Iyy, Ixz, Iyz, Izz."""


def largest_rms(velocity: Array, dt: float) -> Array:
    """(k,) largest root mean square over any span of each of k velocities (N, k), their steps dt apart [s]."""
    squares = velocity**2
    span = min(max(round(SPAN / dt), 1), len(squares))
    total = np.concatenate([np.zeros((1, squares.shape[1])), np.cumsum(squares, axis=0)])
    return np.asarray(np.sqrt(np.maximum((total[span:] - total[:-span]).max(axis=0), 0.0) / span))


def turning_rms(motion: DiscreteMotion) -> Array:
    """(3,) largest root mean square of the base's angular velocity over any span, about each of its axes [rad/s]."""
    return largest_rms(motion.velocity[:, 3:6], motion.dt)


def observed_parameters(
    parameters: Parameters,
    config: InertiaConfig,
    theta: Array,
    index: int,
    body: BodyEstimate,
    turned: Array,
    q: Array,
    *,
    loaded: bool,
) -> tuple[BoolArray, BoolArray]:
    """(10,) whether each inertial parameter of a body is observed, (3,) whether each component of its centre of mass.

    Args:
        parameters: layout and prior.
        config: what counts.
        theta: (p,) estimate.
        index: of the identified body.
        body: its estimate.
        turned: (3,) `turning` of the base.
        q: (N, nq) configurations, for the direction of gravity.
        loaded: whether any torque was read: without, nothing says how large the forces are, and so no mass.
    """
    columns = parameters.columns(index)
    slope = parameters.inertia_jacobian(theta)[index] * parameters.sigma[columns]
    prior = np.linalg.norm(slope, axis=1)
    with np.errstate(invalid="ignore"):
        sigma = np.sqrt(np.diag(body.covariance))
        known = sigma <= config.observed * prior
        known[_POSITIVE] &= 3.0 * sigma[_POSITIVE] <= body.parameters[_POSITIVE]
        com = body.com_sigma <= config.observed * config.com_sigma
    known &= loaded
    com &= known[0]
    if parameters.bodies[index] == 0:
        enough = turned >= config.least_turning
        up = int(np.argmax(np.abs(np.mean(quaternion_matrix(q[:, 3:7])[:, 2], axis=0))))
        com[up] &= bool(np.any(np.delete(enough, up)))
        known[4:] &= [bool(enough[i] and enough[j]) for i, j in _PAIRS]
    known[1:4] = com
    return known, com
