# SPDX-License-Identifier: Apache-2.0
"""Bodies for a simulated arm to carry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio

from sysid_nodes.exceptions import InputError
from sysid_nodes.robots import Robot
from sysid_nodes.robots.robot import Array

# Six-pound dumbbell of the authors' hardware runs, grasped 0.12 m in front of the Gen3's mounting face.
_REFERENCE_MASS = 2.72155422
_REFERENCE_MOMENTS = np.array([0.01219668034, 0.00154549554, 0.01219668034])
_REFERENCE_COM = np.array([0.0, 0.0, 0.12])


@dataclass(frozen=True)
class Payload:
    """A rigid body welded to a link of the robot.

    Attributes:
        mass: [kg].
        com: (3,) centre of mass in the link's frame [m].
        inertia: (3, 3) about the centre of mass, axes of the link's frame [kg m2].
        link: what carries it; empty for the robot's default body.

    Raises:
        InputError: the numbers do not belong to a physical body.
    """

    mass: float
    com: Array
    inertia: Array
    link: str = ""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mass) and self.mass > 0.0):
            raise InputError(f"a payload needs a positive mass, got {self.mass:g} kg")
        inertia = np.asarray(self.inertia, dtype=np.float64)
        if inertia.shape != (3, 3) or not np.allclose(inertia, inertia.T, rtol=0.0, atol=1e-12):
            raise InputError("a payload's inertia must be a symmetric 3x3 tensor")
        moments = np.linalg.eigvalsh(inertia)
        if moments[0] < 0.0 or moments[0] + moments[1] < moments[2] * (1.0 - 1e-9):
            raise InputError(f"a payload's principal moments {moments} kg m2 are not physical")

    def spatial_inertia(self, robot: Robot) -> tuple[int, pinocchio.Inertia]:
        """The payload in the frame of the joint that moves it, and that joint's index as of Robot.body_index.

        Raises:
            RobotError: the robot has no such link, or it does not move.
        """
        link = self.link or robot.body
        joint = robot.body_index(link)
        frame = robot.model.frames[robot.model.getFrameId(link, pinocchio.FrameType.BODY)]
        return joint, frame.placement.act(pinocchio.Inertia(self.mass, np.asarray(self.com), np.asarray(self.inertia)))


def dumbbell(mass: float, *, offset: Array | None = None) -> Payload:
    """A dumbbell across the Gen3's gripper, a heavier or lighter copy of the authors' six-pound one.

    Args:
        mass: [kg].
        offset: (3,) shift of its centre from the published grasp, in the end effector's frame [m].
    """
    scale = mass / _REFERENCE_MASS
    com = _REFERENCE_COM + (np.zeros(3) if offset is None else offset)
    # Bars of one density and shape: moments grow as mass to the power 5/3.
    return Payload(mass, com, np.diag(_REFERENCE_MOMENTS * scale ** (5.0 / 3.0)), link="end_effector_link")


def random_dumbbell(rng: np.random.Generator) -> Payload:
    """A dumbbell of 1.8 to 3.6 kg (the authors' range), held up to 2 cm off centre."""
    return dumbbell(rng.uniform(1.81, 3.63), offset=rng.uniform(-0.02, 0.02, 3))
