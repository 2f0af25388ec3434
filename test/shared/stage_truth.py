# SPDX-License-Identifier: Apache-2.0
"""Motions of a legged robot in MuJoCo at the stages of an estimate, and what sensors would read there."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import mujoco
import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.robots import Robot
from sysid_nodes.sensors import Samples

Array = npt.NDArray[np.float64]

STEP, TICKS = 0.01, 20
"""The estimator's step [s], and the simulator's steps in it."""

TORQUE_NOISE = 0.003
"""Of the torque sensors, as a share of the largest torque."""


def pinocchio_order(qpos: Array) -> Array:
    """Configurations with the quaternion x, y, z, w."""
    return qpos[..., [0, 1, 2, 4, 5, 6, 3, *range(7, qpos.shape[-1])]]


@dataclass(frozen=True)
class StageTruth:
    """Stages of a motion: true configurations, torques and contact forces about each, mass of the base [kg]."""

    q: Array
    torque: Array
    force: Array
    mass: float


def contact_forces(model: mujoco.MjModel, data: mujoco.MjData, feet: list[int]) -> Array:
    """(nc, 3) on the robot in the world."""
    out, local = np.zeros((len(feet), 3)), np.zeros(6)
    for i in range(data.ncon):
        contact = data.contact[i]
        mujoco.mj_contactForce(model, data, i, local)
        held = contact.frame.reshape(3, 3).T @ local[:3]
        out[feet.index(int(max(contact.geom)))] += held if contact.geom[0] < contact.geom[1] else -held
    return out


def averages(q: Array, torque: Array, force: Array) -> tuple[Array, Array, Array]:
    """Configurations at the stages, torques and forces averaged about each with a triangle, without the first 0.3 s."""
    weight = 1.0 - np.abs(np.arange(-TICKS, TICKS) + 0.5) / TICKS
    weight /= weight.sum()
    at = np.arange(round(0.3 / STEP) * TICKS, len(q) - TICKS, TICKS)

    def about(values: Array) -> Array:
        return np.array([np.tensordot(weight, values[k - TICKS : k + TICKS], axes=1) for k in at])

    return q[at], about(torque), about(force)


def readings(robot: Robot, truth: StageTruth) -> dict[str, Samples]:
    """Noisy readings of joints, torques, gyroscope, orientation and motion capture."""
    rng, count = np.random.default_rng(1), len(truth.q)
    quaternion = truth.q[:, 3:7]
    rotation = np.array([pinocchio.Quaternion(x).matrix() for x in quaternion])
    turn = [pinocchio.log3(a.T @ b) / STEP for a, b in itertools.pairwise(rotation)]

    def samples(values: Array, sigma: float, first: int = 0) -> Samples:
        noisy = values + sigma * rng.normal(size=values.shape)
        return Samples(np.arange(first, count), noisy, np.ones(len(noisy)))

    pose = np.concatenate([truth.q[:, :3] + 1e-3 * rng.normal(size=(count, 3)), quaternion], axis=1)
    return {
        "joint_position": samples(truth.q[:, 7:], 3e-4),
        "joint_torque": samples(truth.torque, TORQUE_NOISE * float(np.abs(truth.torque).max())),
        "gyroscope": samples(np.array(turn), 0.005, first=1),
        "imu_orientation": samples(quaternion, 0.0),
        "mocap_pose": samples(pose, 0.0),
    }
