# SPDX-License-Identifier: Apache-2.0
"""Numbers of the Unitree G1 (29 joints, revision 1.0) that its URDF lacks, from the public files named beside them.

Sources: ERD (example-robot-data, g1_description/urdf/g1_29dof_rev_1_0.urdf), SDK (unitreerobotics/unitree_sdk2:
order of LowState.motor_state, topics), MJL (mujocolab/mjlab, unitree_g1/g1_constants.py: motor data from the vendor).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.robots.robot import MotorConstants

SIDES = ("left", "right")
LEG = ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")
WAIST = ("waist_yaw", "waist_roll", "waist_pitch")
ARM = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow", "wrist_roll", "wrist_pitch", "wrist_yaw")


def _both_sides(parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{side}_{part}" for side in SIDES for part in parts)


PARTS = (*_both_sides(LEG), *WAIST, *_both_sides(ARM))
JOINTS = tuple(f"{part}_joint" for part in PARTS)

MOTOR_ORDER = JOINTS
"""The vendor's order is the URDF's (SDK). With ``mode_pr = 1`` ankle and waist are motor, not joint coordinates."""

TORSO = "torso_link"
PELVIS_IMU = "imu_in_pelvis"
"""Link of the sensor behind LowState.imu_state (SDK)."""

TORSO_IMU = "imu_in_torso"
"""Link of the sensor behind the topic secondary_imu (SDK)."""

SOLE_LINKS = tuple(f"{side}_ankle_roll_link" for side in SIDES)
SOLE_CENTRES = {
    "heel_left": (-0.05, 0.025, -0.03),
    "heel_right": (-0.05, -0.025, -0.03),
    "toe_left": (0.12, 0.03, -0.03),
    "toe_right": (0.12, -0.03, -0.03),
}
"""Centres of the sole's collision spheres in the frame of the ankle roll link [m] (ERD)."""

SOLE_RADIUS = 0.005
"""[m] (ERD)"""


@dataclass(frozen=True)
class PlanetaryMotor:
    """A motor with a two-stage planetary gear (MJL).

    Attributes:
        inertias: of rotor, first and second stage's carrier about the axis [kg m2].
        ratios: of the first and second stage.
    """

    inertias: tuple[float, float, float]
    ratios: tuple[float, float]

    @property
    def armature(self) -> float:
        """Inertia felt at the output [kg m2]: each part times the square of the ratio behind it."""
        rotor, first, second = self.inertias
        return rotor * (self.ratios[0] * self.ratios[1]) ** 2 + first * self.ratios[1] ** 2 + second


M5020 = PlanetaryMotor((0.139e-4, 0.017e-4, 0.169e-4), (1.0 + 46.0 / 18.0, 1.0 + 56.0 / 16.0))
M7520_14 = PlanetaryMotor((0.489e-4, 0.098e-4, 0.533e-4), (4.5, 1.0 + 48.0 / 22.0))
M7520_22 = PlanetaryMotor((0.489e-4, 0.109e-4, 0.738e-4), (4.5, 5.0))
M4010 = PlanetaryMotor((0.068e-4, 0.0, 0.0), (5.0, 5.0))

ARMATURE = {
    "hip_pitch": M7520_14.armature,
    "hip_roll": M7520_22.armature,
    "hip_yaw": M7520_14.armature,
    "knee": M7520_22.armature,
    # Two motors move these together through rods; their arms are taken as equal to the joint's.
    "ankle_pitch": 2.0 * M5020.armature,
    "ankle_roll": 2.0 * M5020.armature,
    "waist_yaw": M7520_14.armature,
    "waist_roll": 2.0 * M5020.armature,
    "waist_pitch": 2.0 * M5020.armature,
    "shoulder_pitch": M5020.armature,
    "shoulder_roll": M5020.armature,
    "shoulder_yaw": M5020.armature,
    "elbow": M5020.armature,
    "wrist_roll": M5020.armature,
    "wrist_pitch": M4010.armature,
    "wrist_yaw": M4010.armature,
}
"""I_a by joint [kg m2]; no source states the friction."""

MOTOR = MotorConstants(
    coulomb=np.zeros(29),
    viscous=np.zeros(29),
    armature=np.array([ARMATURE[part.removeprefix("left_").removeprefix("right_")] for part in PARTS]),
    offset=np.zeros(29),
)

STANDING = {"hip_pitch": -0.312, "knee": 0.669, "ankle_pitch": -0.363}
"""Joint positions with bent knees [rad], the others zero (MJL)."""
