# SPDX-License-Identifier: Apache-2.0
"""The first guess of a window that has moved on: the last answer, carried on by what IMU and encoders read.

The guess is where a solve begins, no measurement: nothing of it stays in the answer. But a Gauss-Newton step from a
motion whose accelerations are far off has the contacts in the wrong mode and another step to take. Without an IMU the
base goes on at constant velocity.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.discrete_motion import difference
from sysid_nodes.models.rotations import quaternion_exp, quaternion_matrix, quaternion_product
from sysid_nodes.sensors import Samples
from sysid_nodes.sensors.accelerometer import Accelerometer
from sysid_nodes.sensors.gyroscope import Gyroscope
from sysid_nodes.sensors.late import LateSensor
from sysid_nodes.systems.prime.problem import PrimeProblem
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]

_PULL = 0.3
"""Share of the way to an encoder's reading that joints go at a stage, besides their velocity: the differences of
positions as read are several times noisier than velocities, whose sum drifts away."""


def predict(point: Trajectory, problem: PrimeProblem, samples: Mapping[str, Samples], kept: int) -> Trajectory:
    """The last answer's newest stages, and new ones as IMU and encoders say.

    Args:
        point: the last answer.
        problem: of the window that has moved on.
        samples: its readings of each sensor by its name.
        kept: stages of the last answer that are still in it.
    """
    q, w = point.q[-kept:], point.w[-kept:]
    new = problem.stages - kept
    if not new:
        return Trajectory(q, w, point.theta)
    last = Trajectory(q, w, point.theta)
    joints = _joints(last, problem, samples)
    q = np.concatenate([q, np.concatenate([_base(last, problem, samples), joints], axis=1)])
    # The last stage's contact variables were not used: new ones go on with those before, settled by the step.
    w = np.concatenate([w[:-1], np.repeat(w[-2:-1], new + 1, axis=0)])
    return problem.solve_contacts(Trajectory(q, w, point.theta), first=kept - 2)


def _joints(last: Trajectory, problem: PrimeProblem, samples: Mapping[str, Samples]) -> Array:
    """(K, n) positions of the joints at the new stages; what nothing is read of goes on at constant velocity."""
    q, dt, offsets = last.q[:, 7:], problem.law.dt, problem.model.parameters.offsets
    velocity = _readings(samples, "joint_velocity", slice(len(q), problem.stages), q.shape[1])
    position = _readings(samples, "joint_position", slice(len(q), problem.stages), q.shape[1])
    if offsets.start < offsets.stop:
        position -= last.theta[offsets]
    moved = np.where(np.isfinite(velocity), dt * velocity, q[-1] - q[-2])
    rows = [q[-1]]
    for step, read in zip(moved, position, strict=True):
        there = rows[-1] + step
        rows.append(there + _PULL * np.nan_to_num(read - there))
    return np.array(rows[1:])


def _base(last: Trajectory, problem: PrimeProblem, samples: Mapping[str, Samples]) -> Array:
    """(K, 7) poses of the base at the new stages, the sums of what an IMU on it reads.

    A reading counts for the step that its stage ends (gyroscope) or lies in the middle of (accelerometer), whatever
    its window: half a step's difference does not matter to a guess.
    """
    q, dt = last.q[:, :7], problem.law.dt
    turning, _ = _imu(Gyroscope, last, problem, samples, 0)
    pushed, offset = _imu(Accelerometer, last, problem, samples, -1)
    turns = np.where(np.isfinite(turning), dt * turning, difference(q[-2], q[-1])[3:6])
    orientation = [q[-1, 3:7]]
    for turn in quaternion_exp(turns):
        orientation.append(quaternion_product(orientation[-1], turn))
    rotation = quaternion_matrix(np.array([q[-2, 3:7], *orientation]))
    gained = (rotation[1:-1] @ pushed[:, :, None])[:, :, 0] + problem.model.base.tree.gravity
    arms = rotation @ offset  # from the base to the accelerometer, which is what its readings move
    moved = q[-1, :3] + arms[1] - q[-2, :3] - arms[0] + np.cumsum(dt**2 * np.nan_to_num(gained), axis=0)
    position = q[-1, :3] + arms[1] + np.cumsum(moved, axis=0) - arms[2:]
    return np.concatenate([position, np.array(orientation[1:])], axis=1)


def _imu(
    kind: type[Gyroscope | Accelerometer],
    last: Trajectory,
    problem: PrimeProblem,
    samples: Mapping[str, Samples],
    shift: int,
) -> tuple[Array, Array]:
    """(K, 3) readings in the base's axes, less their bias, `shift` stages from the new ones; where the sensor is (3,).

    NaN where there are none, as of a sensor on a limb.
    """
    chosen = slice(len(last.q) + shift, problem.stages + shift)
    for sensor in problem.model.sensors:
        inner = sensor.inner if isinstance(sensor, LateSensor) else sensor
        if isinstance(inner, kind) and inner.frame.on_base:
            own = last.theta[problem.model.parameters.sensors[inner.name]]
            bias = own[:3] if inner.parameters else 0.0
            read = _readings(samples, inner.name, chosen, 3) - bias
            return read @ inner.frame.rotation.T, inner.frame.offset
    return np.full((chosen.stop - chosen.start, 3), np.nan), np.zeros(3)


def _readings(samples: Mapping[str, Samples], name: str, stages: slice, width: int) -> Array:
    """(K, width) usable readings of some stages, NaN where there is none."""
    out = np.full((stages.stop - stages.start, width), np.nan)
    if name in samples:
        own = samples[name].between(stages.start, stages.stop)
        out[own.steps[own.usable]] = own.values[own.usable]
    return out
