"""A first trajectory from raw readings: no filter, only interpolation, and leg odometry where there is no mocap."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from sysid_nodes.estimators.prime.problem import Model, PrimeProblem
from sysid_nodes.estimators.prime.trajectory import Trajectory
from sysid_nodes.models.contact_motion import contact_arms
from sysid_nodes.models.floating_base import contact_kinematics
from sysid_nodes.models.rotations import quaternion_exp, quaternion_inverse, quaternion_log, quaternion_product
from sysid_nodes.signals.samples import Samples

Array = npt.NDArray[np.float64]


def initial_configurations(model: Model, samples: Mapping[str, Samples], stages: int) -> Array:
    """(N, nq) from the readings.

    Joints without any reading stay at zero. Orientation comes from the IMU, turned to the mocap's heading where there
    is one; position from leg odometry (the lower foot stands still), moved onto the mocap's.
    """
    q = np.zeros((stages, model.robot.model.nq))
    joints = samples.get("joint_position")
    if joints is not None and len(joints):
        q[:, 7:] = _filled(joints.steps, joints.values, stages)
    mocap = samples.get("mocap_pose")
    q[:, 3:7] = _orientation(samples.get("imu_orientation"), mocap, stages, turns="gyroscope" in samples)
    q[:, :3] = _position(model, q, mocap)
    return q


def initial_trajectory(problem: PrimeProblem, q: Array, theta: Array) -> Trajectory:
    """Configurations (N, nq) and parameters with contact variables that fit them."""
    model, plane = problem.model, problem.law.plane
    gap = contact_kinematics(model.base, q).centre @ plane.axes[0] - model.base.contact_radii - plane.height
    mass = float(model.parameters.inertia(theta)[:, 0].sum())
    weight = mass * float(np.linalg.norm(model.base.tree.gravity))
    return problem.settled(Trajectory(q, problem.law.start(gap, weight / model.base.contacts), theta))


def _filled(steps: npt.NDArray[np.intp], values: Array, stages: int) -> Array:
    """Values at every stage: linear between readings, constant beyond."""
    return np.array([np.interp(np.arange(stages), steps, column) for column in values.T]).T


def _filled_rotation(samples: Samples, quaternions: Array, stages: int) -> Array:
    """Quaternions at every stage, interpolated along the shortest way."""
    steps = np.arange(stages)
    after = np.clip(np.searchsorted(samples.steps, steps), 1, max(len(samples) - 1, 1))
    after = np.minimum(after, len(samples) - 1)
    before = np.maximum(after - 1, 0)
    width = np.maximum(samples.steps[after] - samples.steps[before], 1)
    share = np.clip((steps - samples.steps[before]) / width, 0.0, 1.0)
    first, last = quaternions[before], quaternions[after]
    turn = quaternion_log(quaternion_product(quaternion_inverse(first), last))
    return quaternion_product(first, quaternion_exp(share[:, None] * turn))


def _orientation(imu: Samples | None, mocap: Samples | None, stages: int, *, turns: bool) -> Array:
    upright = np.broadcast_to(np.array([0.0, 0.0, 0.0, 1.0]), (stages, 4)).copy()
    seen = None if mocap is None or not len(mocap) else _filled_rotation(mocap, mocap.values[:, 3:7], stages)
    if imu is None or not len(imu):
        return upright if seen is None else _smoothed(seen)
    tilted = _filled_rotation(imu, imu.values, stages)
    # With a gyroscope the first iteration smooths better than any filter.
    tilted = tilted if turns else _smoothed(tilted)
    if seen is None:
        return tilted
    # The IMU has its own zero heading: the mean turn about the vertical that the mocap sees.
    turn = quaternion_product(seen, quaternion_inverse(tilted))
    heading = 2.0 * np.arctan2(turn[:, 2], turn[:, 3])
    mean = np.arctan2(np.mean(np.sin(heading)), np.mean(np.cos(heading)))
    return quaternion_product(np.broadcast_to(quaternion_exp(np.array([0.0, 0.0, mean])), (stages, 4)), tilted)


def _smoothed(quaternions: Array) -> Array:
    """Mean over a tenth of a second or so: readings turn by degrees from stage to stage, the robot does not."""
    reference = quaternions[:-1]
    turn = quaternion_log(quaternion_product(quaternion_inverse(reference), quaternions[1:]))
    path = np.concatenate([np.zeros((1, 3)), np.cumsum(turn, axis=0)])
    kernel = np.hanning(2 * _REACH + 3)[1:-1]
    weight = np.convolve(np.ones(len(path)), kernel, mode="same")
    mean = np.array([np.convolve(column, kernel, mode="same") for column in path.T]).T / weight[:, None]
    return quaternion_product(quaternions, quaternion_exp(mean - path))


_REACH = 7
"""Stages to both sides that a smoothed first guess looks at."""


def _position(model: Model, q: Array, mocap: Samples | None) -> Array:
    """Base positions (N, 3)."""
    base, plane = model.base, model.law.plane
    lowest = contact_kinematics(base, q).centre + contact_arms(plane, base.contact_radii)
    down = lowest @ plane.axes[0]
    foot = np.argmin(down, axis=1)
    # The lower foot of each pair of stages stands; the base moves against it.
    rows = np.arange(len(q) - 1)
    moved = lowest[rows, foot[1:]] - lowest[rows + 1, foot[1:]]
    odometry = np.concatenate([np.zeros((1, 3)), np.cumsum(moved, axis=0)])
    if mocap is not None and len(mocap):
        return odometry + _filled(mocap.steps, mocap.values[:, :3] - odometry[mocap.steps], len(q))
    normal = plane.axes[0]
    height = plane.height - (down.min(axis=1) + odometry @ normal)
    return np.asarray(odometry + height[:, None] * normal)
