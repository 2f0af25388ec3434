# SPDX-License-Identifier: Apache-2.0
"""Sensor readings that a simulated arm publishes of its true state."""

from __future__ import annotations

import numpy as np

from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.robots import Robot
from sysid_nodes.robots.robot import Array


def read_joints(
    robot: Robot,
    rng: np.random.Generator,
    *,
    stamp: float,
    q: Array,
    qd: Array,
    tau: Array,
    quantise: bool,
    velocity_error: float,
    torque_relative: float,
    stamp_error: float,
) -> RawJointState:
    """A reading with errors that are uniform within their bounds.

    Args:
        robot: names, encoder steps, and which positions arrive wrapped to [-pi, pi].
        rng: source of the errors; the same number of draws every time.
        stamp: true time [s].
        q, qd, tau: (n,) true position, velocity and motor torque.
        quantise: round positions to whole encoder steps.
        velocity_error: largest error of a velocity [rad/s].
        torque_relative: |torque - reading| <= torque_relative |reading|, which is how the identifier words it.
        stamp_error: largest error of the stamp [s].
    """
    if quantise:
        step = np.where(robot.encoder_step > 0.0, robot.encoder_step, 1.0)
        q = np.where(robot.encoder_step > 0.0, np.round(q / step) * step, q)
    wrapped = q - 2.0 * np.pi * np.round(q / (2.0 * np.pi))
    noise = rng.uniform(-1.0, 1.0, (2, robot.n))
    return RawJointState(
        stamp=stamp + stamp_error * rng.uniform(-1.0, 1.0),
        names=robot.joint_names,
        position=np.where(robot.wraps, wrapped, q),
        velocity=qd + velocity_error * noise[0],
        effort=tau / (1.0 + torque_relative * noise[1]),
    )
