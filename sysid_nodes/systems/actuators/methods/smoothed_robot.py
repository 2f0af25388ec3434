# SPDX-License-Identifier: Apache-2.0
"""The torque oracle of a whole robot: joints move each other, so that a torque needs the motion of all.

Each joint is smoothed along what the filtered motion of the others asks of it, then once more along their smoothed
motion, in which they turn over as suddenly as dry friction lets them. The torque is the rigid bodies' along the
smoothed motion of all joints, and its band counts how well each of their accelerations is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel.joint_law import INERTIA, LOAD
from sysid_nodes.models.joint_load import JointLoad, inertia_matrices, joint_load
from sysid_nodes.robots import Robot
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.methods.smoothed_joint import SmoothedJoint, smooth_joint
from sysid_nodes.systems.actuators.preparation import JointMotion

Array = npt.NDArray[np.float64]


def smooth_robot(
    motions: Sequence[JointMotion], robot: Robot, laws: Sequence[Array], config: ActuatorConfig
) -> tuple[SmoothedJoint, ...]:
    """All joints of a robot along one log.

    Args:
        motions: of `prepare`, in the robot's order.
        robot: its rigid bodies.
        laws: (L,) fitted ones.
        config: of the identification.

    Raises:
        SamplesError: the log is too short to be smoothed.
    """
    first = [smooth_joint(motion, law, config) for motion, law in zip(motions, laws, strict=True)]
    load = _load(robot, first)
    again = [
        replace(smooth_joint(_with_load(motion, load, j), law, config), motion=motion)
        for j, (motion, law) in enumerate(zip(motions, laws, strict=True))
    ]
    load, doubt = _load(robot, again), config.doubt.body_error
    free = np.stack([np.sqrt(np.maximum(own.sigma**2 - (doubt * own.torque) ** 2, 0.0)) for own in again], axis=1)
    known = free / np.stack([own.rows[:, INERTIA] for own in again], axis=1)
    matrices = inertia_matrices(robot, np.stack([own.position for own in again], axis=1))
    sigma = np.hypot(np.sqrt(np.einsum("kij,kj->ki", matrices**2, known**2)), doubt * load.torque)
    return tuple(_couple(own, load, sigma[:, j], j) for j, own in enumerate(again))


def _load(robot: Robot, joints: Sequence[SmoothedJoint]) -> JointLoad:
    columns = ([own.position, own.velocity, own.acceleration] for own in joints)
    q, qd, qdd = (np.stack(parts, axis=1) for parts in zip(*columns, strict=True))
    return joint_load(robot, q, qd, qdd)


def _with_load(motion: JointMotion, load: JointLoad, j: int) -> JointMotion:
    """The motion with what the bodies ask for at the samples, between them in straight lines."""
    middles = motion.edges[:-1] + 0.5 * motion.step
    inertia, rest = (np.interp(middles, motion.t, values[:, j]) for values in (load.inertia, load.load))
    return replace(motion, inertia=inertia, load=rest)


def _couple(own: SmoothedJoint, load: JointLoad, sigma: Array, j: int) -> SmoothedJoint:
    rows = own.rows.copy()
    rows[:, INERTIA], rows[:, LOAD] = load.inertia[:, j], load.load[:, j]
    return replace(own, rows=rows, torque=load.torque[:, j], sigma=sigma)
