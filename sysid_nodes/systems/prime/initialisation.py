# SPDX-License-Identifier: Apache-2.0
"""A first trajectory from raw readings: no filter, only interpolation, and leg odometry where there is no mocap."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.contact_motion import contact_motion
from sysid_nodes.models.floating_base import contact_kinematics
from sysid_nodes.models.rotations import (
    quaternion_exp,
    quaternion_inverse,
    quaternion_log,
    quaternion_matrix,
    quaternion_product,
)
from sysid_nodes.sensors.accelerometer import Accelerometer
from sysid_nodes.sensors.late import LateSensor
from sysid_nodes.sensors.sensor import States
from sysid_nodes.signals.samples import Samples
from sysid_nodes.systems.prime.first_height import FALLS, first_heights
from sysid_nodes.systems.prime.model import Model
from sysid_nodes.systems.prime.problem import PrimeProblem
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]

BASE_STREAMS = frozenset({"gyroscope", "imu_orientation", "mocap_pose"})
"""Streams that tell how the base moves; without any of them the motion is lost."""


def initial_configurations(
    model: Model,
    samples: Mapping[str, Samples],
    stages: int,
    theta: Array | None = None,
    pose: Array | None = None,
) -> Array:
    """(N, nq) from the readings.

    Joints without any reading stay at zero. Orientation comes from the IMU, turned to the mocap's heading where there
    is one; position from leg odometry, moved onto the mocap's.

    Args:
        model: of the robot.
        samples: readings of each sensor by its name.
        stages: N.
        theta: (p,) parameters, the prior's mean if None; the heading of the IMU's zero counts where there is no mocap.
        pose: (7,) of the base where it was seen last, for a motion without mocap; None for the world's origin.
    """
    q = np.zeros((stages, model.robot.model.nq))
    joints = samples.get("joint_position")
    if joints is not None and len(joints):
        q[:, 7:] = _interpolate_missing(joints.steps, joints.values, stages)
    mocap = samples.get("mocap_pose")
    pose = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]) if pose is None else pose
    theta = model.parameters.mean if theta is None else theta
    heading = float(theta[model.parameters.sensors.get("imu_orientation", slice(0, 0))].sum())
    turns = "gyroscope" in samples
    q[:, 3:7] = _orientation(samples.get("imu_orientation"), mocap, stages, pose[3:], heading, turns=turns)
    q[:, :3] = _base_positions(model, q, samples, pose[:3])
    return q


def initial_trajectory(problem: PrimeProblem, q: Array, theta: Array) -> Trajectory:
    """Configurations (N, nq) and parameters with contact variables that fit them."""
    model, plane = problem.model, problem.law.plane
    gap = contact_kinematics(model.base, q).centre @ plane.axes[0] - model.base.contact_radii - plane.height
    mass = float(model.parameters.inertia(theta)[:, 0].sum())
    weight = mass * float(np.linalg.norm(model.base.tree.gravity))
    return problem.solve_contacts(Trajectory(q, problem.law.start(gap, weight / model.base.contacts), theta))


def _interpolate_missing(steps: npt.NDArray[np.intp], values: Array, stages: int) -> Array:
    """Values at every stage: linear between readings, constant beyond."""
    return np.array([np.interp(np.arange(stages), steps, column) for column in values.T]).T


def _interpolate_rotations(samples: Samples, quaternions: Array, stages: int) -> Array:
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


def _orientation(
    imu: Samples | None, mocap: Samples | None, stages: int, before: Array, heading: float, *, turns: bool
) -> Array:
    seen = None if mocap is None or not len(mocap) else _interpolate_rotations(mocap, mocap.values[:, 3:7], stages)
    if imu is None or not len(imu):
        return np.broadcast_to(before, (stages, 4)) if seen is None else _smooth_rotations(seen)
    tilted = _interpolate_rotations(imu, imu.values, stages)
    # With a gyroscope the first iteration smooths better than any filter.
    tilted = tilted if turns else _smooth_rotations(tilted)
    # The IMU has its own zero heading: the mean turn about the vertical that the mocap sees, or what is known of it.
    mean = -heading
    if seen is not None:
        turn = quaternion_product(seen, quaternion_inverse(tilted))
        about = 2.0 * np.arctan2(turn[:, 2], turn[:, 3])
        mean = float(np.arctan2(np.mean(np.sin(about)), np.mean(np.cos(about))))
    return quaternion_product(np.broadcast_to(quaternion_exp(np.array([0.0, 0.0, mean])), (stages, 4)), tilted)


def _smooth_rotations(quaternions: Array) -> Array:
    """Mean over a tenth of a second or so: readings turn by degrees from stage to stage, the robot does not."""
    reference = quaternions[:-1]
    turn = quaternion_log(quaternion_product(quaternion_inverse(reference), quaternions[1:]))
    path = np.concatenate([np.zeros((1, 3)), np.cumsum(turn, axis=0)])
    kernel = np.hanning(2 * _REACH + 3)[1:-1]
    stages = slice(_REACH, _REACH + len(path))  # "same" would be the kernel's length where that is the longer
    weight, *sums = (np.convolve(column, kernel)[stages] for column in (np.ones(len(path)), *path.T))
    mean = np.column_stack(sums) / weight[:, None]
    return quaternion_product(quaternions, quaternion_exp(mean - path))


_REACH = 7
"""Stages to both sides that a smoothed first guess looks at."""


def _base_positions(model: Model, q: Array, samples: Mapping[str, Samples], before: Array) -> Array:
    """Base positions (N, 3): the mocap's, carried on by the feet that stand where there are none.

    Without any it goes on from where the base was before. Along the ground the base moves against its low feet.
    """
    plane, mocap = model.law.plane, samples.get("mocap_pose")
    tangents = plane.axes[1:]
    kinematics = contact_kinematics(model.base, q)
    motion = contact_motion(kinematics, model.base.contact_radii, plane, 0.0, model.config.step, derivatives=False)
    stands = np.exp(-(((motion.gap - motion.gap.min(axis=1, keepdims=True)) / _LOW) ** 2))[1:-1, :, None]
    velocity = -np.sum(stands * motion.slip, axis=1) / np.sum(stands, axis=1)
    velocity = np.concatenate([velocity[:1], velocity, velocity[-1:]])
    moved = 0.5 * model.config.step * (velocity[1:] + velocity[:-1])
    along = np.concatenate([np.zeros((1, 2)), np.cumsum(moved, axis=0)])
    if mocap is None or not len(mocap):
        along += before @ tangents.T
    else:
        along += _interpolate_missing(mocap.steps, mocap.values[:, :3] @ tangents.T - along[mocap.steps], len(q))
    return with_first_heights(model, np.concatenate([along @ tangents, q[:, 3:]], axis=1), samples)[:, :3]


def with_first_heights(model: Model, q: Array, samples: Mapping[str, Samples]) -> Array:
    """Configurations (N, nq), their base's height anew, from readings.

    It is not summed up, or every change of feet would add to it: where a leg bears the base the lowest foot touches, at
    the height of the ground that the poses saw there (first_height.py).
    """
    plane, mocap = model.law.plane, samples.get("mocap_pose")
    normal, now = plane.axes[0], q[:, :3] @ plane.axes[0]
    feet = contact_kinematics(model.base, q).centre @ normal - model.base.contact_radii
    stood = plane.height + now - feet.min(axis=1)
    felt = _rising(model, q, samples.get("accelerometer"), normal)
    seen: tuple[npt.NDArray[np.int64], Array] = (np.zeros(0, dtype=np.int64), np.zeros(0))
    if mocap is not None and len(mocap):
        seen = mocap.steps, mocap.values[:, :3] @ normal
        above = seen[1] - stood[mocap.steps]
        if len(felt[0]):
            above = above[np.isin(mocap.steps, felt[0][felt[1] > -FALLS])]
        stood += np.quantile(above, _STANDING) if len(above) else 0.0
    q = q.copy()
    q[:, :3] += (first_heights(stood, seen, felt, model.config.step) - now)[:, None] * normal
    return q


def first_seen(samples: Mapping[str, Samples], stages: int) -> int:
    """First stage at which anything reads the base's motion; the number of stages where nothing does.

    What encoders alone tell of an impact before it is an impact of anything: it was taken for another body.
    """
    heard = (samples[name].steps for name in BASE_STREAMS if name in samples)
    return min((int(steps[0]) for steps in heard if len(steps)), default=stages)


def shows_height(model: Model, samples: Mapping[str, Samples], stages: int) -> bool:
    """Whether anything has told for a few stages how high the base is: poses, or legs that bear it.

    In the air nothing else does. Without an accelerometer a robot is taken to stand.
    """
    felt, mocap = samples.get("accelerometer"), samples.get("mocap_pose")
    if felt is None or not len(felt):
        return True
    gravity = float(np.linalg.norm(model.base.tree.gravity))
    told = felt.steps[np.linalg.norm(felt.values, axis=1) > gravity - FALLS]
    told = told if mocap is None else np.concatenate([told, mocap.steps])
    return bool(np.any(told < stages - _LANDED))


def _rising(model: Model, q: Array, samples: Samples | None, normal: Array) -> tuple[npt.NDArray[np.int64], Array]:
    """Stages (K,) with an accelerometer's reading, and its link's acceleration (K,) along the normal [m/s2]."""
    if samples is None or not len(samples):
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    in_time = (own.inner if isinstance(own, LateSensor) else own for own in model.sensors)
    sensor = next(own for own in in_time if isinstance(own, Accelerometer))
    states = States(q[samples.steps], np.zeros((len(samples), model.base.nv)))
    force = np.einsum("kij,kj->ki", quaternion_matrix(sensor.frame.pose(states).quaternion), samples.values)
    return samples.steps, (force + sensor.gravity) @ normal


_LOW = 3e-3
"""Height above the lowest foot at which another hardly counts as standing [m]: the readings' noise."""

_STANDING = 0.3
"""Share of the stages that a robot stands at least, where it does not fall: it never is below the ground."""

_LANDED = 8
"""Stages from the first that tells of a height on, in which it tells how fast the base goes up or down."""
