# SPDX-License-Identifier: Apache-2.0
"""Numbers of the Unitree Go2 that its URDF lacks, from the public files named beside them.

Sources: ERD (example-robot-data, go2_description/urdf/go2.urdf), ROS (unitreerobotics/unitree_ros,
robots/go2_description/urdf/go2_description.urdf), SDK (unitreerobotics/unitree_sdk2: motor order).
"""

from __future__ import annotations

import numpy as np

from sysid_nodes.robots.robot import MotorConstants

LEGS = ("FL", "FR", "RL", "RR")
"""Order of the legs in the URDF's joint tree."""

MOTOR_LEGS = ("FR", "FL", "RR", "RL")
"""Order of the legs in the vendor's messages (SDK)."""

PARTS = ("hip", "thigh", "calf")


def joint_names(legs: tuple[str, ...]) -> tuple[str, ...]:
    """Hip, thigh and calf joint of each leg."""
    return tuple(f"{leg}_{part}_joint" for leg in legs for part in PARTS)


JOINTS = joint_names(LEGS)
MOTOR_ORDER = joint_names(MOTOR_LEGS)

BASE = "base"
IMU = "imu"

FOOT_CENTRE = (-0.002, 0.0, 0.0)
"""Centre of the foot's sphere in the frame of its foot link [m] (ROS; ERD has the foot's mesh instead)."""

FOOT_RADIUS = 0.022
"""[m] (ROS; the mesh of ERD reaches 0.0229 below the same frame)"""

ROTOR_INERTIA = 1.11842e-4
"""Of a motor's rotor about its axis [kg m2] (ERD, links ``*_rotor``)."""

MOTOR_GEAR = 6.33
"""Of the GO-M8010-6 motor, the same at all joints (vendor's data sheet)."""

CALF_LINKAGE = 45.43 / 23.7
"""Further ratio between the calf's motor and joint: the quotient of the torque limits (ERD)."""

GEARS = {"hip": MOTOR_GEAR, "thigh": MOTOR_GEAR, "calf": MOTOR_GEAR * CALF_LINKAGE}

# I_a = rotor inertia x gear^2: 0.0045 at hip and thigh, 0.0165 at the calf. Fits to logs of the real robot that others
# published lie higher, 0.009 to 0.023 and about 0.042: gears and bearings turn too. Nobody states the friction.
MOTOR = MotorConstants(
    coulomb=np.zeros(12),
    viscous=np.zeros(12),
    armature=np.array([ROTOR_INERTIA * GEARS[part] ** 2 for _ in LEGS for part in PARTS]),
    offset=np.zeros(12),
)

STANDING = {"hip": 0.0, "thigh": 0.9, "calf": -1.8}
"""Joint positions of the usual stance [rad]."""
