# SPDX-License-Identifier: Apache-2.0
"""A generalised-momentum observer with one contact force, or wrench, a leg: the classic without any optimisation.

    r = K (p - p_0 - integral of (B tau + C' v - g + r) dt),   p = M v

follows the generalised force of all contacts with a lag of 1/K (De Luca et al. 2006; for legged robots Bledt et al.
2018). A leg's own joints give its foot's force, J' f = r, or the wrench of a flat foot. The model is the nominal one
throughout: what the torso carries hardly enters the legs' rows, and is then weighed by the mean of all normal forces.
Configuration: the same measured kinematics that the others start from; base velocity from its smoothed differences.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pinocchio

from benchmarks.peers.estimate import PeerEstimate
from benchmarks.prime_log import AlignedLog
from sysid_nodes.models.contact_motion import contact_arms
from sysid_nodes.models.rotations import quaternion_matrix, skew
from sysid_nodes.systems.prime import Model, PrimeConfig
from sysid_nodes.systems.prime.initialisation import initial_configurations

Array = npt.NDArray[np.float64]

GAIN = 400.0
"""K [1/s]; of 60 to 800 the last that still gains much. Real joints, with friction and slower torque, need less."""

_PERIOD = 0.002
_SMOOTHING = 0.06
"""Half the width of the window over which the base's velocity is averaged [s]."""


def peer_config(config: PrimeConfig) -> PrimeConfig:
    """Alignment at the joints' own rate, torques as means over the step that begins."""
    sensors = config.sensors
    sensors = replace(
        sensors,
        joint_velocity=replace(sensors.joint_velocity, window="point"),
        gyroscope=replace(sensors.gyroscope, window="point"),
        accelerometer=replace(sensors.accelerometer, window="point"),
        joint_torque=replace(sensors.joint_torque, window="after"),
    )
    return replace(config, step=_PERIOD, sensors=sensors)


def estimate(model: Model, log: AlignedLog, times: Array, *, gain: float = GAIN) -> PeerEstimate:
    """Forces as means over the steps that begin at `times`, moved back by the observer's lag.

    Args:
        model: of the estimator, with `peer_config`.
        log: aligned with `peer_config`.
        times: (N,) of the steps to report, evenly spaced [s].
        gain: K [1/s].
    """
    start = time.perf_counter()
    q, v, torque = _signals(model, log)
    force = _forces(model, q, _residuals(model, q, v, torque, gain))
    dt, stamps = float(times[1] - times[0]), log.steps.times
    total = np.concatenate([np.zeros((1, force[0].size)), np.cumsum(force.reshape(len(q), -1), axis=0) * _PERIOD])
    grid = np.append(stamps, stamps[-1] + _PERIOD) - 1.0 / gain
    ends = [np.array([np.interp(times + shift, grid, column) for column in total.T]).T for shift in (0.0, dt)]
    mean = ((ends[1] - ends[0]) / dt).reshape(len(times), *force.shape[1:])
    robot = log.robot
    nominal = robot.inertial_parameters()
    body = int(model.parameters.bodies[0])
    normal = mean[3:-3].sum(axis=1)[:, 2].mean()
    weighed = normal / float(np.linalg.norm(model.base.tree.gravity)) - nominal[:, 0].sum() + nominal[body, 0]
    at = np.clip(np.round((times - stamps[0]) / _PERIOD).astype(int), 0, len(q) - 1)
    return PeerEstimate(
        q=q[at],
        force=mean,
        window="after",
        theta=np.concatenate([[weighed], np.zeros(9)]),
        seconds=time.perf_counter() - start,
        corners=False,
        com_known=False,
    )


def _signals(model: Model, log: AlignedLog) -> tuple[Array, Array, Array]:
    """q (N, nq), v (N, nv) and joint torques (N, n) at every step."""
    count, samples = len(log.steps), log.steps.samples
    q = initial_configurations(model, samples, count)

    def interpolate(name: str) -> Array:
        found = samples[name]
        return np.array([np.interp(np.arange(count), found.steps, column) for column in found.values.T]).T

    kernel = np.hanning(2 * round(_SMOOTHING / _PERIOD) + 1)
    weight = np.convolve(np.ones(count), kernel, mode="same")
    smooth = np.array([np.convolve(column, kernel, mode="same") for column in q[:, :3].T]).T / weight[:, None]
    world = np.gradient(smooth, _PERIOD, axis=0)
    mount = log.robot.model.frames[log.robot.model.getFrameId(log.robot.imu)].placement.rotation
    linear = np.einsum("kji,kj->ki", quaternion_matrix(q[:, 3:7]), world)
    v = np.concatenate([linear, interpolate("gyroscope") @ mount.T, interpolate("joint_velocity")], axis=1)
    return q, v, interpolate("joint_torque")


def _residuals(model: Model, q: Array, v: Array, torque: Array, gain: float) -> Array:
    """(N, nv) r."""
    robot = model.robot.model.copy()
    robot.armature = np.concatenate([np.zeros(6), model.base.motor.armature])
    motor = model.base.motor
    friction = motor.coulomb * np.tanh(v[:, 6:] / 0.02) + motor.viscous * v[:, 6:] + motor.offset
    given = np.concatenate([np.zeros((len(q), 6)), torque - friction], axis=1)
    data = robot.createData()
    out = np.zeros_like(v)
    first, integral, r = np.zeros(v.shape[1]), np.zeros(v.shape[1]), np.zeros(v.shape[1])
    for k in range(len(q)):
        mass = pinocchio.crba(robot, data, q[k])
        momentum = (np.triu(mass) + np.triu(mass, 1).T) @ v[k]
        coriolis = pinocchio.computeCoriolisMatrix(robot, data, q[k], v[k])
        drift = coriolis.T @ v[k] - pinocchio.computeGeneralizedGravity(robot, data, q[k])
        if k == 0:
            first, r = momentum, -(given[0] + drift)
            integral = -r / gain
        r = gain * (momentum - first - integral)
        out[k] = r
        integral = integral + (given[k] + drift + r) * _PERIOD
    return out


def _forces(model: Model, q: Array, residual: Array) -> Array:
    """(N, nc, 3): each foot's force from its leg's joints, shared evenly by its points; only the sum means anything."""
    base = model.base
    kinematics = base.kernel.kinematics(np.ascontiguousarray(q))
    arms = contact_arms(model.law.plane, base.contact_radii)
    linear, angular = kinematics[2] - skew(arms) @ kinematics[3], kinematics[3]
    out = np.zeros((len(q), base.contacts, 3))
    for body in np.unique(base.tree.contact_bodies):
        points = np.flatnonzero(base.tree.contact_bodies == body)
        columns = 6 + np.array(_leg(base.tree.parents, int(body)))
        wrench = linear[:, points].mean(axis=1)[:, :, columns]
        if len(points) > 1:
            wrench = np.concatenate([wrench, angular[:, points[0]][:, :, columns]], axis=1)
        gram = wrench @ wrench.swapaxes(-1, -2) + 1e-9 * np.eye(wrench.shape[1])
        found = np.linalg.solve(gram, wrench @ residual[:, columns, None])[:, :3, 0]
        out[:, points] = found[:, None] / len(points)
    return out


def _leg(parents: npt.NDArray[np.int64], body: int) -> list[int]:
    """Joints (0 for the first after the base) from the base to a body (1 for the first after the base)."""
    joints = []
    while body > 0:
        joints.append(body - 1)
        body = int(parents[body - 1])
    return joints[::-1]
