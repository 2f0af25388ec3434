# SPDX-License-Identifier: Apache-2.0
"""Measurement costs of the paper (Table V) on a state vector, with the noise of a log or the paper's coefficients.

Half the sum of squares of base position, base velocity (differenced motion capture), base orientation, angular velocity
(gyroscope), joint positions and velocities. Joint torques are the disturbance's own cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pinocchio

from benchmarks.prime_log import AlignedLog
from sysid_nodes.models.rotations import (
    quaternion_exp,
    quaternion_inverse,
    quaternion_log,
    quaternion_matrix,
    quaternion_product,
    right_log_jacobian,
)
from sysid_nodes.sensors import build_sensors
from sysid_nodes.systems.prime import Model

Array = npt.NDArray[np.float64]

TABLE_V = {
    "position": 4e2,
    "velocity": 1e1,
    "orientation": 3e1,
    "angular": 1.5e2,
    "joint_position": 2e2,
    "joint_velocity": 4e1,
    "torque": 2e1,
    "parameters": 4e-2,
}
"""Coefficients c of c |r|^2."""


@dataclass(frozen=True)
class Weights:
    """1 / sigma of each kind of reading; zero where the log has none.

    Attributes:
        linear: (N, 2 nv) of the coordinates p, (orientation: zero), joints, v.
        orientation: (N,).
        force: (N, nv) of the disturbance.
        parameters: (13,) of theta and of the orientation bias.
    """

    linear: Array
    orientation: Array
    force: Array
    parameters: Array


@dataclass(frozen=True)
class MeasurementCosts:
    """All readings of a log as targets for the states of paper_dynamics.

    Attributes:
        weights: of each.
        target: (N, 2 nv) readings in the state's coordinates.
        rotation: (N, 3, 3) measured orientations.
        torque: (N, nv) measured generalised forces over the step that begins.
        prior: (13,) of theta and bias.
    """

    weights: Weights
    target: Array
    rotation: Array
    torque: Array
    prior: Array

    def cost(self, k: int, x: Array) -> float:
        """Of the readings at step k."""
        width = self.target.shape[1]
        r = self.weights.linear[k] * (x[:width] - self.target[k])
        out = 0.5 * float(r @ r)
        if self.weights.orientation[k] > 0.0:
            error = pinocchio.log3(self.rotation[k].T @ pinocchio.exp3(x[3:6]) @ pinocchio.exp3(x[-3:]))
            out += 0.5 * float(error @ error) * self.weights.orientation[k] ** 2
        return out

    def derivatives(self, x: Array) -> tuple[Array, Array]:
        """Gradients (N, nx) and Gauss-Newton Hessians (N, nx, nx) at states (N, nx)."""
        count, nx = x.shape
        width = self.target.shape[1]
        gradient, hessian = np.zeros((count, nx)), np.zeros((count, nx, nx))
        square = self.weights.linear**2
        gradient[:, :width] = square * (x[:, :width] - self.target)
        hessian[:, np.arange(width), np.arange(width)] = square
        turn, bias = quaternion_exp(x[:, 3:6]), quaternion_exp(x[:, -3:])
        predicted = quaternion_matrix(quaternion_product(turn, bias))
        error = np.array([pinocchio.log3(m.T @ p) for m, p in zip(self.rotation, predicted, strict=True)])
        by_angle = right_log_jacobian(error)
        own = by_angle @ quaternion_matrix(bias).swapaxes(-1, -2) @ np.linalg.inv(right_log_jacobian(x[:, 3:6]))
        jacobian = np.zeros((count, 3, nx))
        jacobian[:, :, 3:6] = own
        jacobian[:, :, -3:] = by_angle @ np.linalg.inv(right_log_jacobian(x[:, -3:]))
        jacobian *= self.weights.orientation[:, None, None]
        gradient += np.einsum("kij,ki->kj", jacobian, error * self.weights.orientation[:, None])
        hessian += jacobian.swapaxes(-1, -2) @ jacobian
        return gradient, hessian


def measurement_costs(model: Model, log: AlignedLog, *, paper: bool = False) -> MeasurementCosts:
    """Costs of a log aligned with torques as means over the step that begins.

    Args:
        model: of the estimator; gives the noise of every sensor and the prior.
        log: readings.
        paper: weights of Table V instead of the noise.
    """
    nv, steps, config = model.base.nv, len(log.steps), model.config
    dt, sensors = config.step, config.sensors
    samples = log.steps.samples
    target, linear = np.zeros((steps, 2 * nv)), np.zeros((steps, 2 * nv))
    rotation, orientation = np.tile(np.eye(3), (steps, 1, 1)), np.zeros(steps)

    def weight(sigma: float, name: str, gain: Array) -> Array:
        return np.full_like(gain, np.sqrt(2.0 * TABLE_V[name])) if paper else gain / sigma

    mocap = samples["mocap_pose"]
    at, pose = mocap.steps, quaternion_matrix(mocap.values[:, 3:7])
    target[at, :3], rotation[at] = mocap.values[:, :3], pose
    linear[at, :3] = weight(sensors.mocap_pose.position_sigma, "position", mocap.weights)[:, None]
    orientation[at] = weight(sensors.mocap_pose.orientation_sigma, "orientation", mocap.weights)
    pairs = np.flatnonzero(np.diff(at) == 1)
    both = at[pairs + 1]
    moved = (mocap.values[pairs + 1, :3] - mocap.values[pairs, :3]) / dt
    target[both, nv : nv + 3] = np.einsum("kji,kj->ki", pose[pairs], moved)
    differenced = np.sqrt(2.0) * sensors.mocap_pose.position_sigma / dt
    linear[both, nv : nv + 3] = weight(differenced, "velocity", mocap.weights[pairs])[:, None]
    gyro = samples["gyroscope"]
    mount = log.robot.model.frames[log.robot.model.getFrameId(log.robot.imu)].placement.rotation
    target[gyro.steps, nv + 3 : nv + 6] = gyro.values @ mount.T
    linear[gyro.steps, nv + 3 : nv + 6] = weight(sensors.gyroscope.sigma, "angular", gyro.weights)[:, None]
    for name, first in (("joint_position", 6), ("joint_velocity", nv + 6)):
        joints = samples[name]
        columns = slice(first, first + nv - 6)
        target[joints.steps, columns] = joints.values
        linear[joints.steps, columns] = weight(getattr(sensors, name).sigma, name, joints.weights)[:, None]
    torque, force = np.zeros((steps, nv)), np.zeros((steps, nv))
    read = samples["joint_torque"]
    torque[read.steps, 6:] = read.values
    (sensor,) = (entry for entry in build_sensors(log.robot, sensors) if entry.name == "joint_torque")
    sigma = np.full((steps, nv - 6), 1e2)
    sigma[read.steps] = np.hypot(1.0 / sensor.scale(read), config.process.torque)  # type: ignore[attr-defined]
    force[:, :3], force[:, 3:6] = 1.0 / config.process.force, 1.0 / config.process.moment
    force[:, 6:] = np.where(sigma < 1e2, np.sqrt(2.0 * TABLE_V["torque"]), 1e-2) if paper else 1.0 / sigma
    parameters = model.parameters
    bias = parameters.sensors["mocap_pose"]
    inverse = 1.0 / np.concatenate([parameters.sigma[:10], parameters.sigma[bias]])
    if paper:
        inverse[:10] = np.sqrt(2.0 * TABLE_V["parameters"])
    prior = np.concatenate([parameters.mean[:10], parameters.mean[bias]])
    return MeasurementCosts(Weights(linear, orientation, force, inverse), target, rotation, torque, prior)


def first_states(model: Model, q: Array, costs: MeasurementCosts, coordinates: Array) -> Array:
    """(N, nx) states from configurations (N, nq), velocities as differences over the step before."""
    dt, nv = model.config.step, model.base.nv
    velocity = np.zeros((len(q), nv))
    rotation = quaternion_matrix(q[:-1, 3:7])
    velocity[1:, :3] = np.einsum("kji,kj->ki", rotation, np.diff(q[:, :3], axis=0)) / dt
    velocity[1:, 3:6] = quaternion_log(quaternion_product(quaternion_inverse(q[:-1, 3:7]), q[1:, 3:7])) / dt
    velocity[1:, 6:] = np.diff(q[:, 7:], axis=0) / dt
    velocity[0] = velocity[1]
    return np.concatenate([coordinates, velocity, np.tile(costs.prior, (len(q), 1))], axis=1)
