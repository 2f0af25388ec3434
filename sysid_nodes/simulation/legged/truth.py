# SPDX-License-Identifier: Apache-2.0
"""Truth that an estimator is to find, and must not see: state, contact forces and the body's inertial parameters.

A tick k lasts from t_k to t_{k+1}. Forces and torques of the tick are means over it (impulse divided by duration):
what a time-stepping estimator can know. The force at the instant t_k is given beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from sysid_nodes.exceptions import InputError
from sysid_nodes.robots.robot import Array


@dataclass(frozen=True)
class LeggedTruth:
    """Constants of a run.

    Attributes:
        body: index of the loaded body, as of Robot.body_index.
        theta: (10,) its inertial parameters, load included.
        parameters: (n + 1, 10) of all moving bodies, the base first.
        total_mass: [kg].
        friction: coefficient between feet and ground.
        contacts: names of the k contact points.
        gyro_bias, accelerometer_bias: (3,) of the IMU, in its frame [rad/s, m/s2].
        mocap_bias: (3, 3) B of the measured orientation R B.
    """

    body: int
    theta: Array
    parameters: Array
    total_mass: float
    friction: float
    contacts: tuple[str, ...]
    gyro_bias: Array
    accelerometer_bias: Array
    mocap_bias: Array


@dataclass(frozen=True)
class TruthSample:
    """One tick of length h from t on; all but the means are at t. Forces act on the robot, world frame [N].

    Attributes:
        time: t since the start of the simulation [s].
        duration: h [s].
        q, v: state in pinocchio's conventions.
        torque: (n,) motor torque, constant over the tick [N m].
        force: (k, 3) contact forces at t.
        force_mean: (k, 3) contact forces, mean over the tick.
        contact: (k,) part of the tick that the point is in contact, 0 to 1.
        position: (k, 3) lowest points of the contact spheres [m].
        gap: (k,) of these above the ground, negative where ground and foot yield [m].
        other_mean: (3,) all other external forces (push, body on the ground), mean over the tick.
    """

    time: float
    duration: float
    q: Array
    v: Array
    torque: Array
    force: Array
    force_mean: Array
    contact: Array
    position: Array
    gap: Array
    other_mean: Array


@dataclass(frozen=True)
class TruthSeries:
    """N ticks of equal length, arrays stacked along the first axis; attributes as of TruthSample."""

    time: Array
    duration: float
    q: Array
    v: Array
    torque: Array
    force: Array
    force_mean: Array
    contact: Array
    position: Array
    gap: Array
    other_mean: Array


def stack(samples: Sequence[TruthSample]) -> TruthSeries:
    """A series of consecutive ticks.

    Raises:
        InputError: there is no sample.
    """
    if not samples:
        raise InputError("no truth was recorded")
    columns = {
        item.name: np.array([getattr(sample, item.name) for sample in samples])
        for item in fields(TruthSample)
        if item.name != "duration"
    }
    return TruthSeries(duration=samples[0].duration, **columns)
